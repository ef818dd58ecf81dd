/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Graphs, of the table for CUDA (gpu.h).
 */
#ifndef MPIXQ_CUDA_GRAPH_H
#define MPIXQ_CUDA_GRAPH_H

struct mpixq_gpu_capture;

int mpixq_cuda_capture(void *stream, struct mpixq_gpu_capture *capture_p);
int mpixq_cuda_keep(void *graph, void (*gone)(void *arg), void *arg);
int mpixq_cuda_come_after(void *stream, void *node);

#endif
