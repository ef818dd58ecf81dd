/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg_check.c - the same system solved by rank 0 alone, and compared with
 *
 * With as many iterations the two have the same vectors but for rounding. Compared are all elements
 * of the solution, the norm of b - A x, and the residual that the host saw, which tells whether the
 * sums of all iterations were right: with wrong ones the solution may be reached, but not as soon.
 */
#include "cg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the largest element of the solution. */
#define ELEMENT_TOLERANCE 1e-6
/* Of the norm of b, or of the residual that the other has, whichever is more. */
#define RESIDUAL_TOLERANCE 1e-6
#define RESIDUAL_SHARE 0.1
/* Of the norm of b: below it residuals are made of rounding, which is not the same. */
#define ROUNDING 1e-10

static double dot(const double a[], const double b[], size_t num)
{
    double sum = 0;

    for (size_t i = 0; i < num; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void begin_reference(struct cg_reference *ref)
{
    for (size_t i = 0; i < ref->whole.rows; i++) {
        ref->x[i] = 0;
        ref->r[i] = ref->p[i] = cg_right(i);
    }
    ref->iterations = 0;
    ref->norms[0] = sqrt(dot(ref->r, ref->r, ref->whole.rows));
}

void cg_reference_open(struct cg *cg, struct matrix *whole)
{
    struct cg_reference *ref = &cg->reference;

    *ref = (struct cg_reference){.whole = *whole};
    ref->x = bench_alloc(whole->rows * sizeof *ref->x);
    ref->r = bench_alloc(whole->rows * sizeof *ref->r);
    ref->p = bench_alloc(whole->rows * sizeof *ref->p);
    ref->q = bench_alloc(whole->rows * sizeof *ref->q);
    ref->norms = bench_alloc(((size_t)cg->limit + 1) * sizeof *ref->norms);
    begin_reference(ref);
}

void cg_reference_close(struct cg *cg)
{
    struct cg_reference *ref = &cg->reference;

    free(ref->x);
    free(ref->r);
    free(ref->p);
    free(ref->q);
    free(ref->norms);
    *ref = (struct cg_reference){0};
}

/* False: not with this matrix. Behind the end, where r is 0 or as good as that, a curvature that is
 * not above 0 tells nothing, and nothing changes. */
static bool step(struct cg_reference *ref)
{
    size_t rows = ref->whole.rows;
    double before = dot(ref->r, ref->r, rows), curvature, alpha, beta;

    matrix_multiply(&ref->whole, ref->p, ref->q);
    curvature = dot(ref->p, ref->q, rows);
    if (!(curvature > 0) && sqrt(before) > ROUNDING * ref->norms[0]) {
        return false;
    }
    alpha = curvature > 0 ? before / curvature : 0;
    for (size_t i = 0; i < rows; i++) {
        ref->x[i] += alpha * ref->p[i];
        ref->r[i] -= alpha * ref->q[i];
    }
    beta = before > 0 ? dot(ref->r, ref->r, rows) / before : 0;
    for (size_t i = 0; i < rows; i++) {
        ref->p[i] = ref->r[i] + beta * ref->p[i];
    }
    ref->norms[++ref->iterations] = sqrt(dot(ref->r, ref->r, rows));
    return true;
}

static bool advance(struct cg_reference *ref, long iterations)
{
    if (ref->iterations > iterations) {
        begin_reference(ref);
    }
    while (ref->iterations < iterations) {
        if (!step(ref)) {
            return false;
        }
    }
    return true;
}

bool cg_reference_solve(struct cg *cg, long *iteration_p)
{
    struct cg_reference *ref = &cg->reference;

    begin_reference(ref);
    while (ref->iterations < cg->limit &&
           ref->norms[ref->iterations] > cg->tolerance * ref->norms[0]) {
        if (!step(ref)) {
            *iteration_p = ref->iterations + 1;
            return false;
        }
    }
    return true;
}

/* All of the solution, on rank 0. */
static double *gather(struct cg *cg, enum bench_mode mode)
{
    size_t side = cg->mine.side;
    double *mine = bench_alloc(cg->mine.rows * sizeof *mine);
    double *all = cg->rank == 0 ? bench_alloc(side * sizeof *all) : NULL;
    int *counts = bench_alloc(2 * (size_t)cg->ranks * sizeof *counts);

    cg_fetch(cg, mode, mine);
    for (int rank = 0; rank < cg->ranks; rank++) {
        size_t first = cg_first(side, rank, cg->ranks);

        counts[rank] = (int)(cg_first(side, rank + 1, cg->ranks) - first);
        counts[cg->ranks + rank] = (int)first;
    }
    PMPI_Gatherv(mine, (int)cg->mine.rows, MPI_DOUBLE, all, counts, counts + cg->ranks, MPI_DOUBLE,
                 0, MPI_COMM_WORLD);
    free(counts);
    free(mine);
    return all;
}

/* The comparisons are written so that none passes with a NaN. */
static long wrong_elements(const struct cg_reference *ref, const double x[])
{
    double largest = 0;
    long wrong = 0;

    for (size_t i = 0; i < ref->whole.rows; i++) {
        largest = fmax(largest, fabs(ref->x[i]));
    }
    for (size_t i = 0; i < ref->whole.rows; i++) {
        wrong += !(fabs(x[i] - ref->x[i]) <= ELEMENT_TOLERANCE * largest);
    }
    return wrong;
}

static bool is_near(double residual, double expected, double floor)
{
    return fabs(residual - expected) <= fmax(RESIDUAL_SHARE * expected, floor);
}

/* The norm of b - A x; q is of no more use. */
static double true_residual(struct cg_reference *ref, const double x[])
{
    double square = 0;

    matrix_multiply(&ref->whole, x, ref->q);
    for (size_t i = 0; i < ref->whole.rows; i++) {
        double r = cg_right(i) - ref->q[i];

        square += r * r;
    }
    return sqrt(square);
}

/* Was the residual what it should be when the solve ended, and not as small at the look before? */
static long wrong_residual(const struct cg *cg, const struct cg_reference *ref, long late)
{
    double enough = cg->tolerance * ref->norms[0];
    long before = cg->looked - late;

    return !is_near(cg->residual, ref->norms[cg->iterations - late],
                    fmax(enough, ROUNDING * ref->norms[0])) +
           (cg->ended && before > 0 && !(ref->norms[before] >= enough / 2));
}

long cg_errors(void *ctx, enum bench_mode mode, long iterations)
{
    struct cg *cg = ctx;
    struct cg_reference *ref = &cg->reference;
    long wrong;
    double *x;

    (void)iterations;
    if (!cg->finished[mode]) {
        cg_finish(cg, mode);
        cg->finished[mode] = true;
    }
    x = gather(cg, mode);
    wrong = cg_overrun(cg, mode);
    if (cg->rank == 0) {
        if (!advance(ref, cg->iterations)) {
            wrong++;
        } else {
            wrong += wrong_elements(ref, x) +
                     wrong_residual(cg, ref, bench_mode_is_pipelined(mode) ? 1 : 0) +
                     !is_near(true_residual(ref, x), ref->norms[cg->iterations],
                              RESIDUAL_TOLERANCE * ref->norms[0]);
        }
        free(x);
    }
    return wrong;
}
