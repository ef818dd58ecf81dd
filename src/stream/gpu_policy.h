/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * By what a stream tells its GPU to write and wait: kernels or values, that is, stream memory
 * operations. Kernels are the faster ones where a process has the GPU for itself
 * (doc/performance.md). Where processes take turns on one, a kernel that waits keeps the others
 * from it until its time slice ends; values do not.
 *
 * The choice is made when a queue is made, and again under its submission lock: before the first
 * start after a queue was made or a match ended in this process, and before a start in so many,
 * since the others come and go when they like.
 */
#ifndef MPIXQ_GPU_POLICY_H
#define MPIXQ_GPU_POLICY_H

#include "comm/error.h"
#include "gpu_submit.h"

/* Needs the stream and its place, which the calling thread has entered. */
enum mpixq_error mpixq_gpu_lane_choose(struct mpixq_gpu_lane *lane);
/* Before a start; calls no function of the GPU's library. */
void mpixq_gpu_lane_choose_again(struct mpixq_gpu_lane *lane);
void mpixq_gpu_lane_end(struct mpixq_gpu_lane *lane);
/* Every stream chooses again before its next start. Any thread. */
void mpixq_gpu_policy_look_again(void);

#endif
