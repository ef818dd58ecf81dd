/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg.h - a linear system of which each rank has some rows, and how it is solved
 */
#ifndef MPIXQ_BENCH_CG_H
#define MPIXQ_BENCH_CG_H

#include "bench_queue.h"
#include "kernels_cg.h"
#include "matrix.h"

enum { CG_MAX_EVERY = 1000, CG_MAX_ITERATIONS = 1000000 };

struct cg;

/* The classic form has two sums in an iteration, the pipelined one has one. */
enum { CG_CLASSIC, CG_PIPELINED, CG_FORMS };

struct cg_form {
    struct cg *cg;
    struct bench_cg all; /* on a device all is in its memory; then the modes of MPI have these: */
    double *mpi_send, *mpi_halo;
    struct bench_cg_scalars *mpi_scalars;
};

/* What is sent to a rank or comes from it, in elements of the blocks. */
struct cg_block {
    int rank;
    size_t begin;
    int count;
};

struct cg_reference {
    struct matrix whole;
    double *x, *r, *p, *q;
    double *norms; /* of r, after so many iterations */
    long iterations;
    bool ended; /* that far: it does not go on from here */
};

struct cg {
    int rank, ranks;
    int peers[2]; /* the ranks beside this one, in a ring, to ask for graphs */
    long every, limit;
    double tolerance;
    bool from_file;
    struct matrix mine;
    size_t halo, sends;
    struct cg_block *from, *to;
    int num_from, num_to;
    unsigned *index;
    double norm; /* of b */
    struct cg_form forms[CG_FORMS];
    MPI_Request *requests[BENCH_REQUEST_MODES]; /* receives first */
    MPI_Request sums[BENCH_REQUEST_MODES][2];
    void *graphs[BENCH_NUM_MODES][CG_MAX_EVERY + 1]; /* of so many iterations, once made */
    struct bench_queue bq;
    struct cg_reference reference; /* on rank 0 */
    /* The solve in hand: how far it is, and what the host has seen. */
    bool finished[BENCH_NUM_MODES]; /* has a solve come to its end, and been verified? */
    long iterations, looked;        /* looked: at the look before the last one */
    double residual;
    bool ended;
};

static inline struct cg_form *cg_form(struct cg *cg, enum bench_mode mode)
{
    return &cg->forms[bench_mode_is_pipelined(mode) ? CG_PIPELINED : CG_CLASSIC];
}

/* The row that a rank begins with, of so many; that of rank "ranks" is their number. */
static inline size_t cg_first(size_t side, int rank, int ranks)
{
    return side * (size_t)rank / (size_t)ranks;
}

/* An element of the right side. */
static inline double cg_right(size_t row)
{
    return 1 + (double)(row % 13) / 16;
}

/* ---- What comes from where (cg_parts.c) ------------------------------------------------------ */

/* From cg->mine: which elements of which ranks it multiplies, and who needs which of its own.
 * Collective. */
void cg_divide(struct cg *cg);
void cg_unite(struct cg *cg);

/* ---- The data (cg_data.c) -------------------------------------------------------------------- */

/* Matrix and vectors, after cg_divide. Collective. */
void cg_create(struct cg *cg);
void cg_destroy(struct cg *cg);
/* The solution of this rank's rows, and elements behind vectors that were written. */
void cg_fetch(struct cg *cg, enum bench_mode mode, double *x);
long cg_overrun(struct cg *cg, enum bench_mode mode);

/* Of a form: the kernels (kernels_cg.inc). */
extern const struct bench_work cg_start, cg_pack, cg_multiply, cg_step, cg_turn, cg_pipe;
extern const struct bench_work cg_sum_curvature, cg_sum_residual, cg_sum_both;

/* ---- Communication (cg_run.c) ---------------------------------------------------------------- */

/* Requests of the modes. Collective. */
void cg_open(struct cg *cg, const struct bench_options *opts);
void cg_close(struct cg *cg, const struct bench_options *opts);

/* Begin a solve. */
void cg_begin(void *ctx, enum bench_mode mode);
/* Iterations of one solve after the other. Gives the seconds that count. */
double cg_run(void *ctx, enum bench_mode mode, long iterations);
/* Go on until the solve in hand has ended. */
void cg_finish(struct cg *cg, enum bench_mode mode);

/* ---- Is it right? (cg_check.c) --------------------------------------------------------------- */

/* The whole matrix, taken over, to solve the system without other ranks; and give it back. */
void cg_reference_open(struct cg *cg, struct matrix *whole);
void cg_reference_close(struct cg *cg);
/* False: in this iteration it turned out that the matrix is not positive definite. */
bool cg_reference_solve(struct cg *cg, long *iteration_p);

/* Count what is wrong with the solve in hand, on rank 0 for all ranks; that of the first trial of a
 * mode is ended before. Collective. */
long cg_errors(void *ctx, enum bench_mode mode, long iterations);

#endif
