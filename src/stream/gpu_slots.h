/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Waits of which a GPU copies the message out of a slot of the host's memory.
 */
#ifndef MPIXQ_GPU_SLOTS_H
#define MPIXQ_GPU_SLOTS_H

#include "stream.h"

/* The GPU does this wait by itself, if its kernels reach all that it takes: then no thread of the
 * host copies this message. False: the worker does, and the stream then copies out of a staging
 * buffer. Under the submission lock of the queue. */
bool mpixq_gpu_slots_claim(const struct mpixq_stream *stream, struct mpixq_op *op);
/* Of a wait that was claimed: what its kernel is told, as word i. */
void mpixq_gpu_slots_add(struct mpixq_words *all, unsigned i, const struct mpixq_op *op);

#endif
