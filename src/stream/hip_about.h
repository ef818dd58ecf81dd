/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Members of the table of HIP (gpu.h), for mpixq_info.
 */
#ifndef MPIXQ_HIP_ABOUT_H
#define MPIXQ_HIP_ABOUT_H

#include "gpu.h"

int mpixq_hip_count(int *count_p);
int mpixq_hip_describe(int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                       char bus_p[MPIXQ_GPU_NAME_ROOM]);
enum mpixq_gpu_reach mpixq_hip_reach(int from, int to);
int mpixq_hip_use(int device);
int mpixq_hip_alloc(size_t bytes, void **address_p);

#endif
