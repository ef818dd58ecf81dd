/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg_data.c - a rank's part of the system: in memory of the host and worked on by functions, or in
 * that of a device and by kernels, which are made of the same source
 */
#include "cg.h"
#include "kernels_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double guard = -1.5;

/* In memory of the device, or of the host, with room for one element more: there may be none. */
static void *make_copy(const void *from, size_t bytes)
{
    void *memory = bench_memory(bytes + sizeof(double));

    if (bytes > 0) {
        bench_memory_copy(memory, from, bytes);
    }
    return memory;
}

static double *make_vector(size_t elements)
{
    double *zeros = bench_alloc((elements + 1) * sizeof *zeros), *vector;

    zeros[elements] = guard;
    vector = make_copy(zeros, (elements + 1) * sizeof *zeros);
    free(zeros);
    return vector;
}

/* Slices of rows (kernels_cg.h). What fills them is 0 times an element that is there. */
static void slice_matrix(const struct matrix *mine, struct bench_cg *all)
{
    size_t slices = (mine->rows + BENCH_CG_SLICE - 1) / BENCH_CG_SLICE, room;
    unsigned long long *begin = bench_alloc((slices + 1) * sizeof *begin);
    unsigned *columns;
    double *values;

    for (size_t row = 0; row < mine->rows; row++) {
        size_t length = (mine->begin[row + 1] - mine->begin[row]) * BENCH_CG_SLICE;
        unsigned long long *width = &begin[row / BENCH_CG_SLICE + 1];

        *width = length > *width ? length : *width;
    }
    for (size_t i = 0; i < slices; i++) {
        begin[i + 1] += begin[i];
    }
    room = (size_t)begin[slices];
    columns = bench_alloc(room * sizeof *columns);
    values = bench_alloc(room * sizeof *values);
    for (size_t row = 0; row < mine->rows; row++) {
        size_t at = (size_t)begin[row / BENCH_CG_SLICE] + row % BENCH_CG_SLICE;

        for (size_t i = mine->begin[row]; i < mine->begin[row + 1]; i++, at += BENCH_CG_SLICE) {
            columns[at] = mine->columns[i];
            values[at] = mine->values[i];
        }
    }
    all->slices = slices;
    all->entries = room;
    all->begin = make_copy(begin, (slices + 1) * sizeof *begin);
    all->columns = make_copy(columns, room * sizeof *columns);
    all->values = make_copy(values, room * sizeof *values);
    free(begin);
    free(columns);
    free(values);
}

/* The right side, A times that, and their scalar products. */
static void make_right(struct cg *cg, struct bench_cg *all, double sums[2])
{
    const struct matrix *mine = &cg->mine;
    double *in = bench_alloc((mine->rows + cg->halo) * sizeof *in);
    double *image = bench_alloc(mine->rows * sizeof *image);
    MPI_Request *requests = bench_alloc((size_t)(cg->num_from + cg->num_to) * sizeof *requests);
    double *send = bench_alloc(cg->sends * sizeof *send), square;

    for (size_t row = 0; row < mine->rows; row++) {
        in[row] = cg_right(mine->first + row);
    }
    for (size_t i = 0; i < cg->sends; i++) {
        send[i] = in[cg->index[i]];
    }
    for (int i = 0; i < cg->num_from; i++) {
        PMPI_Irecv(in + mine->rows + cg->from[i].begin, cg->from[i].count, MPI_DOUBLE,
                   cg->from[i].rank, 0, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < cg->num_to; i++) {
        PMPI_Isend(send + cg->to[i].begin, cg->to[i].count, MPI_DOUBLE, cg->to[i].rank, 0,
                   MPI_COMM_WORLD, &requests[cg->num_from + i]);
    }
    PMPI_Waitall(cg->num_from + cg->num_to, requests, MPI_STATUSES_IGNORE);
    matrix_multiply(mine, in, image);
    sums[0] = sums[1] = 0;
    for (size_t row = 0; row < mine->rows; row++) {
        sums[0] += in[row] * in[row];
        sums[1] += in[row] * image[row];
    }
    PMPI_Allreduce(&sums[0], &square, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    cg->norm = sqrt(square);
    all->b = make_copy(in, mine->rows * sizeof *in);
    all->image = make_copy(image, mine->rows * sizeof *image);
    free(in);
    free(image);
    free(requests);
    free(send);
}

static unsigned long long blocks_for(unsigned long long elements)
{
    unsigned long long blocks = (elements + BENCH_CG_THREADS - 1) / BENCH_CG_THREADS;

    return blocks < 1 ? 1 : blocks > BENCH_CG_BLOCKS ? BENCH_CG_BLOCKS : blocks;
}

/* What the form has and the other one has not. */
static void make_form(struct cg *cg, int number, const struct bench_cg *common,
                      const double sums[2])
{
    struct cg_form *form = &cg->forms[number];
    struct bench_cg *all = &form->all;

    form->cg = cg;
    *all = *common;
    if (number == CG_CLASSIC) {
        all->in = all->p;
        all->first.sums[BENCH_CG_RESIDUAL] = cg->norm * cg->norm;
    } else {
        all->pipelined = 1;
        all->in = all->w;
        all->first = (struct bench_cg_scalars){.sums = {sums[0], sums[1]}};
    }
    form->mpi_send = bench_staging(all->send, (cg->sends + 1) * sizeof(double));
    form->mpi_halo = bench_staging(all->in + all->rows, (cg->halo + 1) * sizeof(double));
    form->mpi_scalars = bench_staging(all->scalars, sizeof *all->scalars);
}

void cg_create(struct cg *cg)
{
    size_t rows = cg->mine.rows;
    struct bench_cg all = {.rows = rows, .halo = cg->halo, .sends = cg->sends};
    const struct bench_cg_scalars nothing = {.before = 0};
    double sums[2];

    slice_matrix(&cg->mine, &all);
    make_right(cg, &all, sums);
    all.index = make_copy(cg->index, cg->sends * sizeof *cg->index);
    all.send = make_vector(cg->sends);
    all.p = make_vector(rows + cg->halo);
    all.w = make_vector(rows + cg->halo);
    all.x = make_vector(rows);
    all.r = make_vector(rows);
    all.q = make_vector(rows);
    all.s = make_vector(rows);
    all.z = make_vector(rows);
    all.blocks = blocks_for(rows);
    all.partials = make_vector(2 * all.blocks);
    all.scalars = make_copy(&nothing, sizeof nothing);
    for (int number = 0; number < CG_FORMS; number++) {
        make_form(cg, number, &all, sums);
    }
}

void cg_destroy(struct cg *cg)
{
    const struct bench_cg *all = &cg->forms[CG_CLASSIC].all;
    const void *const memory[] = {all->begin, all->columns, all->values,   all->b,
                                  all->image, all->index,   all->send,     all->p,
                                  all->w,     all->x,       all->r,        all->q,
                                  all->s,     all->z,       all->partials, all->scalars};

    for (int number = 0; number < CG_FORMS; number++) {
        bench_staging_free(cg->forms[number].mpi_send);
        bench_staging_free(cg->forms[number].mpi_halo);
        bench_staging_free(cg->forms[number].mpi_scalars);
    }
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        bench_memory_free((void *)(uintptr_t)memory[i]);
    }
}

void cg_fetch(struct cg *cg, enum bench_mode mode, double *x)
{
    const struct bench_cg *all = &cg_form(cg, mode)->all;

    if (all->rows > 0) {
        bench_memory_copy(x, all->x, (size_t)all->rows * sizeof *x);
    }
}

long cg_overrun(struct cg *cg, enum bench_mode mode)
{
    const struct bench_cg *all = &cg_form(cg, mode)->all;
    const double *const behind[] = {all->in + all->rows + all->halo, all->send + all->sends,
                                    all->x + all->rows, all->r + all->rows, all->q + all->rows};
    long wrong = 0;

    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        double found;

        bench_memory_copy(&found, behind[i], sizeof found);
        wrong += memcmp(&found, &guard, sizeof found) != 0;
    }
    return wrong;
}

/* ---- Work ------------------------------------------------------------------------------------ */

static void launch(void *arg, enum bench_kernel kernel)
{
    struct cg_form *form = arg;
    void *parameters[] = {&form->all};

    bench_device_start(kernel, (size_t)form->all.blocks, 1, BENCH_CG_THREADS, parameters);
}

static void call_start(void *arg)
{
    bench_cg_start(((struct cg_form *)arg)->all);
}

static void launch_start(void *arg)
{
    launch(arg, BENCH_KERNEL_CG_START);
}

static void call_pack(void *arg)
{
    bench_cg_pack(((struct cg_form *)arg)->all);
}

static void launch_pack(void *arg)
{
    struct cg_form *form = arg;
    void *parameters[] = {&form->all};

    if (form->all.sends > 0) {
        bench_device_start(BENCH_KERNEL_CG_PACK, (size_t)blocks_for(form->all.sends), 1,
                           BENCH_CG_THREADS, parameters);
    }
}

static void call_multiply(void *arg)
{
    bench_cg_multiply(((struct cg_form *)arg)->all);
}

static void launch_multiply(void *arg)
{
    launch(arg, BENCH_KERNEL_CG_MULTIPLY);
}

static void call_step(void *arg)
{
    bench_cg_step(((struct cg_form *)arg)->all);
}

static void launch_step(void *arg)
{
    launch(arg, BENCH_KERNEL_CG_STEP);
}

static void call_turn(void *arg)
{
    bench_cg_turn(((struct cg_form *)arg)->all);
}

static void launch_turn(void *arg)
{
    launch(arg, BENCH_KERNEL_CG_TURN);
}

static void call_pipe(void *arg)
{
    bench_cg_pipe(((struct cg_form *)arg)->all);
}

static void launch_pipe(void *arg)
{
    launch(arg, BENCH_KERNEL_CG_PIPE);
}

static void launch_sum(void *arg, unsigned long long of)
{
    struct cg_form *form = arg;
    void *parameters[] = {&form->all, &of};

    bench_device_start(BENCH_KERNEL_CG_SUM, 1, 1, BENCH_CG_THREADS, parameters);
}

static void call_curvature(void *arg)
{
    bench_cg_sum(((struct cg_form *)arg)->all, BENCH_CG_CURVATURE);
}

static void launch_curvature(void *arg)
{
    launch_sum(arg, BENCH_CG_CURVATURE);
}

static void call_residual(void *arg)
{
    bench_cg_sum(((struct cg_form *)arg)->all, BENCH_CG_RESIDUAL);
}

static void launch_residual(void *arg)
{
    launch_sum(arg, BENCH_CG_RESIDUAL);
}

static void call_both(void *arg)
{
    bench_cg_sum(((struct cg_form *)arg)->all, BENCH_CG_BOTH);
}

static void launch_both(void *arg)
{
    launch_sum(arg, BENCH_CG_BOTH);
}

const struct bench_work cg_start = {call_start, launch_start};
const struct bench_work cg_pack = {call_pack, launch_pack};
const struct bench_work cg_multiply = {call_multiply, launch_multiply};
const struct bench_work cg_step = {call_step, launch_step};
const struct bench_work cg_turn = {call_turn, launch_turn};
const struct bench_work cg_pipe = {call_pipe, launch_pipe};
const struct bench_work cg_sum_curvature = {call_curvature, launch_curvature};
const struct bench_work cg_sum_residual = {call_residual, launch_residual};
const struct bench_work cg_sum_both = {call_both, launch_both};
