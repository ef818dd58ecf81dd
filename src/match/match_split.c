/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
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
    int n_parts;
    enum stage stage;
    enum mpixq_error staged; /* why buffers of parts cannot be had, or NONE */
    struct mpixq_split *next;
};

/* What a blob of the channel null says, which is never offered. */
struct told {
    int32_t n, most;
};

/* Identities are told apart by this from those of communicators. */
#define PARTITIONED UINT32_C(0x70617274)

/* In order, under the matching lock; and whether there is any. */
static struct {
    struct mpixq_split *first;
    atomic_bool any;
} to_begin;

static void set_any(void)
{
    atomic_store(&to_begin.any, to_begin.first != NULL);
}

static void split_free(struct mpixq_request *req)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);

    if (partitions->split != NULL) {
        mpixq_comm_put(partitions->split->op.error_comm);
        mpixq_free(partitions->split);
        partitions->split = NULL;
    }
}

bool mpixq_match_prepare_split(struct mpixq_request *req, const struct mpixq_call *call)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    struct mpixq_split *split = mpixq_alloc(sizeof *split); /* freed in split_free */

    split_free(req);
    if (split == NULL || !mpixq_partitions_renew(req)) {
        mpixq_free(split);
        return false;
    }
    mpixq_match_op_init(&split->op, call);
    split->op.split = split;
    split->req = req;
    partitions->split = split;
    return true;
}

void mpixq_match_envelope(const struct mpixq_request *req, struct mpixq_comm_view *view_p,
                          int *tag_p)
{
    const struct mpixq_split *split = req->op->split;

    mpixq_comm_view(req->comm, view_p);
    *tag_p = req->tag;
    if (split != NULL) {
        view_p->ident = split->ident;
        *tag_p = req->op_index;
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

/* The other end has said so: have a thread of the program match the parts. An error: it makes no
 * sense, and nothing is begun. */
static enum mpixq_error begin_later(struct mpixq_request *req, const struct mpixq_record *theirs)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    struct mpixq_split *split = partitions->split;
    struct told told;

    if (theirs->n_blobs != 1 || theirs->blobs[0].channel != MPIXQ_CHANNEL_NULL ||
        theirs->blobs[0].length != sizeof told) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&told, theirs->blobs[0].bytes, sizeof told);
    if (told.n < 0 || told.most < 1) {
        return MPIXQ_E_PROTOCOL;
    }
    split->n_parts = mpixq_partitions_agree(partitions->n, partitions->most, told.n, told.most);
    split->ident = ident_of(req);
    split->op.has_handle = req->op->has_handle; /* whether parts have somebody who opens for them */
    split->stage = TO_BEGIN;
    LL_APPEND(to_begin.first, split);
    set_any();
    if (req->op->has_handle) {
        mpixq_opener_wake(mpixq_match_open); /* else a thread waits for the match */
    }
    return MPIXQ_E_NONE;
}

void mpixq_match_agree_split(struct mpixq_request *req, const struct mpixq_record *offer)
{
    enum mpixq_error error = begin_later(req, offer);
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
        error = begin_later(req, record);
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
    return req->is_partitioned && mpixq_partitions_of(req)->split->stage != NOT_AGREED;
}

/* A buffer that cannot be had fails the match at both ends, as the parts have no channel then; this
 * one knows why. */
static void begin_parts(struct mpixq_split *split)
{
    struct mpixq_request **parts = mpixq_partitions_of(split->req)->parts, *failed = NULL;
    int n = split->n_parts + 1;

    mpixq_partitions_cut(split->req, split->n_parts);
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

    if (!atomic_load(&to_begin.any)) {
        return false;
    }
    mpixq_match_enter();
    list = to_begin.first;
    to_begin.first = NULL;
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
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);

    for (int i = 0; i < partitions->n_room; i++) {
        struct mpixq_request *part = partitions->parts[i];

        if (mpixq_request_state(part) != MPIXQ_UNMATCHED) {
            partitions->parts[i] = NULL; /* as with requests that the program frees */
            mpixq_match_release_one(part);
        }
    }
}

/* The match of the whole ends with an error. The peer may take it for matched. */
static void fail_whole(struct mpixq_split *split, enum mpixq_error error, uint32_t other_channels)
{
    struct mpixq_request *req = split->req;

    mpixq_match_cut_off(req->pair.peer_world, req->pair.peer_id);
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
        mpixq_partitions_matched(req);
        mpixq_match_finish(req, MPIXQ_E_NONE);
        return;
    }
    memcpy(req->why_not, mpixq_partitions_of(req)->parts[first]->why_not, sizeof req->why_not);
    fail_whole(split, split->staged != MPIXQ_E_NONE ? split->staged : error,
               split->op.fault.choice.there);
}

bool mpixq_match_give_up_split(struct mpixq_request *req, enum mpixq_error error)
{
    struct mpixq_split *split = req->is_partitioned ? mpixq_partitions_of(req)->split : NULL;

    if (split == NULL || split->stage == NOT_AGREED) {
        return false;
    }
    if (split->stage == TO_BEGIN) {
        LL_DELETE(to_begin.first, split);
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
