/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The match of requests that consist of others. Those of a collective are known from the start: it
 * is matched when they are, by an envelope that nobody else has, and tells its peers nothing
 * itself.
 *
 * Partitioned requests pair like others, with partitioned ones only, and tell each other how many
 * partitions they have. So both know how many messages there are; each of them, and the one that
 * says that the receive is started, is the pair of a request of its own. These are matched next,
 * by an envelope that nobody else has, and then the whole is:
 *
 *     sender                                    receiver
 *     OFFER(partitions)                   --->  pairs
 *                                         <---  ANSWER(partitions)
 *     OFFER, ANSWER, ... of each message   <->  and of the start of the receive
 *     matched                                   matched
 *
 * To find out where the buffers of the messages are may take calls of a GPU's library. So a thread
 * of the program, or the one that stands in for it (opener.h), begins that, as it opens memory. */
#include <string.h>
#include <utlist.h>

#include "comm/comm.h"
#include "core/partitions.h"
#include "core/schedule.h"
#include "core/stage.h"
#include "match_internal.h"
#include "opener.h"
#include "util/alloc.h"
#include "util/log.h"

enum stage { NOT_AGREED, TO_BEGIN, BEGUN };

struct mpixq_split {
    struct mpixq_match_op op; /* of the parts */
    struct mpixq_request *req;
    struct mpixq_ident ident; /* of the parts, in place of that of the communicator */
    int n_messages;           /* of a partitioned one */
    enum stage stage;
    enum mpixq_error staged; /* why buffers of parts cannot be had, or NONE */
    struct mpixq_split *next;
};

/* What a blob of the channel null says, which is never offered. */
struct told {
    int32_t n, most;
};

/* Identities are told apart by these from those of communicators. */
#define PARTITIONED UINT32_C(0x70617274)
#define COLLECTIVE UINT32_C(0x636f6c6c)

static void set_any(void)
{
    atomic_store(&mpixq_matching.has_to_begin, mpixq_matching.to_begin != NULL);
}

static void split_free(struct mpixq_request *req)
{
    struct mpixq_parted *parted = mpixq_parted_of(req);

    if (parted->split != NULL) {
        mpixq_comm_put(parted->split->op.error_comm);
        mpixq_free(parted->split);
        parted->split = NULL;
    }
}

static enum mpixq_error make_parts(struct mpixq_request *req)
{
    if (req->is_collective) {
        return mpixq_collective_prepare(req);
    }
    return mpixq_partitions_renew(req) ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY;
}

enum mpixq_error mpixq_match_prepare_split(struct mpixq_request *req, const struct mpixq_call *call)
{
    struct mpixq_split *split;
    enum mpixq_error error;

    if (!mpixq_match_has_parts(req)) {
        return MPIXQ_E_NONE;
    }
    split_free(req);
    split = mpixq_alloc(sizeof *split); /* freed in split_free */
    error = split == NULL ? MPIXQ_E_NO_MEMORY : make_parts(req);
    if (error != MPIXQ_E_NONE) {
        mpixq_free(split);
        return error;
    }
    mpixq_match_op_init(&split->op, call);
    split->op.split = split;
    split->req = req;
    mpixq_parted_of(req)->split = split;
    return MPIXQ_E_NONE;
}

void mpixq_match_envelope(const struct mpixq_request *req, struct mpixq_comm_view *view_p,
                          int *tag_p)
{
    const struct mpixq_split *split = req->op->split;

    mpixq_comm_view(req->comm, view_p);
    *tag_p = req->tag;
    if (split != NULL) {
        view_p->ident = split->ident;
        *tag_p = req->is_collective ? req->tag : req->op_index;
    } else if (req->is_partitioned) {
        view_p->ident = mpixq_ident_child(view_p->ident, PARTITIONED, 0);
    }
}

void mpixq_match_tell_split(const struct mpixq_request *req, struct mpixq_record *record)
{
    const struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    struct told told = {.n = partitions->n, .most = partitions->most};
    struct mpixq_blob *blob = &record->blobs[record->n_blobs++];

    blob->channel = MPIXQ_CHANNEL_NULL;
    blob->length = sizeof told;
    memcpy(blob->bytes, &told, sizeof told);
}

/* The same at both ends, as numbers of pairs are never used twice. */
static struct mpixq_ident ident_of(const struct mpixq_request *req)
{
    const struct mpixq_pair *pair = &req->pair;
    bool is_send = mpixq_request_is_send(req);
    uint64_t key[3] = {(uint64_t)(is_send ? mpixq_log_rank : pair->peer_world),
                       is_send ? pair->id : pair->peer_id, is_send ? pair->peer_id : pair->id};
    struct mpixq_comm_view view;

    mpixq_comm_view(req->comm, &view);
    return mpixq_ident_add(mpixq_ident_child(view.ident, PARTITIONED, 1), key, sizeof key);
}

/* Have a thread of the program match the parts. */
static void begin_later(struct mpixq_split *split)
{
    bool has_handle = split->req->op->has_handle;

    split->op.has_handle = has_handle; /* whether parts have somebody who opens for them */
    split->stage = TO_BEGIN;
    LL_APPEND(mpixq_matching.to_begin, split);
    set_any();
    if (has_handle) {
        mpixq_opener_wake(mpixq_match_open); /* else a thread waits for the match */
    }
}

void mpixq_match_begin_collective(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    struct mpixq_split *split = collective->parted.split;
    struct mpixq_comm_view view;

    req->pair.peer_world = MPI_PROC_NULL;
    req->pair.source = MPI_PROC_NULL;
    req->pair.source_tag = MPI_ANY_TAG;
    if (!mpixq_match_id_add(&req->pair)) { /* by which its failure is announced */
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
        return;
    }
    mpixq_comm_view(req->comm, &view);
    /* Processes with other settings are not matched at all. */
    split->ident = mpixq_ident_child(view.ident, COLLECTIVE,
                                     3 * collective->number + (uint64_t)collective->way);
    begin_later(split);
}

/* The other end has said so. An error: it makes no sense, and nothing is begun. */
static enum mpixq_error begin_agreed(struct mpixq_request *req, const struct mpixq_record *theirs)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    struct mpixq_split *split = partitions->parted.split;
    struct told told;

    if (theirs->n_blobs != 1 || theirs->blobs[0].channel != MPIXQ_CHANNEL_NULL ||
        theirs->blobs[0].length != sizeof told) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&told, theirs->blobs[0].bytes, sizeof told);
    if (told.n < 0 || told.most < 1) {
        return MPIXQ_E_PROTOCOL;
    }
    split->n_messages = mpixq_partitions_agree(partitions->n, partitions->most, told.n, told.most);
    split->ident = ident_of(req);
    begin_later(split);
    return MPIXQ_E_NONE;
}

void mpixq_match_agree_split(struct mpixq_request *req, const struct mpixq_record *offer)
{
    enum mpixq_error error = begin_agreed(req, offer);
    struct mpixq_record mine = {.n_blobs = 0};

    if (error == MPIXQ_E_NONE) {
        mpixq_match_tell_split(req, &mine);
    }
    mpixq_match_answer(req->pair.peer_world, offer->u.offer.sender_id, req, error, &mine);
    if (error != MPIXQ_E_NONE) {
        mpixq_match_finish(req, error);
    }
}

void mpixq_match_split_answered(struct mpixq_request *req, const struct mpixq_record *record)
{
    const struct mpixq_wire_answer *wire = &record->u.answer;
    enum mpixq_error error = (enum mpixq_error)wire->error;

    if (error == MPIXQ_E_NONE) {
        error = begin_agreed(req, record);
        if (error != MPIXQ_E_NONE) {
            mpixq_match_cut_off(req->pair.peer_world, wire->receiver_id);
        }
    }
    if (error != MPIXQ_E_NONE) {
        mpixq_match_finish_told(req, error, wire->bytes, 0);
    }
}

bool mpixq_match_is_split_answered(const struct mpixq_request *req)
{
    const struct mpixq_parted *parted = mpixq_parted_of(req);

    return parted != NULL && parted->split != NULL && parted->split->stage != NOT_AGREED;
}

/* A buffer that cannot be had fails the match at both ends, as the parts have no channel then; this
 * one knows why. */
static void begin_parts(struct mpixq_split *split)
{
    struct mpixq_request **parts = mpixq_parted_of(split->req)->parts, *failed = NULL;
    int n;

    if (split->req->is_partitioned) {
        mpixq_partitions_cut(split->req, split->n_messages);
    }
    n = mpixq_parted_of(split->req)->n_used;
    split->staged = mpixq_stage(parts, n, &failed);
    if (split->staged != MPIXQ_E_NONE) {
        for (int i = 0; i < n; i++) {
            parts[i]->channels.n = 0;
        }
    }
    mpixq_match_begin(parts, n, &split->op); /* which may end it */
}

bool mpixq_match_begin_splits(void)
{
    struct mpixq_split *list, *split, *next;

    if (!atomic_load(&mpixq_matching.has_to_begin)) {
        return false;
    }
    mpixq_match_enter();
    list = mpixq_matching.to_begin;
    mpixq_matching.to_begin = NULL;
    set_any();
    LL_FOREACH(list, split)
    {
        split->stage = BEGUN;
    }
    mpixq_match_leave();
    LL_FOREACH_SAFE(list, split, next)
    {
        begin_parts(split);
    }
    return list != NULL;
}

void mpixq_match_release_parts(struct mpixq_request *req)
{
    struct mpixq_parted *parted = mpixq_parted_of(req);

    for (int i = 0; i < parted->n_room; i++) {
        struct mpixq_request *part = parted->parts[i];

        if (mpixq_request_state(part) != MPIXQ_UNMATCHED) {
            parted->parts[i] = NULL; /* as with requests that the program frees */
            mpixq_match_release_one(part);
        }
    }
}

void mpixq_match_fail_parts(const struct mpixq_request *req)
{
    const struct mpixq_parted *parted =
        req != NULL && req->is_collective ? mpixq_parted_of(req) : NULL;

    for (int i = 0; parted != NULL && i < parted->n_used; i++) {
        struct mpixq_request *part = parted->parts[i];

        if (part != NULL && !atomic_exchange(&part->pair.failed, true)) {
            mpixq_match_tell_peer(&part->pair);
        }
    }
}

/* The match of the whole ends with an error. The peer may take it for matched. */
static void fail_whole(struct mpixq_split *split, enum mpixq_error error, uint32_t other_channels)
{
    struct mpixq_request *req = split->req;

    if (req->is_partitioned) {
        mpixq_match_cut_off(req->pair.peer_world, req->pair.peer_id);
    }
    mpixq_match_release_parts(req);
    mpixq_match_finish_told(req, error, 0, other_channels);
    split_free(req);
}

void mpixq_match_split_ended(struct mpixq_split *split)
{
    struct mpixq_request *req = split->req;
    enum mpixq_error error = split->op.error;
    int first = split->op.fault.index;

    if (error == MPIXQ_E_NONE) {
        split_free(req);
        mpixq_parted_of(req)->matched(req);
        mpixq_match_finish(req, MPIXQ_E_NONE);
        return;
    }
    memcpy(req->why_not, mpixq_parted_of(req)->parts[first]->why_not, sizeof req->why_not);
    fail_whole(split, split->staged != MPIXQ_E_NONE ? split->staged : error,
               split->op.fault.choice.there);
}

bool mpixq_match_give_up_split(struct mpixq_request *req, enum mpixq_error error)
{
    const struct mpixq_parted *parted = mpixq_parted_of(req);
    struct mpixq_split *split = parted != NULL ? parted->split : NULL;

    if (split == NULL || split->stage == NOT_AGREED) {
        return false;
    }
    if (split->stage == TO_BEGIN) {
        LL_DELETE(mpixq_matching.to_begin, split);
        set_any();
        fail_whole(split, error, 0);
    } else if (split->op.given_up == MPIXQ_E_NONE) {
        split->op.given_up = error; /* its parts are given up, when they have begun */
    }
    return true;
}

/* What the peer has told before that of parts has arrived: those that have not ended by then are
 * matched by nobody. */
bool mpixq_match_split_released(struct mpixq_request *req, int source)
{
    if (!req->is_partitioned || mpixq_request_state(req) != MPIXQ_MATCHING) {
        return false;
    }
    if (req->pair.peer_world == source && mpixq_match_give_up_split(req, MPIXQ_E_GAVE_UP)) {
        mpixq_match_give_up(); /* those that have begun */
    }
    return true;
}
