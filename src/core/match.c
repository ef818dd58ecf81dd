/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "match_internal.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "backoff.h"
#include "channel.h"
#include "comm.h"
#include "control.h"
#include "liveness.h"
#include "log.h"
#include "offer.h"
#include "progress.h"
#include "queue.h"
#include "stage.h"

/* The matching lock, and what it guards. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct mpixq_pairing mpixq_match_pairing;
static struct mpixq_request *ids; /* every end that a peer may name */
static uint64_t last_id;
static long n_matching;
static struct mpixq_match_op *done_ops; /* handles to complete once the lock is left */
/* Written under the lock, read by anyone: is there a reason to progress? */
static atomic_bool pending;
/* The same: is an answer still here? A receive is matched when it is answered, but a call that
 * matched it must not end before: the process may not progress again, and its peer waits. */
static atomic_bool answering;

void mpixq_match_enter(void)
{
    pthread_mutex_lock(&lock);
}

/* Leave the lock, then complete the handles of finished ops: MPI may call back into us there. */
void mpixq_match_leave(void)
{
    struct mpixq_request *retired = mpixq_match_take_retired();
    struct mpixq_match_op *op = NULL, *next;

    if (mpixq_control_has_answered()) {
        op = done_ops;
        done_ops = NULL;
    }
    atomic_store(&answering, !mpixq_control_has_answered());
    atomic_store(&pending, n_matching > 0 || mpixq_control_is_urgent());
    pthread_mutex_unlock(&lock);
    for (; op != NULL; op = next) {
        next = op->next_done;
        (void)PMPI_Grequest_complete(op->handle);
        mpixq_match_op_put(op);
    }
    mpixq_match_destroy(retired);
}

struct mpixq_request *mpixq_match_by_id(uint64_t id)
{
    struct mpixq_request *req;

    HASH_FIND(hh_id, ids, &id, sizeof id, req);
    return req;
}

static bool id_add(struct mpixq_request *req)
{
    req->id = ++last_id;
    memset(&req->hh_id, 0, sizeof req->hh_id);
    HASH_ADD(hh_id, ids, id, sizeof req->id, req);
    return mpixq_in_table(req->hh_id);
}

void mpixq_match_id_remove(struct mpixq_request *req)
{
    if (mpixq_in_table(req->hh_id)) {
        HASH_DELETE(hh_id, ids, req);
        memset(&req->hh_id, 0, sizeof req->hh_id);
    }
}

void mpixq_match_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_request *req, *next;

    HASH_ITER(hh_id, ids, req, next)
    {
        visit(req, arg);
    }
}

/* A request of op has failed to match: the first by index counts. */
static void note_failure(struct mpixq_match_op *op, const struct mpixq_request *req,
                         enum mpixq_error error)
{
    if (op->error == MPIXQ_E_NONE || req->op_index < op->error_index) {
        op->error = error;
        op->error_index = req->op_index;
        mpixq_comm_put(op->error_comm);
        op->error_comm = mpixq_comm_hold(req->comm);
    }
}

void mpixq_match_finish(struct mpixq_request *req, enum mpixq_error error)
{
    struct mpixq_match_op *op = req->op;
    bool has_handle = op->has_handle;

    if (error != MPIXQ_E_NONE) {
        char text[64];

        mpixq_info("%s not matched: %s", mpixq_request_describe(req, text, sizeof text),
                   mpixq_error_text(error));
        mpixq_match_id_remove(req);
        note_failure(op, req, error);
    }
    mpixq_channels_unreach(req);
    req->op = NULL;
    n_matching--;
    (void)mpixq_request_step(req, error == MPIXQ_E_NONE ? MPIXQ_MATCH_OK : MPIXQ_MATCH_FAIL);
    if (atomic_fetch_sub(&op->remaining, 1) == 1 && has_handle) {
        LL_PREPEND2(done_ops, op, next_done);
    }
}

static void matched(struct mpixq_request *req, const struct mpixq_channel *channel)
{
    char text[64];

    req->channel = channel;
    mpixq_stage_matched(req);
    mpixq_channel_count(channel);
    mpixq_debug("%s matched: source %d tag %d, %llu bytes, channel %s",
                mpixq_request_describe(req, text, sizeof text), req->source, req->source_tag,
                (unsigned long long)req->bytes, channel->name);
    mpixq_match_finish(req, MPIXQ_E_NONE);
}

static void explain(const struct mpixq_request *req, const struct mpixq_channel *channel,
                    const char *why)
{
    char text[64];

    mpixq_debug("%s not by channel %s: %s", mpixq_request_describe(req, text, sizeof text),
                channel->name, why);
}

/* Can the channel reach the buffer, or its twin? */
static bool reaches(const struct mpixq_channel *channel, const struct mpixq_request *req,
                    const char **why_p)
{
    *why_p = req->moves ? "the buffer is in managed memory, whose pages move"
                        : "the buffer is in memory of a GPU, and MPI takes it there "
                          "(MPIXQ_GPU_AWARE)";
    return channel->through_mpi || channel->of_gpus || req->staging != NULL ||
           (req->reached != NULL && req->in_place && req->reached_by == channel->id) ||
           (!req->in_gpu && !req->moves);
}

/* Sender: offer every channel that could serve. */
static void begin_send(struct mpixq_request *req, const struct mpixq_comm_view *view)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_OFFER};
    const char *why = "";

    req->source = view->rank;
    req->source_tag = req->made.tag;
    req->offered = 0;
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];
        struct mpixq_blob *blob = &record.blobs[record.n_blobs];

        if (reaches(channel, req, &why) && channel->offer(req, blob, &why)) {
            blob->channel = channel->id;
            req->offered |= UINT32_C(1) << channel->id;
            record.n_blobs++;
        } else {
            explain(req, channel, why);
        }
    }
    record.u.offer = (struct mpixq_wire_offer){.sender_id = req->id,
                                               .ident = view->ident,
                                               .bytes = req->bytes,
                                               .source = view->rank,
                                               .dest = req->made.peer,
                                               .tag = req->made.tag,
                                               .size = view->size,
                                               .own_size = view->own_size,
                                               .mode = req->made.mode};
    if (!mpixq_control_send(req->peer_world, &record)) {
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
    }
}

void mpixq_match_drop_offers(struct mpixq_request *req, const struct mpixq_channel *except)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];

        if (channel != except && (req->offered & (UINT32_C(1) << channel->id)) != 0) {
            channel->withdraw(req);
        }
    }
    req->offered = 0;
}

static void answer(int world, uint64_t sender_id, uint64_t receiver_id, enum mpixq_error error,
                   const struct mpixq_blob *blob)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_ANSWER};

    record.u.answer = (struct mpixq_wire_answer){
        .sender_id = sender_id, .receiver_id = receiver_id, .error = error};
    if (error == MPIXQ_E_NONE) {
        record.n_blobs = 1;
        record.blobs[0] = *blob;
    }
    if (!mpixq_control_send(world, &record)) {
        mpixq_err("no memory to answer a match of rank %d, which will wait for ever", world);
    }
}

/* Receiver: the best channel that both ends can use. */
static enum mpixq_error choose_channel(struct mpixq_request *req, const struct mpixq_record *offer,
                                       const struct mpixq_channel **channel_p,
                                       struct mpixq_blob *mine)
{
    enum mpixq_error error = MPIXQ_E_NO_CHANNEL;
    const char *why = "";

    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];

        for (uint32_t k = 0; k < offer->n_blobs; k++) {
            if (offer->blobs[k].channel != channel->id) {
                continue;
            }
            mine->channel = channel->id;
            mine->length = 0;
            error = reaches(channel, req, &why) ? channel->accept(req, &offer->blobs[k], mine, &why)
                                                : MPIXQ_E_NO_CHANNEL;
            if (error == MPIXQ_E_NONE) {
                *channel_p = channel;
                return MPIXQ_E_NONE;
            }
            explain(req, channel, why);
        }
    }
    return error;
}

static enum mpixq_error check_pair(const struct mpixq_request *req,
                                   const struct mpixq_wire_offer *offer)
{
    struct mpixq_comm_view view;

    mpixq_comm_view(req->comm, &view);
    if (offer->dest != view.rank || offer->size != view.own_size || offer->own_size != view.size) {
        return MPIXQ_E_VIEW;
    }
    return offer->bytes > req->bytes ? MPIXQ_E_TRUNCATE : MPIXQ_E_NONE;
}

/* Receiver: this receive and this offer belong together. */
static void pair(struct mpixq_request *req, const struct mpixq_record *record, int world)
{
    const struct mpixq_wire_offer *offer = &record->u.offer;
    const struct mpixq_channel *channel = NULL;
    enum mpixq_error error = check_pair(req, offer);
    uint64_t bytes = req->bytes;
    struct mpixq_blob mine;

    if (error == MPIXQ_E_NONE) {
        req->peer_world = world;
        req->peer_id = offer->sender_id;
        req->source = offer->source;
        req->source_tag = offer->tag;
        req->bytes = offer->bytes;
        error = choose_channel(req, record, &channel, &mine);
        if (error == MPIXQ_E_NO_TAG) {
            /* The release of another pair may have come just before this offer. */
            mpixq_match_retire();
            error = choose_channel(req, record, &channel, &mine);
        }
    }
    answer(world, offer->sender_id, req->id, error, &mine);
    if (error == MPIXQ_E_NONE) {
        matched(req, channel);
    } else {
        req->bytes = bytes;
        mpixq_match_finish(req, error);
    }
}

static void begin_receive(struct mpixq_request *req, const struct mpixq_comm_view *view)
{
    struct mpixq_offered *offered = NULL;
    struct mpixq_record record;

    req->posted.ident = view->ident;
    req->posted.source = req->made.peer;
    req->posted.tag = req->made.tag;
    if (!mpixq_pairing_post(&mpixq_match_pairing, &req->posted, &offered)) {
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
    MPI_Count type_bytes = 0;

    (void)PMPI_Type_size_x(req->made.type.handle, &type_bytes);
    req->bytes = (uint64_t)req->made.count * (uint64_t)type_bytes;
    if (req->made.peer == MPI_PROC_NULL) {
        req->peer_world = MPI_PROC_NULL;
        req->source = MPI_PROC_NULL;
        req->source_tag = MPI_ANY_TAG;
        req->bytes = 0;
        matched(req, &mpixq_channel_null);
        return;
    }
    if (!id_add(req)) {
        mpixq_match_finish(req, MPIXQ_E_NO_MEMORY);
        return;
    }
    mpixq_comm_view(req->comm, &view);
    if (mpixq_request_is_send(req)) {
        req->peer_world = mpixq_comm_world_rank(req->comm, req->made.peer);
        begin_send(req, &view);
    } else {
        begin_receive(req, &view);
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
        records[i]->op_index = i;
        n_matching++;
        (void)mpixq_request_step(records[i], MPIXQ_MATCH_BEGIN);
    }
    for (int i = 0; i < n; i++) {
        begin_one(records[i]);
    }
    if (atomic_fetch_sub(&op->remaining, 1) == 1 && op->has_handle) {
        LL_PREPEND2(done_ops, op, next_done);
    }
    mpixq_control_progress();
    mpixq_match_retire();
    mpixq_match_leave();
    if (mpixq_watchdog_is_on()) {
        mpixq_progress_wake();
    }
}

/* Records that arrive. */

static void record_offer(const struct mpixq_record *record, int source)
{
    struct mpixq_offer *offer = mpixq_offer_create(record, source);
    struct mpixq_posted *posted = NULL;

    if (offer == NULL ||
        !mpixq_pairing_offer(&mpixq_match_pairing, mpixq_offer_offered(offer), &posted)) {
        answer(source, record->u.offer.sender_id, 0, MPIXQ_E_NO_MEMORY, NULL);
        mpixq_offer_free(offer);
        return;
    }
    if (posted != NULL) {
        pair((struct mpixq_request *)((char *)posted - offsetof(struct mpixq_request, posted)),
             record, source);
        mpixq_offer_free(offer);
    }
}

static void record_answer(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_answer *wire = &record->u.answer;
    struct mpixq_request *req = mpixq_match_by_id(wire->sender_id);
    const struct mpixq_channel *channel = NULL;
    enum mpixq_error error = (enum mpixq_error)wire->error;

    if (req == NULL && wire->sender_id <= last_id) {
        /* The offer was withdrawn while the answer was under way. */
        if (error == MPIXQ_E_NONE) {
            mpixq_match_cut_off(source, wire->receiver_id);
        }
        return;
    }
    if (req == NULL || !mpixq_request_is_send(req) || req->peer_world != source ||
        mpixq_request_state(req) != MPIXQ_MATCHING) {
        mpixq_err("rank %d answered a match that does not exist", source);
        return;
    }
    if (error == MPIXQ_E_NONE) {
        channel = record->n_blobs == 1 ? mpixq_channel_by_id(record->blobs[0].channel) : NULL;
        if (channel == NULL || (req->offered & (UINT32_C(1) << channel->id)) == 0) {
            error = MPIXQ_E_PROTOCOL;
        } else {
            req->peer_id = wire->receiver_id;
            error = channel->connect(req, &record->blobs[0]);
        }
        if (error != MPIXQ_E_NONE) {
            mpixq_match_cut_off(source, wire->receiver_id);
        }
    }
    mpixq_match_drop_offers(req, error == MPIXQ_E_NONE ? channel : NULL);
    if (error == MPIXQ_E_NONE) {
        matched(req, channel);
    } else {
        mpixq_match_finish(req, error);
    }
}

void mpixq_match_record(const struct mpixq_record *record, int source)
{
    switch (record->kind) {
    case MPIXQ_WIRE_OFFER:
        record_offer(record, source);
        break;
    case MPIXQ_WIRE_ANSWER:
        record_answer(record, source);
        break;
    case MPIXQ_WIRE_RELEASE:
        mpixq_match_record_release(record, source);
        break;
    case MPIXQ_WIRE_FAILURE:
        mpixq_match_record_failure(record, source);
        break;
    case MPIXQ_WIRE_WITHDRAW:
        mpixq_match_record_withdraw(record, source);
        break;
    case MPIXQ_WIRE_HELLO:
        mpixq_control_meet(source, &record->u.hello.process);
        break;
    }
}

/* Progress. */

bool mpixq_match_is_pending(void)
{
    return atomic_load(&pending);
}

void mpixq_match_kick(void)
{
    if (pthread_mutex_trylock(&lock) == 0) {
        mpixq_control_progress();
        if (mpixq_watchdog_is_on()) {
            mpixq_watchdog_check();
        }
        mpixq_liveness_check();
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
    while (!mpixq_match_op_is_complete(op) || atomic_load(&answering)) {
        mpixq_match_kick();
        mpixq_backoff_pause(&backoff);
    }
    mpixq_match_fence(); /* the thread that completed it may still look at it */
}

void mpixq_match_fence(void)
{
    mpixq_match_enter();
    mpixq_match_leave();
}
