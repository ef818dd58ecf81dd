/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits on a queue whose stream is being captured into a graph. They become kernels of
 * the graph, and nothing is started: no request changes its state, and a call that fails has put
 * nothing into the graph. Whoever replays it orders its starts with others of the same requests. */
#include "core/channel.h"
#include "core/graphs.h"
#include "core/queue.h"
#include "core/schedule.h"
#include "enqueue.h"

/* What the captures of starts and of waits have in common. */
static enum mpixq_error check(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    enum mpixq_error error = mpixq_enqueue_check_idle(req);

    if (error != MPIXQ_E_NONE) {
        return error;
    }
    return req->pair.channel->graphs == NULL ? MPIXQ_E_PARTITION_GRAPH
                                             : mpixq_enqueue_check_first(queue, req);
}

static bool is_started(const struct mpixq_queue *queue, const struct mpixq_pair *pair)
{
    const struct mpixq_counted *counted = atomic_load(&pair->counted);

    return counted != NULL && counted->capture == queue->capture && counted->is_started;
}

static enum mpixq_error check_start(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    enum mpixq_error error = check(queue, req);

    return error == MPIXQ_E_NONE && is_started(queue, &req->pair) ? MPIXQ_E_GRAPH_STARTED : error;
}

/* Take the submission lock of the queue, for the capture that is under way. */
static int take(struct mpixq_queue *queue, struct mpixq_fault *fault_p)
{
    uint64_t capture = 0;
    int rc;

    *fault_p = MPIXQ_FAULT_NONE;
    if (mpixq_queue_has_failed(queue)) {
        return mpixq_queue_failure(queue, fault_p);
    }
    rc = queue->stream->ops->graphs->capture(queue->stream, &capture);
    if (rc == MPI_SUCCESS) {
        mpixq_submission_lock(&queue->submission);
        queue->capture = capture;
    }
    return rc;
}

/* From now on their GPU counts, */
static int count(struct mpixq_queue *queue, struct mpixq_pair *pair)
{
    enum mpixq_error error = mpixq_graphs_count(pair, queue);
    struct mpixq_pair *part;

    for (int i = 0; error == MPIXQ_E_NONE && (part = mpixq_collective_counted(pair, i)) != NULL;
         i++) {
        error = mpixq_graphs_count(part, queue);
    }
    return mpixq_error_code(error);
}

/* and the graph holds them. */
static int hold(struct mpixq_queue *queue, int n)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        struct mpixq_pair *part;

        rc = count(queue, queue->pairs[i]);
        for (int k = 0;
             rc == MPI_SUCCESS && (part = mpixq_collective_counted(queue->pairs[i], k)) != NULL;
             k++) {
            rc = mpixq_graphs_hold(queue, queue->capture, &part, 1);
        }
    }
    return rc == MPI_SUCCESS && n > 0 ? mpixq_graphs_hold(queue, queue->capture, queue->pairs, n)
                                      : rc;
}

static void go_to(struct mpixq_queue *queue, struct mpixq_pair *pair)
{
    struct mpixq_pair *part;

    for (int i = 0; (part = mpixq_collective_counted(pair, i)) != NULL; i++) {
        mpixq_graphs_go_to(part, queue);
    }
    mpixq_graphs_go_to(pair, queue);
}

/* What the kernels copy for an operation, as graphs do. */
static void set_copy(struct mpixq_op *op, bool starts)
{
    struct mpixq_pair *pair = op->arg;
    bool copies = (starts ? mpixq_pair_copy_before(pair) : mpixq_pair_copy_after(pair)) != NULL;

    op->copy = copies ? &pair->staging->captured[starts ? 0 : 1] : NULL;
}

static int fill_one(struct mpixq_queue *queue, struct mpixq_pair *pair, enum mpixq_phase phase,
                    struct mpixq_op list[])
{
    const struct mpixq_channel *channel = pair->channel;

    switch (phase) {
    case MPIXQ_PHASE_START:
        return channel->start(queue, &pair, 1, list);
    case MPIXQ_PHASE_WAIT:
        return channel->wait(queue, pair, list);
    case MPIXQ_PHASE_THEN_START:
        return mpixq_channel_goes_on(channel) ? channel->queues->then_start(queue, pair, list) : 0;
    default:
        return mpixq_channel_goes_on(channel) ? channel->queues->then_wait(queue, pair, list) : 0;
    }
}

/* Fill the operations of the first n pairs. Returns how many there are. */
static int fill(struct mpixq_queue *queue, int n, enum mpixq_phase phase, struct mpixq_op list[])
{
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        int end = n_ops + fill_one(queue, queue->pairs[i], phase, &list[n_ops]);

        for (; n_ops < end; n_ops++) {
            set_copy(&list[n_ops], phase == MPIXQ_PHASE_START || phase == MPIXQ_PHASE_THEN_START);
        }
    }
    return n_ops;
}

/* The first n pairs are captured as started, or as waited for. */
static void note(struct mpixq_queue *queue, int n, bool starts)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_counted *counted = atomic_load(&queue->pairs[i]->counted);

        go_to(queue, queue->pairs[i]);
        counted->capture = queue->capture;
        counted->is_started = starts;
    }
}

static int put_phase_in(struct mpixq_queue *queue, int n, enum mpixq_phase phase)
{
    int n_ops = fill(queue, n, phase, queue->list);
    struct mpixq_branches *branches = n_ops > 0 ? mpixq_graphs_branches(queue) : NULL;

    if (n_ops == 0) {
        return MPI_SUCCESS;
    }
    return branches == NULL ? mpixq_error_code(MPIXQ_E_CAPTURE)
                            : queue->stream->ops->graphs->submit(queue->stream, queue->list, n_ops,
                                                                 branches, &queue->submission);
}

/* Capture starts of the first n pairs, or waits. */
static int put_in(struct mpixq_queue *queue, int n, bool starts)
{
    int rc = hold(queue, n);

    if (rc == MPI_SUCCESS) {
        rc = put_phase_in(queue, n, starts ? MPIXQ_PHASE_START : MPIXQ_PHASE_WAIT);
    }
    if (queue->in_lists && !starts) {
        rc = rc == MPI_SUCCESS ? put_phase_in(queue, n, MPIXQ_PHASE_THEN_START) : rc;
        rc = rc == MPI_SUCCESS ? put_phase_in(queue, n, MPIXQ_PHASE_THEN_WAIT) : rc;
    }
    if (rc == MPI_SUCCESS) {
        note(queue, n, starts);
    }
    return rc;
}

/* Both, which GPUs do alone. */
static int put_both_in(struct mpixq_queue *queue, int n)
{
    struct mpixq_branches *branches = NULL;
    struct mpixq_both both = {.starts = queue->list};
    int rc = hold(queue, n);

    if (rc == MPI_SUCCESS) {
        both.n_starts = fill(queue, n, MPIXQ_PHASE_START, queue->list);
        both.waits = queue->list + both.n_starts;
        both.n_waits = fill(queue, n, MPIXQ_PHASE_WAIT, both.waits);
        branches = mpixq_graphs_branches(queue);
        rc = branches == NULL ? mpixq_error_code(MPIXQ_E_CAPTURE)
                              : queue->stream->ops->graphs->submit_both(
                                    queue->stream, &both, branches, &queue->submission);
    }
    if (rc == MPI_SUCCESS) {
        note(queue, n, false);
    }
    return rc;
}

enum what { STARTS, WAITS, BOTH };

static int put_what_in(struct mpixq_queue *queue, int n, enum what what)
{
    int rc;

    if (what == BOTH && mpixq_enqueue_can_be_both(queue, n)) {
        return put_both_in(queue, n);
    }
    rc = what == WAITS ? MPI_SUCCESS : put_in(queue, n, true);
    return rc == MPI_SUCCESS && what != STARTS ? put_in(queue, n, false) : rc;
}

static int capture(struct mpixq_queue *queue, int count, MPI_Request requests[], enum what what,
                   struct mpixq_fault *fault_p)
{
    struct mpixq_request *failed;
    enum mpixq_error error;
    int n, index, rc = take(queue, fault_p);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    error = what == WAITS
                ? mpixq_enqueue_collect(queue, count, requests, check, &n, &failed, &index)
                : mpixq_enqueue_collect(queue, count, requests, check_start, &n, &failed, &index);
    if (error == MPIXQ_E_NONE) {
        rc = put_what_in(queue, n, what);
    }
    mpixq_submission_unlock(&queue->submission);
    return error == MPIXQ_E_NONE ? rc : mpixq_enqueue_fault(queue, error, failed, index, fault_p);
}

int mpixq_enqueue_graph_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                              struct mpixq_fault *fault_p)
{
    return capture(queue, count, requests, STARTS, fault_p);
}

int mpixq_enqueue_graph_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                             struct mpixq_fault *fault_p)
{
    return capture(queue, count, requests, WAITS, fault_p);
}

int mpixq_enqueue_graph_start_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                                   struct mpixq_fault *fault_p)
{
    return capture(queue, count, requests, BOTH, fault_p);
}

int mpixq_enqueue_graph_wait_started(struct mpixq_queue *queue, struct mpixq_fault *fault_p)
{
    int n, rc = take(queue, fault_p);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    n = mpixq_graphs_started(queue, queue->capture, queue->pairs, queue->room);
    if (n > queue->room && mpixq_enqueue_make_room(queue, n)) {
        n = mpixq_graphs_started(queue, queue->capture, queue->pairs, queue->room);
    }
    rc = n <= queue->room ? put_in(queue, n, false) : mpixq_error_code(MPIXQ_E_NO_MEMORY);
    mpixq_submission_unlock(&queue->submission);
    return rc;
}
