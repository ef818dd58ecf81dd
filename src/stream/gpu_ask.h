/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a thread of the program can ask of a stream of a GPU, and does no harm to streams that are
 * captured into a graph.
 */
#ifndef MPIXQ_GPU_ASK_H
#define MPIXQ_GPU_ASK_H

#include "gpu_submit.h"

/* A handle of a default stream means another one in each place, or thread. */
bool mpixq_gpu_is_default(const void *handle);
/* Does the handle mean another stream in the calling thread? */
bool mpixq_gpu_is_elsewhere(const struct mpixq_gpu_lane *lane);
/* is_capturing of gpu.h. Not elsewhere. *is_lost_p: the place was reset since the stream was
 * opened; asked of a default stream, and of one that the library knows no more. */
bool mpixq_gpu_is_captured(const struct mpixq_gpu_lane *lane, bool *is_lost_p);
/* NULL, or why it runs no more, as far as that can be asked. */
const char *mpixq_gpu_ask(const struct mpixq_gpu_lane *lane);

#endif
