/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "match_internal.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "comm/comm.h"
#include "comm/layout.h"
#include "control.h"
#include "core/channels.h"
#include "core/queue.h"
#include "core/served.h"
#include "core/stage.h"
#include "core/trace_pairs.h"
#include "match_channels.h"
#include "offer.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/progress.h"

atomic_bool mpixq_match_pending;

void mpixq_match_enter(void)
{
    mpixq_lock_acquire(&mpixq_matching.lock);
}

bool mpixq_match_enter_within(int seconds)
{
    return mpixq_lock_acquire_until(&mpixq_matching.lock,
                                    mpixq_now_ns() + (uint64_t)seconds * 1000000000u);
}

/* Leave the lock, then complete the handles of finished ops: MPI may call back into us there. */
void mpixq_match_leave(void)
{
    struct mpixq_request *retired = mpixq_match_take_retired();
    struct mpixq_match_op *op = NULL, *next;

    if (mpixq_control_has_answered()) {
        op = mpixq_matching.done_ops;
        mpixq_matching.done_ops = NULL;
    }
    atomic_store(&mpixq_matching.is_answering, !mpixq_control_has_answered());
    atomic_store(&mpixq_match_pending, mpixq_matching.n_matching > 0 || mpixq_control_is_urgent());
    mpixq_lock_release(&mpixq_matching.lock);
    for (; op != NULL; op = next) {
        next = op->next_done;
        (void)PMPI_Grequest_complete(op->handle);
        mpixq_match_op_put(op);
    }
    mpixq_match_destroy(retired);
}

void mpixq_match_fence(void)
{
    mpixq_match_enter();
    mpixq_match_leave();
}

/* A request of op has failed to match: the first by index counts. other_bytes and
 * other_channels are those of the peer's end, if it has told. */
static void note_failure(struct mpixq_match_op *op, const struct mpixq_request *req,
                         enum mpixq_error error, uint64_t other_bytes, uint32_t other_channels)
{
    if (op->error == MPIXQ_E_NONE || req->op_index < op->fault.index) {
        op->error = error;
        mpixq_fault_at(&op->fault, req->op_index, req);
        op->fault.other_bytes = other_bytes;
        mpixq_match_tell_choice(req, other_channels, &op->fault.choice);
        mpixq_comm_put(op->error_comm);
        op->error_comm = mpixq_comm_hold(req->comm);
    }
}

/* That the request was made for. */
static uint64_t bytes_of(const struct mpixq_request *req)
{
    return mpixq_type_bytes(req->pair.message.type, req->pair.message.count);
}

/* The last of its requests has left MATCHING: from then on the op may be gone, once the lock is. */
static void op_ends(struct mpixq_match_op *op)
{
    struct mpixq_split *split = op->split;
    bool has_handle = op->has_handle;

    if (atomic_fetch_sub(&op->remaining, 1) != 1) {
        return;
    }
    if (split != NULL) {
        mpixq_match_split_ended(split);
    } else if (has_handle) {
        LL_PREPEND2(mpixq_matching.done_ops, op, next_done);
    }
}

void mpixq_match_finish_told(struct mpixq_request *req, enum mpixq_error error,
                             uint64_t other_bytes, uint32_t other_channels)
{
    struct mpixq_match_op *op = req->op;

    if (error != MPIXQ_E_NONE) {
        char text[64];

        req->pair.bytes = bytes_of(req); /* a receive had those of the sender */
        mpixq_info("%s not matched: %s", mpixq_pair_describe(&req->pair, text, sizeof text),
                   mpixq_error_text(error));
        mpixq_match_id_remove(&req->pair);
        note_failure(op, req, error, other_bytes, other_channels);
    }
    mpixq_channels_unreach(&req->pair);
    req->op = NULL;
    mpixq_matching.n_matching--;
    mpixq_trace_match_ends(req, error == MPIXQ_E_NONE); /* then it may be started */
    (void)mpixq_request_step(req, error == MPIXQ_E_NONE ? MPIXQ_MATCH_OK : MPIXQ_MATCH_FAIL);
    op_ends(op);
}

void mpixq_match_finish(struct mpixq_request *req, enum mpixq_error error)
{
    mpixq_match_finish_told(req, error, 0, 0);
}

void mpixq_match_matched(struct mpixq_request *req, const struct mpixq_channel *channel)
{
    char text[64];

    req->pair.channel = channel;
    mpixq_stage_matched(&req->pair);
    mpixq_served_count(req);
    mpixq_debug("%s matched: source %d tag %d, %llu bytes, channel %s",
                mpixq_pair_describe(&req->pair, text, sizeof text), req->pair.source,
                req->pair.source_tag, (unsigned long long)req->pair.bytes, channel->name);
    mpixq_match_finish(req, MPIXQ_E_NONE);
}

static void begin_send(struct mpixq_request *req, const struct mpixq_comm_view *view, int tag)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_OFFER};

    req->pair.source = view->rank;
    req->pair.source_tag = req->tag;
    record.u.offer = (struct mpixq_wire_offer){.sender_id = req->pair.id,
                                               .ident = view->ident,
                                               .bytes = req->pair.bytes,
                                               .source = view->rank,
                                               .dest = req->peer,
                                               .tag = tag,
                                               .size = view->size,
                                               .own_size = view->own_size,
                                               .mode = req->pair.message.mode};
    if (req->is_partitioned) {
        mpixq_match_tell_split(req, &record);
    } else {
        mpixq_match_offer_channels(req, &record);
    }
    if (!mpixq_match_send(req->pair.peer_world, &record, &record.u.offer.channels)) {
        mpixq_match_drop_offers(req, NULL);
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
    }
}

void mpixq_match_answer(int world, uint64_t sender_id, const struct mpixq_request *req,
                        enum mpixq_error error, struct mpixq_record *record)
{
    struct mpixq_wire_answer *wire = &record->u.answer;

    record->kind = MPIXQ_WIRE_ANSWER;
    wire->sender_id = sender_id;
    wire->receiver_id = req != NULL ? req->pair.id : 0;
    wire->bytes = req != NULL ? req->pair.bytes : 0;
    wire->error = (uint8_t)error;
    if (!mpixq_match_send(world, record, &wire->channels)) {
        mpixq_err("no memory to answer a match of rank %d, which will wait for ever", world);
    }
}

/* Receiver: the match of this receive and this offer ends so. */
static void settle(struct mpixq_request *req, const struct mpixq_wire_offer *offer, int world,
                   enum mpixq_error error, const struct mpixq_channel *channel,
                   struct mpixq_record *mine)
{
    if (error != MPIXQ_E_NONE) {
        req->pair.bytes = bytes_of(req);
        mine->n_blobs = 0;
    }
    mpixq_match_answer(world, offer->sender_id, req, error, mine);
    if (error == MPIXQ_E_NONE) {
        mpixq_match_matched(req, channel);
    } else {
        mpixq_match_finish_told(req, error, offer->bytes, offer->channels.may);
    }
}

void mpixq_match_agree(struct mpixq_request *req, const struct mpixq_record *record)
{
    const struct mpixq_channel *channel = NULL;
    struct mpixq_record mine = {.n_blobs = 0};
    enum mpixq_error error = mpixq_match_choose_channel(req, record, &mine, &channel);

    if (error == MPIXQ_E_NO_TAG) {
        /* The release of another pair may have come just before this offer. */
        mpixq_match_retire();
        error = mpixq_match_choose_channel(req, record, &mine, &channel);
    }
    if (error == MPIXQ_E_NONE && mpixq_channel_must_open(channel, &req->pair)) {
        if (mpixq_match_open_later(req, channel, record, &mine)) {
            return;
        }
        mpixq_channel_undo(channel, &req->pair);
        error = MPIXQ_E_NO_MEMORY;
    }
    settle(req, &record->u.offer, req->pair.peer_world, error, channel, &mine);
}

/* Receiver: this receive and this offer belong together. */
static void pair(struct mpixq_request *req, const struct mpixq_record *record, int world)
{
    const struct mpixq_wire_offer *offer = &record->u.offer;
    enum mpixq_error error = mpixq_match_check_pair(req, offer);
    struct mpixq_record mine = {.n_blobs = 0};

    if (error != MPIXQ_E_NONE) {
        settle(req, offer, world, error, NULL, &mine);
        return;
    }
    req->pair.peer_world = world;
    req->pair.peer_id = offer->sender_id;
    req->pair.source = offer->source;
    req->pair.source_tag = offer->tag;
    req->pair.bytes = offer->bytes;
    if (req->is_partitioned) {
        mpixq_match_agree_split(req, record);
    } else {
        mpixq_match_agree(req, record);
    }
}

static void begin_receive(struct mpixq_request *req, const struct mpixq_comm_view *view, int tag)
{
    struct mpixq_offered *offered = NULL;
    struct mpixq_record record;

    req->posted.ident = view->ident;
    req->posted.source = req->peer;
    req->posted.tag = tag;
    if (!mpixq_pairing_post(&mpixq_matching.pairing, &req->posted, &offered)) {
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
    } else if (offered != NULL) {
        int world = mpixq_offer_read(mpixq_offer_of(offered), &record);

        mpixq_offer_free(mpixq_offer_of(offered));
        pair(req, &record, world);
    }
}

static void begin_one(struct mpixq_request *req)
{
    struct mpixq_comm_view view;
    int tag;

    req->pair.bytes = bytes_of(req);
    req->marked = 0;
    if (req->is_collective && !req->is_part) {
        mpixq_match_begin_collective(req);
        return;
    }
    if (req->peer == MPI_PROC_NULL) {
        req->pair.peer_world = MPI_PROC_NULL;
        req->pair.source = MPI_PROC_NULL;
        req->pair.source_tag = MPI_ANY_TAG;
        req->pair.bytes = 0;
        mpixq_match_matched(req, &mpixq_channel_null);
        return;
    }
    if (!mpixq_match_id_add(&req->pair)) {
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
        return;
    }
    if (mpixq_match_is_strange(req)) {
        mpixq_match_finish(req, MPIXQ_E_VERSION);
        return;
    }
    mpixq_match_envelope(req, &view, &tag);
    if (mpixq_request_is_send(req)) {
        req->pair.peer_world = mpixq_comm_world_rank(req->comm, req->peer);
        begin_send(req, &view, tag);
    } else {
        begin_receive(req, &view, tag);
    }
}

void mpixq_match_begin(struct mpixq_request **records, int n, struct mpixq_match_op *op)
{
    mpixq_match_enter();
    if (mpixq_watchdog_ends()) {
        /* Offers may have been withdrawn that would pair now. */
        mpixq_control_progress();
    }
    /* One more than there are requests, so that op is not complete before all have begun. */
    atomic_store(&op->remaining, n + 1);
    op->n = n;
    for (int i = 0; i < n; i++) {
        records[i]->op = op;
        mpixq_matching.n_matching++;
        (void)mpixq_request_step(records[i], MPIXQ_MATCH_BEGIN);
        mpixq_trace_match_begins(records[i]);
    }
    for (int i = 0; i < n; i++) {
        begin_one(records[i]);
    }
    if (op->given_up != MPIXQ_E_NONE) { /* parts, before they had begun */
        mpixq_match_give_up();
    }
    op_ends(op);
    mpixq_control_progress();
    mpixq_match_retire();
    mpixq_match_leave();
    if (mpixq_watchdog_is_on()) {
        mpixq_progress_wake();
    }
}

void mpixq_match_record_offer(const struct mpixq_record *record, int source)
{
    struct mpixq_offer *offer = mpixq_offer_create(record, source);
    struct mpixq_posted *posted = NULL;

    if (offer == NULL ||
        !mpixq_pairing_offer(&mpixq_matching.pairing, mpixq_offer_offered(offer), &posted)) {
        struct mpixq_record nothing = {.n_blobs = 0};

        mpixq_match_answer(source, record->u.offer.sender_id, NULL, MPIXQ_E_NO_MEMORY, &nothing);
        mpixq_offer_free(offer);
        return;
    }
    if (posted != NULL) {
        pair((struct mpixq_request *)((char *)posted - offsetof(struct mpixq_request, posted)),
             record, source);
        mpixq_offer_free(offer);
    }
}

/* Progress. */

void mpixq_match_add_look(mpixq_match_look *look, void *state)
{
    assert(mpixq_matching.n_looks < MPIXQ_MATCH_LOOKS);
    mpixq_matching.looks[mpixq_matching.n_looks].look = look;
    mpixq_matching.looks[mpixq_matching.n_looks++].state = state;
}

void mpixq_match_kick(void)
{
    if (mpixq_lock_try(&mpixq_matching.lock)) {
        mpixq_control_progress();
        for (int i = 0; i < mpixq_matching.n_looks; i++) {
            mpixq_matching.looks[i].look(mpixq_matching.looks[i].state);
        }
        mpixq_match_retire();
        mpixq_match_leave();
    }
}

void mpixq_match_advance(void)
{
    if (mpixq_match_is_pending()) {
        mpixq_match_kick();
    }
}

void mpixq_match_wait(struct mpixq_match_op *op)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (!mpixq_match_op_is_complete(op) || atomic_load(&mpixq_matching.is_answering)) {
        (void)mpixq_match_open();
        mpixq_match_kick();
        mpixq_backoff_pause(&backoff);
    }
    mpixq_match_fence(); /* the thread that completed it may still look at it */
}
