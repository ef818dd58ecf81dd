/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues: requests in the order of a stream. A queue checks the states of requests, asks each
 * request's channel what its start or wait means, and submits that to the stream as one
 * operation per call.
 *
 * Threads. The queue's lock makes checking, stepping and submitting one action; a submission
 * may wait for room in the stream under it, so neither streams nor the progress thread ever
 * take it. What they need is atomic or under fail_lock.
 */
#ifndef MPIXQ_QUEUE_H
#define MPIXQ_QUEUE_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "error.h"
#include "mpix_queue.h"
#include "request.h"
#include "stream/stream.h"

struct mpixq_comm;

struct mpixq_queue {
    atomic_uint magic; /* LIVE or not; memory of a queue is reused but never given back */
    MPIXQ_Queue_type type;
    struct mpixq_stream *stream;
    bool owns_stream;
    struct mpixq_queue *next_spare;

    pthread_mutex_t lock;
    /* Under lock. */
    struct mpixq_request *members; /* every request that belongs to the queue */
    struct mpixq_request *started; /* those of them that no wait was enqueued for */
    uint64_t ticket;               /* of the last submission */
    uint64_t starts, waits, launches;
    uint32_t channels; /* used so far, as bits */
    int room;          /* elements in each of the arrays below, which one call fills */
    struct mpixq_request **records;
    struct mpixq_trigger *triggers;
    struct mpixq_awaited *awaited;

    /* Counted by channels, any thread. */
    _Atomic uint64_t posts, rings;

    pthread_mutex_t fail_lock;
    atomic_int failed;              /* first error, an MPI code; written once under fail_lock */
    struct mpixq_comm *failed_comm; /* of the request it came from */
};

/* All of these return an MPI code and, in *comm_p, the communicator whose handler is to be
 * invoked for it; MPI_COMM_NULL stands for MPI_COMM_WORLD. They invoke none themselves. */
int mpixq_queue_create(MPIXQ_Queue_type type, const char *kind, void *handle,
                       struct mpixq_queue **queue_p);
int mpixq_queue_destroy(struct mpixq_queue *queue);
int mpixq_queue_synchronize(struct mpixq_queue *queue, MPI_Comm *comm_p);
int mpixq_queue_test(struct mpixq_queue *queue, int *flag, MPI_Comm *comm_p);
int mpixq_queue_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                      MPI_Comm *comm_p);
int mpixq_queue_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                     MPI_Comm *comm_p);
int mpixq_queue_wait_started(struct mpixq_queue *queue, MPI_Comm *comm_p);
int mpixq_queue_info(struct mpixq_queue *queue, MPI_Info *info_p);

/* The first error of the queue, or MPI_SUCCESS. */
int mpixq_queue_failure(struct mpixq_queue *queue, MPI_Comm *comm_p);

bool mpixq_queue_is_live(const struct mpixq_queue *queue);
/* If the last wait of a request has completed, or its queue has failed, take it from its queue. */
void mpixq_queue_settle(struct mpixq_request *req);
/* A start or wait of req failed with an MPI code, or its peer says so. Any thread but a holder
 * of fail_lock. */
void mpixq_queue_fail(struct mpixq_queue *queue, struct mpixq_request *req, int code,
                      const char *operation);
/* In MPI_Finalize: fail every live queue, so that its stream drains, and free it. Returns how
 * many there were. */
int mpixq_queues_close(void);

static inline bool mpixq_queue_has_failed(const struct mpixq_queue *queue)
{
    return atomic_load_explicit(&queue->failed, memory_order_acquire) != MPI_SUCCESS;
}

#endif
