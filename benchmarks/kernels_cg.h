/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_cg.h - the parameters of the kernels of conjugate gradients: a rank's rows of the matrix,
 * its parts of the vectors, and the numbers that all ranks share
 *
 * Includes nothing, as compilers of kernels have no headers.
 */
#ifndef MPIXQ_BENCH_KERNELS_CG_H
#define MPIXQ_BENCH_KERNELS_CG_H

enum {
    BENCH_CG_SLICE = 32, /* rows whose entries lie beside each other: as many as a warp has */
    BENCH_CG_THREADS = 256,
    BENCH_CG_BLOCKS = 1024, /* at most, each of which makes a partial sum */
};

/* What the sum of the partial sums is of, by its place in the scalars. */
enum { BENCH_CG_CURVATURE, BENCH_CG_RESIDUAL, BENCH_CG_BOTH };

/* sums: of this rank first, and then of all. In the classic form (p, A p) and (r, r), each reduced
 * by itself; in the pipelined one (r, r) and (A r, r), reduced together. */
struct bench_cg_scalars {
    double sums[2];
    double before; /* (r, r) of the iteration before; 0: there was none */
    double alpha;  /* likewise */
};

/* Entries of rows are in slices, in each of which entry k of all rows follows entry k - 1 of all;
 * short rows, and the last slice, are filled with zeros. Columns from "rows" on are those of other
 * ranks, whose elements stand behind the own ones in "in", the vector that is multiplied: p, or in
 * the pipelined form w. */
struct bench_cg {
    const unsigned long long *begin; /* of slices, and the end of the last one */
    const unsigned *columns;
    const double *values;
    unsigned long long slices, entries, rows, halo;
    double *in, *x, *r, *p, *q;
    double *w, *s, *z;       /* of the pipelined form */
    const double *b, *image; /* the right side, and A times that */
    const unsigned *index;   /* elements that others need, in the order of the blocks */
    double *send;
    unsigned long long sends;
    double *partials; /* of each block; of a second sum behind those of all */
    unsigned long long blocks, pipelined;
    struct bench_cg_scalars *scalars;
    struct bench_cg_scalars first; /* what a solve begins with */
};

#endif
