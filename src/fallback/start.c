/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "start.h"

#include <stddef.h>

#include "core/failure.h"
#include "core/queue.h"
#include "core/tally.h"
#include "core/trace_pairs.h"
#include "end.h"
#include "persistent.h"
#include "util/progress.h"

void mpixq_fallback_fail(struct mpixq_pair *pair, int rc, const char *operation)
{
    mpixq_failure_abandon(pair);
    mpixq_queue_fail(mpixq_graphs_queue(pair), pair, rc, operation);
}

/* Requests were started, or not. Under busy, which is left. What the host starts is its own to
 * drive, as MPI has it, and not counted for the progress thread; what a GPU has counted is. */
static void conclude_starts(struct mpixq_pair *const pairs[], int n, int rc)
{
    struct mpixq_queue *queue = mpixq_graphs_queue(pairs[0]); /* the same for all */
    bool by_host = mpixq_pair_is_by_host(pairs[0]);

    for (int i = 0; i < n; i++) {
        struct end *end = pairs[i]->end;

        if (rc == MPI_SUCCESS) {
            end->active = true;
            end->counted = !by_host;
            mpixq_fallback_count(&pairs[i]->executed);
        }
        mpixq_end_leave(end);
        if (rc != MPI_SUCCESS) {
            mpixq_fallback_fail(pairs[i], rc, "start");
        }
    }
    if (rc == MPI_SUCCESS && queue != NULL) {
        atomic_fetch_add_explicit(&queue->posts, (uint64_t)n, memory_order_relaxed);
    }
    if (rc == MPI_SUCCESS && !by_host) {
        atomic_fetch_add(&mpixq_progress.outstanding,
                         n); /* before the thread is looked at: it may doze off */
    }
}

static void start_one(struct mpixq_pair *pair)
{
    struct end *end = pair->end;
    int rc = mpixq_persistent_start(pair, pair->peer_world, end->tag, end->comm, &end->request);

    conclude_starts(&pair, 1, rc);
}

static void start_all(struct mpixq_pair *const pairs[], int n)
{
    MPI_Request requests[MPIXQ_TOGETHER];
    int rc;

    for (int i = 0; i < n; i++) {
        requests[i] = ((struct end *)pairs[i]->end)->request;
    }
    rc = PMPI_Startall(n, requests);
    for (int i = 0; i < n; i++) {
        ((struct end *)pairs[i]->end)->request = requests[i];
    }
    conclude_starts(pairs, n, rc);
}

/* Under busy, which is left. */
static void start_parts(struct mpixq_pair *pair)
{
    struct end *end = pair->end;
    struct mpixq_queue *queue = atomic_load(&pair->queue);
    bool first = end->parts->begun == 0;
    int n, rc;

    if (first) {
        mpixq_trace_start_executed(pair);
    }
    rc = mpixq_parts_start(pair, end->tag, end->comm, &n);

    if (queue != NULL && n > first) {
        atomic_fetch_add_explicit(&queue->posts, (uint64_t)(n - first), memory_order_relaxed);
    }
    if (first) { /* which counts one; with any under way it is active */
        conclude_starts(&pair, 1, n > 0 ? MPI_SUCCESS : rc);
    } else {
        mpixq_end_leave(end);
    }
    if (rc != MPI_SUCCESS && (n > 0 || !first)) {
        mpixq_fallback_fail(pair, rc, "start");
    }
}

/* The queue has failed. */
static void drop_start(struct mpixq_pair *pair)
{
    struct end *end = pair->end;

    mpixq_failure_abandon(pair);
    if (end->parts != NULL) {
        mpixq_end_enter(end);
        mpixq_parts_break_off(pair, end->tag, end->comm);
        mpixq_end_leave(end);
    }
}

void mpixq_fallback_start_whole(struct mpixq_pair *pair)
{
    struct end *end = pair->end;

    if (end->parts != NULL) {
        end->parts->at_once = true;
        start_parts(pair);
        return;
    }
    mpixq_trace_start_executed(pair);
    if (end->request == MPI_REQUEST_NULL) {
        start_one(pair);
    } else {
        start_all(&pair, 1);
    }
}

/* Is it, or a part of it, enqueued before the first capture? Under busy. */
static bool is_older(const struct end *end, const struct mpixq_tally *tally)
{
    const struct mpixq_parts *parts = end->parts;

    return mpixq_tally_is_older(tally) ||
           (parts != NULL && parts->begun > 0 && parts->begun < parts->n);
}

/* By a thread. Under busy, which is left. */
static void start_counted(struct mpixq_pair *pair, struct mpixq_tally *tally,
                          const struct mpixq_queue *queue)
{
    struct end *end = pair->end;

    if (end->active || mpixq_tally_is_under_way(tally)) {
        mpixq_end_leave(end);
        mpixq_fallback_fail(pair, mpixq_error_code(MPIXQ_E_REPLAY_ACTIVE), "start");
        return;
    }
    mpixq_tally_begin(tally, queue);
    mpixq_fallback_start_whole(pair);
}

/* Under busy, which is left, unless it is one request that MPI can start again: then true. */
static bool start_or_keep(struct mpixq_pair *pair, const struct mpixq_queue *queue)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    struct end *end = pair->end;

    if (tally != NULL && !is_older(end, tally)) {
        start_counted(pair, tally, queue);
        return false;
    }
    if (end->parts != NULL) {
        start_parts(pair);
        return false;
    }
    mpixq_trace_start_executed(pair);
    if (end->request == MPI_REQUEST_NULL) {
        start_one(pair);
        return false;
    }
    return true;
}

void mpixq_fallback_starts(void *const args[], int n, bool on_gpu)
{
    struct mpixq_queue *queue = atomic_load(&((struct mpixq_pair *)args[0])->queue);
    struct mpixq_pair *pairs[MPIXQ_TOGETHER];
    int n_again = 0;

    (void)on_gpu;
    if (queue != NULL && mpixq_queue_has_failed(queue)) {
        for (int i = 0; i < n; i++) {
            drop_start(args[i]);
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];

        mpixq_end_enter(pair->end);
        if (start_or_keep(pair, queue)) {
            pairs[n_again++] = pair;
        }
        if (n_again == MPIXQ_TOGETHER) {
            start_all(pairs, n_again);
            n_again = 0;
        }
    }
    if (n_again > 0) {
        start_all(pairs, n_again);
    }
    if (queue != NULL) {
        mpixq_progress_wake();
    }
}
