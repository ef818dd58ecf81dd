/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The doorbells by which streams of GPUs ring for puts that are enqueued (ahead.h), one for each
 * part. A call that enqueues takes them, so they are of whatever NICs have them free, and the part
 * is held by that NIC later. It takes no lock. One that is captured takes one of each NIC, for all
 * parts that this is to hold.
 */
#ifndef MPIXQ_RMA_BELLS_H
#define MPIXQ_RMA_BELLS_H

#include "ahead.h"

struct mpixq_op;
struct mpixq_stream;

/* Enqueue time: as many as it has parts, or in a capture NICs, if the stream is of a GPU that sees
 * them; or none. */
void mpixq_rma_bells_take(struct mpixq_rma_ahead *ahead, const struct mpixq_stream *stream);
/* That of the part behind the one that has this; NULL: there are none. */
struct mpixq_nic_bell *mpixq_rma_bells_next(const struct mpixq_rma_ahead *ahead,
                                            const struct mpixq_nic_bell *bell);
/* What the GPU is to do, before the call by which the stream's thread follows: how many operations,
 * MPIXQ_AHEAD_PARTS at most. */
int mpixq_rma_bells_fill(const struct mpixq_rma_ahead *ahead, struct mpixq_op list[]);
/* Under the lock of the window: give back those by which nothing is held. is_rung: the stream has
 * come past them; else it may, or has. */
void mpixq_rma_bells_give(struct mpixq_rma_ahead *ahead, bool is_rung);

#endif
