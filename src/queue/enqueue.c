/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits on a queue. Each call first checks every element, then steps and submits all
 * of them, so that a call that fails has changed nothing. */
#include <utlist.h>

#include "core/channel.h"
#include "core/partitions.h"
#include "core/schedule.h"
#include "core/trace_enqueue.h"
#include "enqueue.h"
#include "queues.h"

/* Starts and waits have each their own copy of what they have in common with the call for both. */
#define FAST static inline __attribute__((always_inline))

static enum mpixq_error check_collective(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    const void *place = queue->stream->ops->copies ? queue->stream->place : NULL;
    int ops = 0;
    enum mpixq_error error = mpixq_collective_admits(req, place, &ops);

    queue->wanted = ops > queue->wanted ? ops : queue->wanted;
    return error;
}

/* Apart from the starts that follow, which are many. */
__attribute__((cold, noinline)) enum mpixq_error
mpixq_enqueue_check_first(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    enum mpixq_error error = mpixq_queue_type_admits(queue, req);
    const void *place;

    if (mpixq_queue_type_is_late(queue, req)) {
        mpixq_queues_say_late(queue, req);
    }
    if (error != MPIXQ_E_NONE) {
        return error;
    }
    if (req->is_partitioned &&
        (mpixq_partitions_of(req)->of_gpus || mpixq_partitions_of(req)->is_staged)) {
        return MPIXQ_E_PARTITION_QUEUE;
    }
    queue->in_lists = queue->in_lists || mpixq_enqueue_in_lists(req);
    if (mpixq_collective_in_lists(&req->pair)) {
        return check_collective(queue, req);
    }
    if (!req->pair.channel->of_gpus) {
        return req->pair.staging != NULL && !queue->stream->ops->copies ? MPIXQ_E_GPU_BUFFER
                                                                        : MPIXQ_E_NONE;
    }
    if (!queue->stream->ops->copies) {
        return MPIXQ_E_GPU_BUFFER;
    }
    place = atomic_load_explicit(&req->pair.prepared->place, memory_order_acquire);
    return place == queue->stream->place ? MPIXQ_E_NONE : MPIXQ_E_OTHER_GPU;
}

/* May this request be started on this queue? */
FAST enum mpixq_error check_start(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    enum mpixq_state state = mpixq_request_state(req);

    if (state == MPIXQ_WAITING) { /* the usual one, from the second start on */
        return atomic_load(&req->pair.queue) == queue ? MPIXQ_E_NONE : MPIXQ_E_OTHER_QUEUE;
    }
    switch (state) {
    case MPIXQ_UNMATCHED:
        return MPIXQ_E_UNMATCHED;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_MATCHED:
        return mpixq_pair_has_failed(&req->pair) ? MPIXQ_E_REQUEST_FAILED
                                                 : mpixq_enqueue_check_first(queue, req);
    case MPIXQ_STARTED:
        return MPIXQ_E_STARTED;
    case MPIXQ_HOST_STARTED:
        return MPIXQ_E_HOST_ACTIVE;
    default:
        return MPIXQ_E_REQUEST_FAILED;
    }
}

/* May this queue wait for this request? One that is not started is not waited for. */
static enum mpixq_error check_wait(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    switch (mpixq_request_state(req)) {
    case MPIXQ_UNMATCHED:
        return MPIXQ_E_UNMATCHED;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_MATCHED:
        return MPIXQ_E_NONE;
    case MPIXQ_STARTED:
    case MPIXQ_WAITING:
        return atomic_load(&req->pair.queue) == queue ? MPIXQ_E_NONE : MPIXQ_E_OTHER_QUEUE;
    case MPIXQ_HOST_STARTED:
        return MPIXQ_E_HOST_ACTIVE;
    default:
        return MPIXQ_E_REQUEST_FAILED;
    }
}

enum mpixq_error mpixq_enqueue_check_idle(const struct mpixq_request *req)
{
    switch (mpixq_request_state(req)) {
    case MPIXQ_UNMATCHED:
        return MPIXQ_E_UNMATCHED;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_STARTED:
        return MPIXQ_E_STARTED;
    case MPIXQ_HOST_STARTED:
        return MPIXQ_E_HOST_ACTIVE;
    case MPIXQ_MATCHED:
    case MPIXQ_WAITING:
        return mpixq_pair_has_failed(&req->pair) ? MPIXQ_E_REQUEST_FAILED : MPIXQ_E_NONE;
    default:
        return MPIXQ_E_REQUEST_FAILED;
    }
}

int mpixq_enqueue_fault(const struct mpixq_queue *queue, enum mpixq_error error,
                        const struct mpixq_request *failed, int index, struct mpixq_fault *fault_p)
{
    mpixq_fault_at(fault_p, index, failed);
    if (error == MPIXQ_E_QUEUE_TYPE) {
        mpixq_queue_type_explain(queue, failed, &fault_p->choice);
    }
    return error == MPIXQ_E_REQUEST_FAILED ? mpixq_request_failure(failed)
                                           : mpixq_error_code(error);
}

/* May this thread submit to the stream just now? Not under the submission lock: that may call a
 * GPU's library, which may block. */
static inline enum mpixq_error admitted(const struct mpixq_queue *queue)
{
    return (enum mpixq_error)queue->stream->ops->admits(queue->stream);
}

/* Take the submission lock of the queue, with the pairs of checked requests in queue->pairs, or
 * return the error without it. */
static inline __attribute__((always_inline)) int
take_checked(struct mpixq_queue *queue, enum mpixq_error error, int count, MPI_Request requests[],
             mpixq_enqueue_check *check, int *n_p, struct mpixq_fault *fault_p)
{
    for (;;) {
        struct mpixq_request *failed = NULL;
        int index = -1;

        mpixq_queue_look(queue);
        if (mpixq_queue_has_failed(queue)) {
            return mpixq_queue_failure(queue, fault_p);
        }
        if (error == MPIXQ_E_NONE) {
            mpixq_submission_lock(&queue->submission);
            error = mpixq_enqueue_collect(queue, count, requests, check, n_p, &failed, &index);
            if (error == MPIXQ_E_NONE) {
                return MPI_SUCCESS;
            }
            mpixq_submission_unlock(&queue->submission);
        }
        if (failed != NULL && error == MPIXQ_E_OTHER_QUEUE) {
            /* It is free if its wait there has completed; to see that takes the submission lock of
             * the other queue. */
            mpixq_queue_settle(failed);
            if (atomic_load(&failed->pair.queue) == NULL) {
                error = admitted(queue);
                continue;
            }
        }
        return mpixq_enqueue_fault(queue, error, failed, index, fault_p);
    }
}

/* What the stream copies before starts, or after waits, if it can. Of several waits for one pair
 * the last one has the copy. */
static void add_copies(struct mpixq_queue *queue, int n)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_op *op = &queue->list[i];

        if (!mpixq_op_is_wait(op)) {
            op->copy = mpixq_pair_copy_before(op->arg);
        } else if (i + 1 == n || op[1].arg != op->arg) {
            op->copy = mpixq_pair_copy_after(op->arg);
        }
    }
}

/* The first n operations of the list. */
FAST void submit(struct mpixq_queue *queue, int n)
{
    if (n > 0) {
        if (queue->stream->ops->copies) {
            add_copies(queue, n);
        }
        queue->ticket =
            queue->stream->ops->submit(queue->stream, queue->list, n, &queue->submission);
        queue->launches++;
    }
}

/* The first start of a request on the queue. */
static void join(struct mpixq_queue *queue, struct mpixq_request *req)
{
    DL_APPEND2(queue->members, req, prev_member, next_member);
    atomic_store(&req->pair.queue, queue);
    (void)mpixq_request_step(req, MPIXQ_START);
    if (mpixq_pair_has_failed(&req->pair)) {
        /* The peer said so after the check, when the request was not the queue's yet. */
        mpixq_queue_fail(queue, &req->pair, mpixq_pair_peer_failed(&req->pair), "peer");
    }
}

FAST void step_pairs(struct mpixq_queue *queue, int n)
{
    struct mpixq_pair *const *pairs = queue->pairs;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = pairs[i];
        struct mpixq_request *req = mpixq_request_of(pair);

        if (!mpixq_request_restart(req)) {
            join(queue, req);
        }
        DL_APPEND2(queue->started, pair, prev_started, next_started);
        mpixq_pair_count_start(pair, false);
    }
}

/* Those of one channel that follow each other are started at once. Returns how many operations that
 * takes. */
FAST int start_pairs(struct mpixq_queue *queue, int n)
{
    int n_ops = 0;

    for (int first = 0, end; first < n; first = end) {
        const struct mpixq_channel *channel = queue->pairs[first]->channel;

        end = first + 1;
        while (end < n && queue->pairs[end]->channel == channel) {
            end++;
        }
        n_ops += channel->start(queue, &queue->pairs[first], end - first, &queue->list[n_ops]);
        queue->by_channel[channel->id] += (uint64_t)(end - first);
    }
    return n_ops;
}

/* Enqueue the starts of the first n pairs. Under the submission lock. */
FAST void submit_starts(struct mpixq_queue *queue, int n)
{
    submit(queue, start_pairs(queue, n));
    if (queue->in_lists) {
        mpixq_enqueue_steps(queue, n, MPIXQ_PHASE_START);
    }
    mpixq_trace_starts_enqueued(queue, n);
}

/* Take the submission lock with n pairs that are started as far as the host is concerned; or return
 * the error without it. */
FAST int begin_starts(struct mpixq_queue *queue, enum mpixq_error error, int count,
                      MPI_Request requests[], int *n_p, struct mpixq_fault *fault_p)
{
    int rc;

    if (mpixq_queue_was_told(queue)) {
        mpixq_queue_part_told(queue);
    }
    rc = take_checked(queue, error, count, requests, check_start, n_p, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    step_pairs(queue, *n_p);
    if (mpixq_queue_was_told(queue)) {
        mpixq_queue_fail_told(queue, *n_p);
    }
    queue->starts += (uint64_t)*n_p; /* before the lock is lent: stats_read.c */
    return MPI_SUCCESS;
}

int mpixq_enqueue_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                        struct mpixq_fault *fault_p)
{
    enum mpixq_error error = admitted(queue);
    int n = 0, rc;

    if (error == MPIXQ_E_CAPTURE) {
        return mpixq_enqueue_graph_start(queue, count, requests, fault_p);
    }
    rc = begin_starts(queue, error, count, requests, &n, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    submit_starts(queue, n);
    mpixq_submission_unlock(&queue->submission);
    return MPI_SUCCESS;
}

/* Fill the operations of waits for the first n pairs. Returns how many there are. */
FAST int fill_waits(struct mpixq_queue *queue, int n, struct mpixq_op list[], int *n_waits_p)
{
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = queue->pairs[i];
        struct mpixq_request *req = mpixq_request_of(pair);

        if (mpixq_request_state(req) != MPIXQ_STARTED) {
            continue; /* not started, or waited for already */
        }
        (void)mpixq_request_step(req, MPIXQ_WAIT);
        DL_DELETE2(queue->started, pair, prev_started, next_started);
        (*n_waits_p)++;
        n_ops += pair->channel->wait(queue, pair, &list[n_ops]);
    }
    return n_ops;
}

/* They are submitted. */
FAST void note_waits(struct mpixq_queue *queue, int n, int n_waits)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = mpixq_request_of(queue->pairs[i]);

        if (mpixq_request_state(req) == MPIXQ_WAITING) {
            req->ticket = queue->ticket;
        }
    }
    queue->waits += (uint64_t)n_waits;
    mpixq_trace_wait_enqueued(queue, n);
}

/* The second round of those of the first n pairs that go on, if any do. */
__attribute__((cold, noinline)) static void go_on(struct mpixq_queue *queue, int n)
{
    submit(queue, mpixq_enqueue_fill_then(queue, n, false));
    mpixq_enqueue_steps(queue, n, MPIXQ_PHASE_THEN_START);
    mpixq_enqueue_steps(queue, n, MPIXQ_PHASE_THEN_WAIT);
    submit(queue, mpixq_enqueue_fill_then(queue, n, true));
}

/* Enqueue one wait for the first n pairs. Under the submission lock. */
static void wait_pairs(struct mpixq_queue *queue, int n)
{
    int n_waits = 0, n_going_on = 0;

    if (queue->in_lists) {
        n_going_on = mpixq_enqueue_find_going_on(queue, n);
        mpixq_enqueue_steps(queue, n, MPIXQ_PHASE_WAIT);
    }
    submit(queue, fill_waits(queue, n, queue->list, &n_waits));
    if (n_going_on > 0) {
        go_on(queue, n_going_on);
    }
    note_waits(queue, n, n_waits);
}

int mpixq_enqueue_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                       struct mpixq_fault *fault_p)
{
    enum mpixq_error error = admitted(queue);
    int n = 0, rc;

    if (error == MPIXQ_E_CAPTURE) {
        return mpixq_enqueue_graph_wait(queue, count, requests, fault_p);
    }
    rc = take_checked(queue, error, count, requests, check_wait, &n, fault_p);
    if (rc == MPI_SUCCESS) {
        wait_pairs(queue, n);
        mpixq_submission_unlock(&queue->submission);
    }
    return rc;
}

bool mpixq_enqueue_can_be_both(struct mpixq_queue *queue, int n)
{
    bool all = n > 0 && queue->stream->ops->submit_both != NULL;

    for (int i = 0; all && i < n; i++) {
        const struct mpixq_pair *pair = queue->pairs[i];

        all = pair->channel->of_gpus || mpixq_collective_is_of_gpus(pair);
    }
    return all && n <= INT32_MAX / 2 && mpixq_enqueue_make_room(queue, 2 * n);
}

/* Enqueue both for the first n pairs, whose GPUs do all of it. Under the submission lock. */
static void start_and_wait(struct mpixq_queue *queue, int n)
{
    struct mpixq_both both = {.starts = queue->list};
    int n_waits = 0;
    bool at_once = false;

    both.n_starts = start_pairs(queue, n);
    both.waits = queue->list + both.n_starts;
    both.n_waits = fill_waits(queue, n, both.waits, &n_waits); /* of all: they are started */
    queue->ticket =
        queue->stream->ops->submit_both(queue->stream, &both, &queue->submission, &at_once);
    queue->launches += at_once ? 1 : 2;
    mpixq_trace_starts_enqueued(queue, n);
    note_waits(queue, n, n_waits);
}

int mpixq_enqueue_start_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                             struct mpixq_fault *fault_p)
{
    enum mpixq_error error = admitted(queue);
    int n = 0, rc;

    if (error == MPIXQ_E_CAPTURE) {
        return mpixq_enqueue_graph_start_wait(queue, count, requests, fault_p);
    }
    rc = begin_starts(queue, error, count, requests, &n, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (mpixq_enqueue_can_be_both(queue, n)) {
        start_and_wait(queue, n);
    } else {
        submit_starts(queue, n);
        wait_pairs(queue, n);
    }
    mpixq_submission_unlock(&queue->submission);
    return MPI_SUCCESS;
}

int mpixq_enqueue_wait_started(struct mpixq_queue *queue, struct mpixq_fault *fault_p)
{
    enum mpixq_error error = admitted(queue);
    struct mpixq_pair *pair;
    int n = 0, rc;

    if (error == MPIXQ_E_CAPTURE) {
        return mpixq_enqueue_graph_wait_started(queue, fault_p);
    }
    rc = take_checked(queue, error, 0, NULL, check_wait, &n, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    DL_COUNT2(queue->started, pair, n, next_started);
    if (mpixq_enqueue_make_room(queue, n)) {
        n = 0;
        DL_FOREACH2(queue->started, pair, next_started)
        {
            mpixq_request_of(pair)->mark = queue->mark;
            queue->pairs[n++] = pair;
        }
        wait_pairs(queue, n);
    } else {
        *fault_p = MPIXQ_FAULT_NONE;
        rc = mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    mpixq_submission_unlock(&queue->submission);
    return rc;
}
