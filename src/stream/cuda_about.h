/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Members of the table of CUDA (gpu.h), for mpixq_info.
 */
#ifndef MPIXQ_CUDA_ABOUT_H
#define MPIXQ_CUDA_ABOUT_H

#include "gpu.h"

int mpixq_cuda_count(int *count_p);
int mpixq_cuda_describe(int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                        char bus_p[MPIXQ_GPU_NAME_ROOM]);
enum mpixq_gpu_reach mpixq_cuda_reach(int from, int to);
int mpixq_cuda_use(int device);

#endif
