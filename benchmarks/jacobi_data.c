/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi_data.c - a rank's rows of the grid: in memory of the host and worked on by functions, or
 * in that of a device and by kernels, which are made of the same source
 */
#include "jacobi.h"
#include "kernels_host.h"

#include <stdlib.h>

/* Rows begin at multiples of so many elements, which are a cache line of a GPU; before the first
 * cell there are as many. */
enum { LINE = 16 };

static size_t whole_lines(size_t elements)
{
    return (elements + LINE - 1) / LINE * LINE;
}

/* A block has an element at least behind each row, which nobody writes. */
static size_t grid_bytes(const struct jacobi *jac)
{
    return (LINE + jac->rows * jac->stride) * sizeof(double);
}

static void create_set(const struct jacobi *jac, struct jacobi_set *set)
{
    size_t bytes = jac->block * sizeof(double);

    set->own_send = bench_memory(bytes);
    set->own_recv = bench_memory(bytes);
    set->mpi_send = bench_staging(set->own_send, bytes);
    set->mpi_recv = bench_staging(set->own_recv, bytes);
}

static size_t num_blocks(const struct jacobi *jac)
{
    return 2 * BENCH_JACOBI_EDGE_BLOCKS(jac->side) +
           BENCH_JACOBI_INSIDE_BLOCKS(jac->rows, jac->side);
}

void jacobi_create(struct jacobi *jac, size_t side)
{
    unsigned long long zero = 0;

    jac->side = side;
    jac->first = jacobi_first(side, jac->rank, jac->ranks);
    jac->rows = jacobi_first(side, jac->rank + 1, jac->ranks) - jac->first;
    jac->stride = whole_lines(side + 2);
    jac->row = whole_lines(side + 1);
    jac->block = 2 * jac->row + LINE;
    for (int i = 0; i < 2; i++) {
        jac->memory[i] = bench_memory(grid_bytes(jac));
        jac->grids[i] = jac->memory[i] + LINE;
    }
    jac->image = bench_alloc(grid_bytes(jac));
    jac->partials = bench_memory(num_blocks(jac) * sizeof(double));
    jac->count = bench_memory(sizeof *jac->count);
    bench_memory_copy(jac->count, &zero, sizeof zero);
    for (int s = 0; s < JACOBI_SETS; s++) {
        create_set(jac, &jac->sets[s]);
    }
}

void jacobi_destroy(struct jacobi *jac)
{
    for (int s = 0; s < JACOBI_SETS; s++) {
        bench_staging_free(jac->sets[s].mpi_send);
        bench_staging_free(jac->sets[s].mpi_recv);
        bench_memory_free(jac->sets[s].own_send);
        bench_memory_free(jac->sets[s].own_recv);
        bench_memory_free(jac->memory[s]);
    }
    bench_memory_free(jac->partials);
    bench_memory_free(jac->count);
    free(jac->image);
}

/* A step of this parity. */
static struct bench_jacobi step_of(const struct jacobi *jac, int parity, bool adds)
{
    const struct jacobi_set *in = &jac->sets[parity], *out = &jac->sets[1 - parity];

    return (struct bench_jacobi){.from = jac->grids[parity],
                                 .to = jac->grids[1 - parity],
                                 .rows = jac->rows,
                                 .columns = jac->side,
                                 .stride = jac->stride,
                                 .above = in->recv,
                                 .below = in->recv + jac->row,
                                 .first = out->send,
                                 .last = out->send + jac->row,
                                 .partials = jac->partials,
                                 .own = out->send + 2 * jac->row,
                                 .count = jac->count,
                                 .adds = adds};
}

static struct bench_jacobi_start start_of(const struct jacobi *jac)
{
    return (struct bench_jacobi_start){.grids = {jac->grids[0], jac->grids[1]},
                                       .rows = jac->rows,
                                       .columns = jac->side,
                                       .stride = jac->stride,
                                       .first = jac->first,
                                       .side = jac->side,
                                       .send = {jac->sets[0].send, jac->sets[1].send},
                                       .recv = {jac->sets[0].recv, jac->sets[1].recv},
                                       .row = jac->row,
                                       .block = jac->block};
}

static void take_blocks(struct jacobi *jac, enum bench_mode mode)
{
    bool linked = bench_mode_is_baseline(mode);

    for (int s = 0; s < JACOBI_SETS; s++) {
        struct jacobi_set *set = &jac->sets[s];

        set->send = linked ? (double *)(void *)set->links[mode].send : set->own_send;
        set->recv = linked ? (double *)(void *)set->links[mode].recv : set->own_recv;
        for (size_t i = 0; i < jac->block; i++) {
            set->mpi_recv[i] = JACOBI_NOTHING;
        }
    }
}

void jacobi_begin(void *ctx, enum bench_mode mode)
{
    struct jacobi *jac = ctx;
    void *parameters[] = {&jac->start};

    take_blocks(jac, mode);
    for (int s = 0; s < JACOBI_SETS; s++) {
        jac->steps[s][false] = step_of(jac, s, false);
        jac->steps[s][true] = step_of(jac, s, true);
    }
    jac->start = start_of(jac);
    if (bench_on_device()) {
        bench_device_start(BENCH_KERNEL_JACOBI_START,
                           (jac->rows * (jac->side + 2) + BENCH_JACOBI_THREADS - 1) /
                               BENCH_JACOBI_THREADS,
                           1, BENCH_JACOBI_THREADS, parameters);
        bench_device_synchronize();
    } else {
        bench_jacobi_start(jac->start);
    }
}

/* ---- Work ------------------------------------------------------------------------------------ */

static size_t inside_blocks(const struct bench_jacobi *step)
{
    return (size_t)BENCH_JACOBI_INSIDE_BLOCKS(step->rows, step->columns);
}

size_t jacobi_blocks(const struct bench_jacobi *step)
{
    return (size_t)(2 * BENCH_JACOBI_EDGE_BLOCKS(step->columns)) + inside_blocks(step);
}

static void launch(void *arg, uint64_t part, size_t blocks)
{
    void *parameters[] = {arg, &part};

    bench_device_start(BENCH_KERNEL_JACOBI_STEP, blocks, 1, BENCH_JACOBI_THREADS, parameters);
}

static void call_edges(void *arg)
{
    bench_jacobi_step(*(struct bench_jacobi *)arg, BENCH_JACOBI_EDGES);
}

static void launch_edges(void *arg)
{
    launch(arg, BENCH_JACOBI_EDGES, jacobi_blocks(arg) - inside_blocks(arg));
}

static void call_inside(void *arg)
{
    bench_jacobi_step(*(struct bench_jacobi *)arg, BENCH_JACOBI_INSIDE);
}

/* One adds up, if there is nothing else. */
static void launch_inside(void *arg)
{
    size_t blocks = inside_blocks(arg);

    launch(arg, BENCH_JACOBI_INSIDE, blocks > 0 ? blocks : 1);
}

static void call_whole(void *arg)
{
    bench_jacobi_step(*(struct bench_jacobi *)arg, BENCH_JACOBI_WHOLE);
}

static void launch_whole(void *arg)
{
    launch(arg, BENCH_JACOBI_WHOLE, jacobi_blocks(arg));
}

const struct bench_work jacobi_edges = {call_edges, launch_edges};
const struct bench_work jacobi_inside = {call_inside, launch_inside};
const struct bench_work jacobi_whole = {call_whole, launch_whole};
