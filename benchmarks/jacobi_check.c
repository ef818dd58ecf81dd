/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi_check.c - the same steps made by this rank alone, with the whole grid, and compared with
 *
 * A cell is computed by the same operations in the same order everywhere, so all of them have to be
 * the same to the last bit; and so have the rows that came from other ranks. Sums are in another
 * order.
 */
#include "jacobi.h"
#include "kernels_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the norm. The sum of so many squares, none of which is negative, is wrong by less. */
#define NORM_TOLERANCE 1e-9

static const double nothing = JACOBI_NOTHING;

static size_t wide(const struct jacobi *jac)
{
    return jac->side + 2;
}

static double *cell(const struct jacobi *jac, double *grid, size_t row, size_t column)
{
    return grid + (row + 1) * wide(jac) + column + 1;
}

/* The numbers of all rows, as a kernel makes them for a rank that has them all. */
static void begin_reference(struct jacobi *jac)
{
    struct jacobi_reference *ref = &jac->reference;
    size_t bytes = (jac->side + 2) * wide(jac) * sizeof(double);
    double *block[4];
    struct bench_jacobi_start start = {
        .rows = jac->side, .columns = jac->side, .stride = wide(jac), .side = jac->side};

    if (ref->from == NULL) {
        ref->from = bench_alloc(bytes);
        ref->to = bench_alloc(bytes);
    }
    for (int i = 0; i < 4; i++) {
        block[i] = bench_alloc(jac->block * sizeof(double));
    }
    for (int i = 0; i < 2; i++) {
        start.grids[i] = cell(jac, i == 0 ? ref->from : ref->to, 0, 0);
        start.send[i] = block[i];
        start.recv[i] = block[2 + i];
    }
    start.row = jac->row;
    start.block = jac->block;
    bench_jacobi_start(start);
    for (int i = 0; i < 4; i++) {
        free(block[i]);
    }
    ref->steps = 0;
    ref->norm = 0;
}

/* The row above the first one is the last one, and the other way round. */
static void wrap(struct jacobi *jac)
{
    double *grid = jac->reference.from;
    size_t bytes = wide(jac) * sizeof(double);

    memcpy(grid, grid + jac->side * wide(jac), bytes);
    memcpy(grid + (jac->side + 1) * wide(jac), grid + wide(jac), bytes);
}

static void advance(struct jacobi *jac)
{
    struct jacobi_reference *ref = &jac->reference;
    double sum = 0, *from;

    wrap(jac);
    for (size_t row = 0; row < jac->side; row++) {
        const double *at = cell(jac, ref->from, row, 0);
        double *to = cell(jac, ref->to, row, 0);

        for (size_t i = 0; i < jac->side; i++, at++) {
            double change;

            to[i] = 0.25 * ((at[-(ptrdiff_t)wide(jac)] + at[wide(jac)]) + (at[-1] + at[1]));
            change = to[i] - *at;
            sum += change * change;
        }
    }
    from = ref->from;
    ref->from = ref->to;
    ref->to = from;
    if (jacobi_adds(jac, ref->steps)) {
        ref->norm = sqrt(sum);
    }
    ref->steps++;
}

/* Not the same to the last bit. */
static long differ(const double *found, const double *right, size_t num)
{
    long wrong = 0;

    for (size_t i = 0; i < num; i++) {
        wrong += memcmp(&found[i], &right[i], sizeof *found) != 0;
    }
    return wrong;
}

static long wrong_cells(struct jacobi *jac, long steps)
{
    size_t bytes = jac->rows * jac->stride * sizeof(double);
    long wrong = 0;

    bench_memory_copy(jac->image, jac->grids[steps % 2] - 1, bytes);
    for (size_t row = 0; row < jac->rows; row++) {
        wrong += differ(jac->image + row * jac->stride,
                        cell(jac, jac->reference.from, jac->first + row, 0) - 1, wide(jac));
    }
    return wrong;
}

/* What came from above and from below, and the element behind each. In the modes whose kernel gets
 * the rows they are there at the end of a run only, in one place. */
static long wrong_rows(struct jacobi *jac, enum bench_mode mode, long steps)
{
    const struct jacobi_set *set = &jac->sets[bench_mode_is_fused(mode) ? 0 : steps % JACOBI_SETS];
    double *block = bench_alloc(jac->block * sizeof *block);
    size_t above = (jac->first + jac->side - 1) % jac->side;
    size_t below = (jac->first + jac->rows) % jac->side;
    long wrong;

    bench_memory_copy(block, set->recv, jac->block * sizeof *block);
    wrong = differ(block, cell(jac, jac->reference.from, above, 0), jac->side) +
            differ(block + jac->side, &nothing, 1) +
            differ(block + jac->row, cell(jac, jac->reference.from, below, 0), jac->side) +
            differ(block + jac->row + jac->side, &nothing, 1);
    free(block);
    return wrong;
}

long jacobi_errors(void *ctx, enum bench_mode mode, long steps)
{
    struct jacobi *jac = ctx;
    struct jacobi_reference *ref = &jac->reference;

    if (ref->from == NULL || ref->steps > steps) {
        begin_reference(jac);
    }
    while (ref->steps < steps) {
        advance(jac);
    }
    /* Written so that a NaN does not pass. */
    return wrong_cells(jac, steps) + wrong_rows(jac, mode, steps) +
           (steps >= jac->every && !(fabs(jac->norm - ref->norm) <= NORM_TOLERANCE * ref->norm));
}

void jacobi_reference_close(struct jacobi *jac)
{
    free(jac->reference.from);
    free(jac->reference.to);
    jac->reference = (struct jacobi_reference){0};
}
