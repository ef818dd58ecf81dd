/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The end of a pair: one side is freed, or has failed. Each side tells the other; a receive stays
 * until its sender is gone, since what was sent must be received before the tag is used again. */
#include "match_internal.h"

#include <stddef.h>
#include <utlist.h>

#include "control.h"
#include "core/channels.h"
#include "core/graphs.h"
#include "core/queue.h"
#include "core/request_name.h"
#include "match_channels.h"
#include "offer.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/progress.h"
#include "util/thread.h"

/* For so long MPI_Finalize waits for messages of pairs that were freed. */
#define MESSAGES_NS UINT64_C(1000000000)

void mpixq_match_record_release(const struct mpixq_record *record, int source)
{
    struct mpixq_pair *pair = mpixq_match_by_id(record->u.release.id);
    struct mpixq_request *req;
    bool is_first;

    if (pair == NULL || (pair->owner != NULL && mpixq_match_split_released(pair->owner, source))) {
        return; /* the receiver may be the second to free its end; or its match is given up */
    }
    if (pair->peer_world != source || pair->channel == NULL ||
        record->u.release.started == UINT64_MAX) {
        mpixq_err("rank %d released a pair that does not exist", source);
        return;
    }
    req = pair->owner;
    is_first = !mpixq_pair_peer_is_gone(pair);
    atomic_store_explicit(&pair->peer_end, record->u.release.started + 1, memory_order_release);
    mpixq_channel_ended(pair);
    if (!mpixq_pair_is_send(pair) && is_first && req != NULL && req->released) {
        LL_PREPEND2(mpixq_matching.retiring, req, next_released);
    }
}

/* Has its last wait completed, or is it about to be started on a queue for the first time? The
 * state is read first: a start takes its step before it counts. */
static bool is_idle(const struct mpixq_pair *pair)
{
    int state = pair->owner != NULL ? atomic_load(&pair->owner->state) : MPIXQ_WAITING;

    return state == MPIXQ_WAITING ? mpixq_pair_is_complete(pair) : state != MPIXQ_STARTED;
}

/* A request belongs to its queue until its wait has completed, and stays in its list until somebody
 * looks. In between its failure is not the queue's. Who starts it meanwhile takes the step and
 * looks at told then; here told is written before the state is read: so one of both sees the
 * other. */
void mpixq_match_record_failure(const struct mpixq_record *record, int source)
{
    struct mpixq_pair *pair = mpixq_match_by_id(record->u.failure.id);
    struct mpixq_queue *queue;

    if (pair == NULL || pair->peer_world != source || pair->channel == NULL) {
        return; /* freed meanwhile */
    }
    if (!mpixq_pair_is_complete(pair)) {
        mpixq_match_poll(pair); /* done follows here only */
    }
    atomic_store(&pair->failed, true);
    queue = atomic_load(&pair->queue);
    if (queue == NULL) {
        return;
    }
    atomic_store(&queue->told, true);
    if (!is_idle(pair)) {
        mpixq_queue_fail(queue, pair, mpixq_pair_peer_failed(pair), "peer");
    }
}

void mpixq_match_release(struct mpixq_request *req)
{
    bool is_left;

    mpixq_memory_hold(true);
    mpixq_match_enter();
    if (mpixq_match_has_parts(req)) {
        mpixq_match_release_parts(req);
    }
    mpixq_match_release_one(req);
    mpixq_control_progress();
    mpixq_match_retire();
    is_left = mpixq_matching.retiring != NULL;
    mpixq_match_leave();
    mpixq_channels_clean_up();
    if (is_left) { /* a channel may have had to clean up first */
        mpixq_match_enter();
        mpixq_match_retire();
        mpixq_match_leave();
        mpixq_channels_clean_up();
    }
    mpixq_memory_hold(false);
    mpixq_memory_tidy(); /* what collectives had */
}

void mpixq_match_tell_failure(const struct mpixq_pair *pair)
{
    if (pair->peer_world == MPI_PROC_NULL) {
        mpixq_match_fail_parts(pair->owner);
    } else {
        mpixq_match_tell_peer(pair);
    }
}

/* This thread polls a pair, and holds the matching lock. */
static MPIXQ_THREAD_LOCAL bool polling;

void mpixq_match_poll(struct mpixq_pair *pair)
{
    polling = true;
    (void)pair->channel->poll(pair);
    polling = false;
}

void mpixq_match_fail(uint64_t id, int code, const char *operation)
{
    struct mpixq_pair *pair;
    struct mpixq_queue *queue;
    bool has_lock = polling;
    int none = MPI_SUCCESS;

    if (!has_lock) {
        mpixq_match_enter();
    }
    pair = mpixq_match_by_id(id);
    if (pair != NULL) {
        queue = mpixq_graphs_queue(pair);
        if (atomic_load(&pair->queue) == NULL) {
            /* For calls that look at it once the pair has failed: of the host, and, if a graph or a
             * handle has the pair, of any, as it belongs to no queue that would say so. */
            (void)atomic_compare_exchange_strong(&pair->error, &none, code);
        }
        if (!atomic_exchange(&pair->failed, true)) {
            mpixq_match_tell_failure(pair);
        }
        if (queue != NULL) {
            mpixq_queue_fail(queue, pair, code, operation);
        }
    }
    if (!has_lock) {
        mpixq_match_leave();
    }
    mpixq_progress_wake();
}

void mpixq_match_abandon(struct mpixq_pair *pair)
{
    if (polling) {
        mpixq_match_tell_failure(pair);
    } else {
        mpixq_match_enter();
        mpixq_match_tell_failure(pair);
        mpixq_match_leave();
    }
    mpixq_progress_wake(); /* sends it: the caller may hold more locks */
}

/* Sends that MPI reads to the end. */
struct busy {
    int n;
    char first[MPIXQ_NAME_ROOM];
};

/* The process ends: no end is used any more, */
static void release_left(struct mpixq_request *req, void *arg)
{
    (void)arg;
    mpixq_channels_unreach(&req->pair);
    if (req->pair.channel != NULL && !req->released) {
        mpixq_channel_release(&req->pair);
    }
}

/* and it is let go of, whatever it is doing. */
static void let_go(struct mpixq_request *req, void *arg)
{
    struct busy *busy = arg;

    mpixq_match_id_remove(&req->pair);
    mpixq_match_forget_opening(req);
    mpixq_match_forget_graphs(&req->pair);
    if (req->pair.channel != NULL) {
        /* A receive may still lack its sender's release: nobody will wait for that any more. */
        if (!mpixq_channel_retire(&req->pair) && mpixq_request_is_send(req) && busy->n++ == 0) {
            (void)mpixq_request_name(req, busy->first);
        }
    }
    if (req->released) {
        mpixq_request_destroy(req); /* the others are still in the table of handles */
    }
}

/* What MPI has under way for pairs that were freed ends first, if it does soon: an MPI_Finalize may
 * wait for it, when the peer is no longer there to end it. */
static void await_messages(void)
{
    uint64_t until_ns = mpixq_now_ns() + MESSAGES_NS;
    struct mpixq_backoff backoff;
    bool are_left;

    mpixq_backoff_begin(&backoff);
    do {
        mpixq_match_enter();
        mpixq_match_retire();
        are_left = mpixq_matching.retiring != NULL && atomic_load(&mpixq_progress.outstanding) > 0;
        mpixq_match_leave();
        if (are_left) {
            mpixq_backoff_pause(&backoff);
        }
    } while (are_left && mpixq_now_ns() < until_ns);
}

bool mpixq_match_has_stopped(void)
{
    return atomic_load(&mpixq_matching.has_stopped);
}

void mpixq_match_stop(void)
{
    mpixq_match_enter();
    atomic_store(&mpixq_matching.has_stopped, true);
    while (mpixq_pairing_take_posted(&mpixq_matching.pairing) != NULL) {
    }
    mpixq_match_leave();
}

void mpixq_match_close(void)
{
    struct mpixq_offered *offered;
    struct busy busy = {.n = 0};

    mpixq_match_enter();
    while ((offered = mpixq_pairing_take_offered(&mpixq_matching.pairing)) != NULL) {
        mpixq_offer_free(mpixq_offer_of(offered));
    }
    mpixq_match_each(release_left, NULL);
    mpixq_match_leave();
    mpixq_channels_clean_up();
    await_messages();
    mpixq_match_enter();
    mpixq_match_each(let_go, &busy);
    mpixq_match_reasons_close();
    mpixq_match_leave();
    if (busy.n > 0) {
        mpixq_warn("MPI_Finalize: %d sends were started and never received, the first the %s: "
                   "their buffers are in use until the process ends",
                   busy.n, busy.first);
    }
}
