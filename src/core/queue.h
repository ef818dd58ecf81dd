/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A queue as all who meet it know it, and its first failure, which needs nothing else of it: so
 * whoever finds a failure may announce it. What queues do is in queue/queues.h.
 *
 * Threads. The submission lock makes checking, stepping and submitting one action. A submission
 * may wait for room in the stream meanwhile, or for a GPU's library; then it lends the lock, and
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
#include "comm/error.h"
#include "fault.h"
#include "mpix_queue.h"
#include "request.h"
#include "util/lock.h"
#include "util/thread.h"

struct mpixq_comm;
struct mpixq_op;
struct mpixq_rma_calls;
struct mpixq_stream;

struct mpixq_queue {
    atomic_uint magic; /* LIVE or not; memory of a queue is reused but never given back */
    MPIXQ_Queue_type type;
    struct mpixq_stream *stream;
    bool owns_stream;
    _Atomic uint64_t number; /* which queue of this process it is: for people, and windows */
    struct mpixq_queue *next_spare;
    void *own[MPIXQ_N_CHANNELS]; /* what channels keep for it */

    struct mpixq_submission submission;
    /* Under the submission lock. */
    struct mpixq_request *members; /* every request that belongs to the queue */
    struct mpixq_pair *started;    /* started on it, and no wait was enqueued for them */
    uint64_t ticket;               /* of the last submission */
    uint64_t mark;                 /* of the last array call; no two queues have the same */
    uint64_t capture;              /* of its stream, while calls put something into it */
    _Atomic(struct mpixq_request *) first_found; /* as followed_by of requests */
    uint64_t starts, waits, launches;
    uint64_t by_channel[MPIXQ_N_CHANNELS]; /* starts */
    /* Requests for which both arrays below have room, which one call fills; operations for each of
     * these, and how many a request of the queue takes, or a call is about to need. */
    int room, each, wanted;
    bool in_lists; /* a call for some of its requests may take several (enqueue_lists.c) */
    struct mpixq_pair **pairs;
    struct mpixq_op *list;         /* what is submitted for them */
    struct mpixq_rma_calls *calls; /* of rma; stays with the memory */

    int nics; /* that serve its pairs on the channel cxi; written when it is made */

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
    atomic_int halted;              /* the same, once its stream rings no more: then waits end */
    struct mpixq_comm *failed_comm; /* of the request it came from */
    struct mpixq_fault failed_at;   /* that request; it may be freed since */
};

/* Its first failure, once, under fail_lock where others may know the queue: its waits drain. */
void mpixq_queue_set_failed(struct mpixq_queue *queue, int code);
/* The first error of the queue, or MPI_SUCCESS. */
int mpixq_queue_failure(struct mpixq_queue *queue, struct mpixq_fault *fault_p);
/* If its stream executes nothing more, the queue has failed. Under the submission lock, or by who
 * waits for it. */
void mpixq_queue_look(struct mpixq_queue *queue);
/* A start or wait of a pair failed with an MPI code, or its peer says so. Any thread but a holder
 * of fail_lock. A queue of NULL: the host has started it, and the code is kept with the pair. */
void mpixq_queue_fail(struct mpixq_queue *queue, struct mpixq_pair *pair, int code,
                      const char *operation);
/* Something that is no pair's failed with an MPI code; MPI_SUCCESS: nothing did. Any thread but a
 * holder of fail_lock. */
void mpixq_queue_fail_alone(struct mpixq_queue *queue, int code);
/* Of a queue that was told, under its submission lock: fail it if one of the n pairs that have just
 * been started had failed. */
__attribute__((cold)) void mpixq_queue_fail_told(struct mpixq_queue *queue, int n);

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
