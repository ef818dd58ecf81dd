/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts that a graph has captured by one call (replays.h) and that NICs hold for the next launch,
 * whose kernel rings. One counter of each NIC is rung by all launches, once by each; so what is
 * held for launch k waits until it has been rung k times, and whatever is made without does no harm
 * to those that follow.
 *
 * Threads: one at a time drives the replays of a window, and calls these with no lock.
 */
#ifndef MPIXQ_RMA_ROUNDS_H
#define MPIXQ_RMA_ROUNDS_H

#include "ahead.h"

struct mpixq_stream;

/* Zero-filled: nothing is held for it, ever. */
struct mpixq_rma_rounds {
    struct mpixq_rma_ahead ahead;
    struct mpixq_nic_bell *bells; /* NULL: the GPU does not ring */
    uint64_t listed;              /* the launch that something is to be held for; 0: none was */
    bool is_stopped;
};

/* In a capture: may GPUs ring for it? stop is called, under the lock of the window, when they are
 * not to any more. */
void mpixq_rma_rounds_open(struct mpixq_rma_rounds *rounds, struct mpixq_window *window,
                           const struct mpixq_transfer transfers[], int n,
                           const struct mpixq_stream *stream,
                           void (*stop)(struct mpixq_rma_ahead *ahead));
/* Then where this one does: how many, MPIXQ_NIC_BELLS at most. */
int mpixq_rma_rounds_bells(const struct mpixq_rma_rounds *rounds, const struct mpixq_stream *stream,
                           char *at[]);
/* It was never put into a graph. */
void mpixq_rma_rounds_undo(struct mpixq_rma_rounds *rounds);
/* Have it held for that launch. */
void mpixq_rma_rounds_next(struct mpixq_rma_rounds *rounds, uint64_t launch);
/* That launch has rung all of them. False: nothing was held for it. */
bool mpixq_rma_rounds_came(struct mpixq_rma_rounds *rounds);
/* Its queue has failed, and GPUs have been told not to ring. */
void mpixq_rma_rounds_stop(struct mpixq_rma_rounds *rounds);
/* No graph has it any more, which have rung each so often. False: that is not clear yet. */
bool mpixq_rma_rounds_end(struct mpixq_rma_rounds *rounds, uint64_t rings);
/* It may have been rung for, or be so later, but its window ends. */
void mpixq_rma_rounds_close(struct mpixq_rma_rounds *rounds);

#endif
