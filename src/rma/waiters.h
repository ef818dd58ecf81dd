/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Who still has something to do with a signal or a window: streams of queues, and graphs. Threads
 * of the program, under no lock unless said otherwise.
 */
#ifndef MPIXQ_RMA_WAITERS_H
#define MPIXQ_RMA_WAITERS_H

#include "window.h"

/* The place of a queue among those that wait for a signal, or NULL: no memory; and that the last
 * submission is such. The latter in turn. */
struct mpixq_rma_waiter *mpixq_rma_waiter_of(struct mpixq_signal *signal,
                                             struct mpixq_queue *queue);
void mpixq_rma_waiter_note(struct mpixq_rma_waiter *waiter, const struct mpixq_queue *queue);
/* Has the stream of the queue with this number not passed the ticket? A queue that was freed has
 * nothing left to do. */
bool mpixq_rma_is_under_way(struct mpixq_queue *queue, uint64_t number, uint64_t ticket);
/* Does a graph have it, of which so many do? What its library tells of its end may come a little
 * after that, so it is waited for. */
bool mpixq_rma_graphs_have(const atomic_long *graphs);

#endif
