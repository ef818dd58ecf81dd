/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels.h - kernels that stand in other files than kernels.c, and what they have in common
 */
#ifndef MPIXQ_HIP_DOUBLE_KERNELS_H
#define MPIXQ_HIP_DOUBLE_KERNELS_H

#include "../../benchmarks/kernels_jacobi.h"
#include "../../benchmarks/kernels_puts.h"

/* Where this process reaches what a handle stands for. */
void hip_reach_handle(struct mpixq_device_request *r);
void hip_reach_transfer(struct mpixq_device_transfer *transfer);

/* Kernels of benchmarks (kernels_loop.c). */
void hip_run_bench_puts(const void *parameters);
void hip_run_bench_loop(const void *parameters);
void hip_run_bench_put_loop(const void *parameters);

void hip_run_jacobi_start(const void *parameters);
void hip_run_jacobi_step(const void *parameters);
void hip_run_jacobi_open(const void *parameters);
void hip_run_jacobi_fused(const void *parameters);

#endif
