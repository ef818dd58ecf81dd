/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_jacobi.h - the parameters of the kernels of Jacobi's method: a rank's rows of a grid of
 * numbers, and the rows and sums that it exchanges with other ranks
 *
 * Includes nothing but the header of the library for kernels, as compilers of these have no others.
 */
#ifndef MPIXQ_BENCH_KERNELS_JACOBI_H
#define MPIXQ_BENCH_KERNELS_JACOBI_H

#ifndef MPIX_QUEUE_DEVICE_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../include/mpix_queue_device.h"
#endif

enum {
    BENCH_JACOBI_THREADS = 256,
    BENCH_JACOBI_ROWS = 4,  /* one below the other, that a thread computes, of two columns */
    BENCH_JACOBI_RANKS = 8, /* whose handles fit into the parameters of a launch */
    BENCH_JACOBI_SUMS = 4,  /* places for the sums of a rank, see bench_jacobi_puts */
};

/* What a launch computes: the first row and the last one, and the rows between them. */
enum { BENCH_JACOBI_EDGES = 1, BENCH_JACOBI_INSIDE = 2, BENCH_JACOBI_WHOLE = 3 };

/* Blocks of one of these two rows, and of the rows between them, of which there may be none. */
#define BENCH_JACOBI_EDGE_BLOCKS(columns)                                                          \
    (((columns) + BENCH_JACOBI_THREADS - 1) / BENCH_JACOBI_THREADS)
#define BENCH_JACOBI_WIDE(columns)                                                                 \
    (((columns) + 2 * BENCH_JACOBI_THREADS - 1) / (2 * BENCH_JACOBI_THREADS))
#define BENCH_JACOBI_INSIDE_BLOCKS(rows, columns)                                                  \
    (((rows)-2 + BENCH_JACOBI_ROWS - 1) / BENCH_JACOBI_ROWS * BENCH_JACOBI_WIDE(columns))

/* A step. Rows of the grid begin at multiples of 16 bytes. Before the first cell and behind the
 * last one stand those of the border, which stay as they are. */
struct bench_jacobi {
    const double *from; /* the first cell before the step, and after it */
    double *to;
    unsigned long long rows, columns, stride; /* two rows at least; stride: between them, even */
    const double *above, *below; /* of other ranks, beyond the first row and the last one */
    double *first, *last;        /* where those two rows go as well, to be sent */
    double *partials;            /* of each block: squares of what its cells changed by, added up */
    double *own;                 /* the sum of these */
    unsigned long long *count;   /* blocks that have theirs; 0 between launches */
    unsigned long long adds;     /* not 0: all of these sums are wanted */
};

/* What a run begins with. What is exchanged before the first step is there already, and the rest of
 * that memory gets a number that no cell has. */
struct bench_jacobi_start {
    double *grids[2]; /* the first cell before the first step, and after it */
    unsigned long long rows, columns, stride;
    unsigned long long first, side; /* the number of the first row, and of all ranks' rows */
    double *send[2], *recv[2];     /* blocks of two rows and a sum, of even steps and of odd ones */
    unsigned long long row, block; /* from one row to the next in a block, and all of it */
};

/* A step that exchanges rows in the same launch, by requests of the library: gets those that were
 * put in the step before, and puts those for the next one. So it is with sums. In the order of the
 * ranks: of the one above and of the one below; of all others. */
struct bench_jacobi_fused {
    struct bench_jacobi cells;
    const double *before;    /* this rank's sum of the step before */
    double *total;           /* of all ranks */
    unsigned long long gets; /* not 0: the sums of the step before */
    unsigned long long rank, others;
    struct mpixq_device_request send[2], recv[2];
    struct mpixq_device_request send_sum[BENCH_JACOBI_RANKS - 1], recv_sum[BENCH_JACOBI_RANKS - 1];
};

/* The same by NVSHMEM, whose memory has the same addresses at all ranks. A signal tells the number
 * of the last step whose part of a row has come, or of the last sums. The sum of a rank is read at
 * the latest in the launch behind that in which all ranks have the next one, so that after three
 * others its place can be written again. */
struct bench_jacobi_puts {
    struct bench_jacobi cells;
    double *there[2]; /* where the first row goes, and the last one */
    unsigned long long peers[2];
    /* Of each block of the row from above, and of that from below; of each rank's sum. */
    unsigned long long *came;
    unsigned long long value; /* of the rows of this step; those for the next one have one more */
    double *sums;             /* BENCH_JACOBI_SUMS for each rank */
    double *total;
    unsigned long long
        summed; /* of the sums that are had by now; those of this step have one more */
    unsigned long long gets, rank, ranks;
};

#endif
