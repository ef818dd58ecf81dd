/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues: requests in the order of a stream. A queue checks the states of requests, asks each
 * request's channel what its start or wait means, and submits that to the stream as one
 * operation per call.
 *
 * Threads. The queue's turn makes checking, stepping and submitting one action. A submission
 * may wait for room in the stream meanwhile, or for a GPU's library; then it lends the turn, and
 * calls that must not block only borrow it. Neither streams nor the progress thread ever take it:
 * what they need is atomic or under fail_lock. Enqueueing takes no lock beside it, does
 * not allocate once the arrays are large enough, and makes no system call unless the stream sleeps
 * or is full.
 */
#ifndef MPIXQ_QUEUE_H
#define MPIXQ_QUEUE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "channel.h"
#include "error.h"
#include "fault.h"
#include "lock.h"
#include "mpix_queue.h"
#include "request.h"
#include "stream/stream.h"
#include "thread.h"

struct mpixq_comm;

struct mpixq_queue {
    atomic_uint magic; /* LIVE or not; memory of a queue is reused but never given back */
    MPIXQ_Queue_type type;
    struct mpixq_stream *stream;
    bool owns_stream;
    uint64_t number; /* for people: which queue of this process it is */
    struct mpixq_queue *next_spare;
    void *own[MPIXQ_N_CHANNELS]; /* what channels keep for it */

    struct mpixq_turn turn;
    /* In turn. */
    struct mpixq_request *members; /* every request that belongs to the queue */
    struct mpixq_pair *started;    /* started on it, and no wait was enqueued for them */
    uint64_t ticket;               /* of the last submission */
    uint64_t mark;                 /* of the last array call; no two queues have the same */
    uint64_t capture;              /* of its stream, while calls put something into it */
    _Atomic(struct mpixq_request *) first_found; /* as followed_by of requests */
    uint64_t starts, waits, launches;
    uint64_t by_channel[MPIXQ_N_CHANNELS]; /* starts */
    int room;                              /* elements in both arrays below, which one call fills */
    struct mpixq_pair **pairs;
    struct mpixq_op *list; /* what is submitted for them */

    /* Counted by channels, any thread. */
    _Atomic uint64_t posts, rings;
    _Atomic uint64_t stalls; /* starts that the budget of the NIC had no room for in time */

    /* The completion word of what the host waits for without the stream, or NULL. Written by the
     * thread that waits, read by the watchdog. */
    _Atomic(const _Atomic uint64_t *) host_waits_for;
    atomic_bool is_freed; /* it has failed, and its free waits for the stream; for the watchdog */
    /* Of the watchdog, under the matching lock: starts that its stream does not get to. */
    uint64_t behind_look; /* in which they were counted last */
    unsigned behind;
    struct mpixq_request *first_behind;
    struct mpixq_queue *next_behind;
    struct mpixq_age behind_age;

    /* Since it was looked at last, the peer of a member has said that it failed: then that may have
     * been complete. Any thread. */
    atomic_bool told;
    struct mpixq_lock fail_lock;
    atomic_int failed;              /* first error, an MPI code; written once under fail_lock */
    struct mpixq_comm *failed_comm; /* of the request it came from */
    struct mpixq_fault failed_at;   /* that request; it may be freed since */
};

/* All of these return an MPI code and, where it is an error, in *fault_p what it is about. They
 * invoke no error handler themselves. */
int mpixq_queue_create(MPIXQ_Queue_type type, const char *kind, void *const *address,
                       struct mpixq_queue **queue_p);
int mpixq_queue_destroy(struct mpixq_queue *queue);
int mpixq_queue_synchronize(struct mpixq_queue *queue, struct mpixq_fault *fault_p);
int mpixq_queue_test(struct mpixq_queue *queue, int *flag, struct mpixq_fault *fault_p);
int mpixq_queue_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                      struct mpixq_fault *fault_p);
int mpixq_queue_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                     struct mpixq_fault *fault_p);
int mpixq_queue_wait_started(struct mpixq_queue *queue, struct mpixq_fault *fault_p);
int mpixq_queue_info(struct mpixq_queue *queue, MPI_Info *info_p);
/* The handle of its stream. */
void *mpixq_queue_stream(struct mpixq_queue *queue);
/* What its type promises (queue_type.c): can it be kept by a queue on such a stream, as far as that
 * is known? An MPI code. And that of a type whose channel could not be opened. */
int mpixq_queue_type_check(MPIXQ_Queue_type type, const struct mpixq_stream_ops *ops);
int mpixq_queue_type_unusable(void);
const char *mpixq_queue_type_name(MPIXQ_Queue_type type);
/* May the queue start a matched request? If not, what is to be said of it. */
enum mpixq_error mpixq_queue_type_admits(const struct mpixq_queue *queue,
                                         const struct mpixq_request *req);
void mpixq_queue_type_explain(const struct mpixq_queue *queue, const struct mpixq_request *req,
                              struct mpixq_channel_choice *choice_p);
/* What it is made on. */
void mpixq_queue_print(const struct mpixq_queue *queue);

/* Its first failure, once, under fail_lock where others may know the queue: its waits drain. */
void mpixq_queue_set_failed(struct mpixq_queue *queue, int code);
/* The first error of the queue, or MPI_SUCCESS. */
int mpixq_queue_failure(struct mpixq_queue *queue, struct mpixq_fault *fault_p);

/* If its stream executes nothing more, the queue has failed. In turn, or by who waits for it. */
void mpixq_queue_look(struct mpixq_queue *queue);

bool mpixq_queue_is_live(const struct mpixq_queue *queue);
/* Call visit for each live queue, one after the other, in its turn. Any thread that has no turn. */
void mpixq_queues_each(void (*visit)(struct mpixq_queue *queue, void *arg), void *arg);
/* If the last wait of a request has completed, or its queue has failed, take it from its queue. */
void mpixq_queue_settle(struct mpixq_request *req);
/* A start or wait of a pair failed with an MPI code, or its peer says so. Any thread but a holder
 * of fail_lock. A queue of NULL: the host has started it, and the code is kept with the pair. */
void mpixq_queue_fail(struct mpixq_queue *queue, struct mpixq_pair *pair, int code,
                      const char *operation);
/* Of a queue that was told: take from it what is complete and has failed, so that to start that is
 * refused; and, in turn, fail it if one of the n pairs that have just been started had failed. */
__attribute__((cold)) void mpixq_queue_part_told(struct mpixq_queue *queue);
__attribute__((cold)) void mpixq_queue_fail_told(struct mpixq_queue *queue, int n);
/* In MPI_Finalize: fail every live queue, so that its stream drains, and free it. Returns how
 * many there were. */
int mpixq_queues_close(void);

static inline bool mpixq_queue_has_failed(const struct mpixq_queue *queue)
{
    return atomic_load_explicit(&queue->failed, memory_order_acquire) != MPI_SUCCESS;
}

/* In one order with the steps of requests: see mpixq_match_record_failure. */
static inline bool mpixq_queue_was_told(const struct mpixq_queue *queue)
{
    return __builtin_expect(atomic_load(&queue->told), false);
}

#endif
