/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits on a queue. Each call first checks every element, then steps and submits all
 * of them, so that a call that fails has changed nothing. */
#include <utlist.h>

#include "alloc.h"
#include "channel.h"
#include "queue.h"

/* Room for n elements in the queue's arrays; under its lock. Grows rarely, so the enqueue path
 * does not allocate. */
static bool make_room(struct mpixq_queue *queue, int n)
{
    int room = queue->room > 0 ? queue->room : 16;
    void *records, *triggers, *awaited;

    if (n <= queue->room) {
        return true;
    }
    while (room < n) {
        room = room > INT32_MAX / 2 ? n : room * 2;
    }
    /* The arrays stay with the queue's memory for good. */
    records = mpixq_realloc(queue->records, (size_t)room * sizeof *queue->records);
    queue->records = records != NULL ? records : queue->records;
    triggers = mpixq_realloc(queue->triggers, (size_t)room * sizeof *queue->triggers);
    queue->triggers = triggers != NULL ? triggers : queue->triggers;
    awaited = mpixq_realloc(queue->awaited, (size_t)room * sizeof *queue->awaited);
    queue->awaited = awaited != NULL ? awaited : queue->awaited;
    if (records == NULL || triggers == NULL || awaited == NULL) {
        return false;
    }
    queue->room = room;
    return true;
}

typedef enum mpixq_error (*check_function)(const struct mpixq_queue *,
                                           const struct mpixq_request *);

/* May this request be started on this queue? */
static enum mpixq_error check_start(const struct mpixq_queue *queue,
                                    const struct mpixq_request *req)
{
    switch (mpixq_request_state(req)) {
    case MPIXQ_UNMATCHED:
        return MPIXQ_E_UNMATCHED;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_MATCHED:
        return atomic_load(&req->failed) ? MPIXQ_E_REQUEST_FAILED : MPIXQ_E_NONE;
    case MPIXQ_STARTED:
        return MPIXQ_E_STARTED;
    case MPIXQ_WAITING:
        return atomic_load(&req->queue) == queue ? MPIXQ_E_NONE : MPIXQ_E_OTHER_QUEUE;
    default:
        return MPIXQ_E_REQUEST_FAILED;
    }
}

/* May this queue wait for this request? One that is not started is not waited for. */
static enum mpixq_error check_wait(const struct mpixq_queue *queue, const struct mpixq_request *req)
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
        return atomic_load(&req->queue) == queue ? MPIXQ_E_NONE : MPIXQ_E_OTHER_QUEUE;
    default:
        return MPIXQ_E_REQUEST_FAILED;
    }
}

static uint64_t new_mark(void)
{
    static _Atomic uint64_t last;

    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* Look up all elements into queue->records and check them; *n_p of them are not null. On an
 * error *failed_p is the element, or NULL if it is unknown. Under the queue's lock. */
static enum mpixq_error collect(struct mpixq_queue *queue, int count, MPI_Request requests[],
                                check_function check, int *n_p, struct mpixq_request **failed_p)
{
    uint64_t mark = new_mark();

    *n_p = 0;
    *failed_p = NULL;
    if (!make_room(queue, count)) {
        return MPIXQ_E_NO_MEMORY;
    }
    for (int i = 0; i < count; i++) {
        struct mpixq_request *req;
        enum mpixq_error error;

        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        req = mpixq_request_find(requests[i]);
        if (req == NULL) {
            return MPIXQ_E_UNKNOWN_REQUEST;
        }
        error = check(queue, req);
        if (error == MPIXQ_E_NONE && req->mark == mark) {
            error = MPIXQ_E_TWICE;
        }
        if (error != MPIXQ_E_NONE) {
            *failed_p = req;
            return error;
        }
        req->mark = mark;
        queue->records[(*n_p)++] = req;
    }
    return MPIXQ_E_NONE;
}

/* Lock the queue with checked requests in queue->records, or return the error and leave it
 * unlocked. */
static int lock_checked(struct mpixq_queue *queue, int count, MPI_Request requests[],
                        check_function check, int *n_p, MPI_Comm *comm_p)
{
    struct mpixq_request *failed;
    enum mpixq_error error;

    for (;;) {
        pthread_mutex_lock(&queue->lock);
        if (mpixq_queue_has_failed(queue)) {
            pthread_mutex_unlock(&queue->lock);
            return mpixq_queue_failure(queue, comm_p);
        }
        error = collect(queue, count, requests, check, n_p, &failed);
        if (error == MPIXQ_E_NONE) {
            return MPI_SUCCESS;
        }
        pthread_mutex_unlock(&queue->lock);
        if (error == MPIXQ_E_OTHER_QUEUE) {
            /* It is free if its wait there has completed; to see that takes the other queue's
             * lock. */
            mpixq_queue_settle(failed);
            if (atomic_load(&failed->queue) == NULL) {
                continue;
            }
        }
        *comm_p = failed != NULL ? mpixq_request_comm(failed) : MPI_COMM_NULL;
        return mpixq_error_code(error);
    }
}

static void submit_triggers(struct mpixq_queue *queue, int n)
{
    if (n > 0) {
        queue->ticket = queue->stream->ops->trigger(queue->stream, queue->triggers, n);
        queue->launches++;
    }
}

static void start_one(struct mpixq_queue *queue, struct mpixq_request *req, int *n_triggers)
{
    if (mpixq_request_state(req) == MPIXQ_MATCHED) {
        DL_APPEND2(queue->members, req, prev_member, next_member);
        atomic_store(&req->queue, queue);
    }
    (void)mpixq_request_step(req, MPIXQ_START);
    DL_APPEND2(queue->started, req, prev_started, next_started);
    req->epoch++;
    queue->channels |= UINT32_C(1) << req->channel->id;
    if (req->channel->start(queue, req, &queue->triggers[*n_triggers])) {
        ++*n_triggers;
    }
}

int mpixq_queue_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                      MPI_Comm *comm_p)
{
    int n, n_triggers = 0, rc = lock_checked(queue, count, requests, check_start, &n, comm_p);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    for (int i = 0; i < n; i++) {
        start_one(queue, queue->records[i], &n_triggers);
    }
    submit_triggers(queue, n_triggers);
    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = queue->records[i];

        req->ticket = queue->ticket;
        if (atomic_load(&req->failed)) {
            /* The peer said so after the check, when the request was not the queue's yet. */
            mpixq_queue_fail(queue, req, mpixq_error_code(MPIXQ_E_PEER_FAILED), "peer");
        }
    }
    queue->starts += (uint64_t)n;
    pthread_mutex_unlock(&queue->lock);
    return MPI_SUCCESS;
}

/* Enqueue one wait for the first n records. Under the queue's lock. */
static void wait_records(struct mpixq_queue *queue, int n)
{
    int n_awaited = 0, n_waits = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = queue->records[i];

        if (mpixq_request_state(req) != MPIXQ_STARTED) {
            continue; /* not started, or waited for already */
        }
        (void)mpixq_request_step(req, MPIXQ_WAIT);
        DL_DELETE2(queue->started, req, prev_started, next_started);
        n_waits++;
        if (req->channel->wait(queue, req, &queue->awaited[n_awaited])) {
            n_awaited++;
        }
    }
    if (n_awaited > 0) {
        queue->ticket = queue->stream->ops->await(queue->stream, queue->awaited, n_awaited);
        queue->launches++;
    }
    for (int i = 0; i < n; i++) {
        if (mpixq_request_state(queue->records[i]) == MPIXQ_WAITING) {
            queue->records[i]->ticket = queue->ticket;
        }
    }
    queue->waits += (uint64_t)n_waits;
}

int mpixq_queue_wait(struct mpixq_queue *queue, int count, MPI_Request requests[], MPI_Comm *comm_p)
{
    int n, rc = lock_checked(queue, count, requests, check_wait, &n, comm_p);

    if (rc == MPI_SUCCESS) {
        wait_records(queue, n);
        pthread_mutex_unlock(&queue->lock);
    }
    return rc;
}

int mpixq_queue_wait_started(struct mpixq_queue *queue, MPI_Comm *comm_p)
{
    struct mpixq_request *req;
    int n, rc = lock_checked(queue, 0, NULL, check_wait, &n, comm_p);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    DL_COUNT2(queue->started, req, n, next_started);
    if (make_room(queue, n)) {
        n = 0;
        DL_FOREACH2(queue->started, req, next_started)
        {
            queue->records[n++] = req;
        }
        wait_records(queue, n);
    } else {
        rc = mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    pthread_mutex_unlock(&queue->lock);
    return rc;
}
