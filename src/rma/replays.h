/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What graphs have captured of windows in memory of the host: puts, waits and resets, which a
 * thread of the host makes each time that a graph is launched. Each has words of its own, as pairs
 * have tallies (core/tally.h): a kernel says there that the stream has come to it, who drives makes
 * it, and a kernel waits until the words say so. So a reset is over, and a wait has ended, before
 * what stands behind in the graph; a put is only announced, and waits for its own last time.
 *
 * Threads. Captures add to a list of the window; one thread at a time drives it, which may be any.
 * The GPU's library tells, in a thread of its own, when a graph is gone.
 */
#ifndef MPIXQ_RMA_REPLAYS_H
#define MPIXQ_RMA_REPLAYS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "blk.h"

struct mpixq_queue;
struct mpixq_rma_replay;
struct mpixq_signal;
struct mpixq_window;

/* Of a window. */
struct mpixq_rma_replays {
    _Atomic(struct mpixq_rma_replay *) added; /* by captures, the last one first */
    struct mpixq_rma_replay *first;           /* all others, in this order; of who drives */
    atomic_bool is_driven;
};

/* Put it into the graph that the stream of a live queue is captured into. The transfers are those
 * of one window, and copied. An MPI code. */
int mpixq_rma_capture_puts(struct mpixq_queue *queue, struct mpixq_window *window,
                           const struct mpixq_transfer transfers[], int n);
int mpixq_rma_capture_wait(struct mpixq_queue *queue, struct mpixq_signal *signal);
int mpixq_rma_capture_reset(struct mpixq_queue *queue, struct mpixq_signal *signal);
int mpixq_rma_capture_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal);

/* Make what streams have come to by now, under no lock. insists: also if another thread is at it,
 * which is waited for. */
void mpixq_rma_replays_drive(struct mpixq_window *window, bool insists);
/* Is there something that a stream has come to, and that is not made? Under no lock; a thread that
 * drives just now counts as such. */
bool mpixq_rma_replays_any(struct mpixq_window *window);
/* In MPI_Finalize: nothing more is made, and all waits end, now and in later launches. */
void mpixq_rma_replays_close(struct mpixq_window *window);

#endif
