/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_jacobi.c - the kernels of benchmarks/kernels_jacobi.inc, of which one call does what a
 * grid of any size does
 */
#include "kernels.h"
#include "double.h"

void bench_jacobi_start(struct bench_jacobi_start all) __attribute__((weak));
void bench_jacobi_step(struct bench_jacobi all, uint64_t part) __attribute__((weak));
void bench_jacobi_open(struct bench_jacobi_fused all) __attribute__((weak));
void bench_jacobi_fused(struct bench_jacobi_fused all) __attribute__((weak));

/* From the cell on the border beside the first one. */
static void *reach_grid(const double *cell, const struct bench_jacobi *all)
{
    size_t elements = (all->rows - 1) * all->stride + all->columns + 2;

    return (double *)hip_double_reach(cell - 1, elements * sizeof(double)) + 1;
}

static struct bench_jacobi jacobi_of(const struct bench_jacobi *step)
{
    struct bench_jacobi all = *step;
    size_t row = all.columns * sizeof(double);
    size_t blocks = 2 * BENCH_JACOBI_EDGE_BLOCKS(all.columns) +
                    BENCH_JACOBI_INSIDE_BLOCKS(all.rows, all.columns);

    all.from = reach_grid(all.from, &all);
    all.to = reach_grid(all.to, &all);
    all.above = hip_double_reach(all.above, row);
    all.below = hip_double_reach(all.below, row);
    all.first = hip_double_reach(all.first, row);
    all.last = hip_double_reach(all.last, row);
    all.partials = hip_double_reach(all.partials, blocks * sizeof(double));
    all.own = hip_double_reach(all.own, sizeof(double));
    all.count = hip_double_reach(all.count, sizeof(*all.count));
    return all;
}

void hip_run_jacobi_start(const void *parameters)
{
    struct bench_jacobi_start all = *(const struct bench_jacobi_start *)parameters;
    const struct bench_jacobi grid = {
        .rows = all.rows, .columns = all.columns, .stride = all.stride};

    for (int i = 0; i < 2; i++) {
        all.grids[i] = reach_grid(all.grids[i], &grid);
        all.send[i] = hip_double_reach(all.send[i], all.block * sizeof(double));
        all.recv[i] = hip_double_reach(all.recv[i], all.block * sizeof(double));
    }
    bench_jacobi_start(all);
}

void hip_run_jacobi_step(const void *parameters)
{
    const struct {
        struct bench_jacobi all;
        uint64_t part;
    } *p = parameters;

    bench_jacobi_step(jacobi_of(&p->all), p->part);
}

static struct bench_jacobi_fused fused_of(const void *parameters)
{
    struct bench_jacobi_fused all = *(const struct bench_jacobi_fused *)parameters;

    all.cells = jacobi_of(&all.cells);
    all.before = hip_double_reach(all.before, sizeof(double));
    all.total = hip_double_reach(all.total, sizeof(double));
    for (int i = 0; i < 2; i++) {
        hip_reach_handle(&all.send[i]);
        hip_reach_handle(&all.recv[i]);
    }
    for (unsigned long long i = 0; i < all.others; i++) {
        hip_reach_handle(&all.send_sum[i]);
        hip_reach_handle(&all.recv_sum[i]);
    }
    return all;
}

void hip_run_jacobi_open(const void *parameters)
{
    bench_jacobi_open(fused_of(parameters));
}

void hip_run_jacobi_fused(const void *parameters)
{
    bench_jacobi_fused(fused_of(parameters));
}
