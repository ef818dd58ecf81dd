/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Graphs, of the table for HIP (gpu.h).
 */
#ifndef MPIXQ_HIP_GRAPH_H
#define MPIXQ_HIP_GRAPH_H

struct mpixq_gpu_capture;

int mpixq_hip_capture(void *stream, struct mpixq_gpu_capture *capture_p);
int mpixq_hip_keep(void *graph, void (*gone)(void *arg), void *arg);
int mpixq_hip_come_after(void *stream, void *node);

#endif
