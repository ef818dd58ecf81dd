/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Who still has something to do with a signal or a window: streams of queues, and graphs. Threads
 * of the program, under no lock unless said otherwise.
 */
#ifndef MPIXQ_RMA_WAITERS_H
#define MPIXQ_RMA_WAITERS_H

#include "window.h"

/* A queue whose stream waits for a signal or resets it. It is used by one after the other, and its
 * counts go on. */
struct mpixq_rma_waiter {
    struct mpixq_signal *signal;
    struct mpixq_queue *queue;
    uint64_t queue_number;   /* tells it from later queues in its memory */
    uint64_t ticket;         /* of the last of them */
    uint64_t resets;         /* that were enqueued; under the submission lock */
    _Atomic uint64_t awaits; /* the last round that a wait was enqueued for; likewise */
    _Atomic uint64_t made;   /* of these; by the stream's thread, as what follows */
    /* Waits of signals that graphs have something of: how many were enqueued, under the submission
     * lock; how many the stream has come to, for which round; and how many of these are over. */
    uint64_t asked;
    _Atomic uint64_t round, begun, ended;
    struct mpixq_rma_waiter *next;
};

/* The place of a queue among those that wait for a signal, or NULL: no memory; and that the last
 * submission is such. The latter under the submission lock. */
struct mpixq_rma_waiter *mpixq_rma_waiter_of(struct mpixq_signal *signal,
                                             struct mpixq_queue *queue);
void mpixq_rma_waiter_note(struct mpixq_rma_waiter *waiter, const struct mpixq_queue *queue);
/* A wait for this round is about to be submitted; under the submission lock. And was a reset not
 * made that such a wait stands behind, as its queue has failed? Then nothing may ever end the wait:
 * an MPI code. Whoever polls for the stream. */
void mpixq_rma_waiter_await(struct mpixq_rma_waiter *waiter, uint64_t round);
int mpixq_rma_waiter_lacks(const struct mpixq_rma_waiter *waiter);
/* Is the wait over that the stream has come to last, if it had to ask for its round? Then it is
 * told so. Whoever polls for the stream. */
void mpixq_rma_waiter_look(struct mpixq_rma_waiter *waiter);
/* Has the stream of the queue with this number not passed the ticket? A queue that was freed has
 * nothing left to do. */
bool mpixq_rma_is_under_way(struct mpixq_queue *queue, uint64_t number, uint64_t ticket);
/* Have the queue with this number fail, if it is still there, with an MPI code; MPI_SUCCESS:
 * nothing has failed. Any thread that has no submission lock. */
void mpixq_rma_fail_queue(struct mpixq_queue *queue, uint64_t number, int code);
/* Does a graph have it, of which so many do? What its library tells of its end may come a little
 * after that, so it is waited for. */
bool mpixq_rma_graphs_have(const atomic_long *graphs);

#endif
