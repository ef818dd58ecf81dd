/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels as functions of the host.
 */
#ifndef MPIXQ_BENCH_KERNELS_HOST_H
#define MPIXQ_BENCH_KERNELS_HOST_H

#include <stdint.h>

#include "kernels.h"
#include "kernels_cg.h"
#include "kernels_fused.h"
#include "kernels_jacobi.h"
#include "kernels_puts.h"

void bench_words(const uint64_t *from, uint64_t *to, uint64_t add, uint64_t words, uint64_t stride,
                 uint64_t messages);
void bench_strips(struct bench_strips all);
void bench_life(struct bench_board board);
void bench_bounce(struct bench_bounce all);
void bench_delay(uint64_t nanoseconds);
void bench_product(const float *a, const float *b, float *c, uint64_t side);

void bench_cg_start(struct bench_cg all);
void bench_cg_pack(struct bench_cg all);
void bench_cg_multiply(struct bench_cg all);
void bench_cg_step(struct bench_cg all);
void bench_cg_turn(struct bench_cg all);
void bench_cg_pipe(struct bench_cg all);
void bench_cg_sum(struct bench_cg all, uint64_t of);

void bench_jacobi_start(struct bench_jacobi_start all);
void bench_jacobi_step(struct bench_jacobi all, uint64_t part);
void bench_jacobi_open(struct bench_jacobi_fused all);
void bench_jacobi_fused(struct bench_jacobi_fused all);

void bench_fused(struct bench_fused all);
void bench_halo(struct bench_halo all);
void bench_puts(struct bench_device_puts all);
void bench_loop(struct bench_loop all);
void bench_put_loop(struct bench_put_loop all);

#endif
