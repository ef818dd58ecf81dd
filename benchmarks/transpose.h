/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transpose.h - a matrix of which each rank has some rows, and how it is transposed
 */
#ifndef MPIXQ_BENCH_TRANSPOSE_H
#define MPIXQ_BENCH_TRANSPOSE_H

#include "bench_queue.h"

/* There, and back. Iteration k uses way k % 2, and with it that way's buffers: two sets in turn. */
enum { WAYS = 2 };

/* A complex number, as an FFT has them. */
struct element {
    double real, imag;
};

/* What a rank sends to another one and gets from it, in elements. */
struct span {
    size_t begin, count;
};

struct transpose;

/* From a matrix of rows x cols, of which each rank has some rows, to one of cols x rows. Blocks for
 * all ranks lie one behind the other, each transposed already; so do those that come. */
struct transpose_way {
    struct transpose *tr;
    size_t rows, cols;
    const struct element *from;
    struct element *to;
    struct span mine, gets;     /* rows of each matrix that are this rank's */
    struct span *sends, *recvs; /* by rank, in the blocks */
    struct element *send, *own_send, *recv, *own_recv;
    MPI_Request *requests[BENCH_REQUEST_MODES]; /* receives first, by rank */
    struct bench_part *send_parts, *recv_parts;
    struct bench_link links[BENCH_NUM_MODES];
};

struct transpose {
    int rank, ranks;
    int *peers; /* all ranks */
    size_t rows, cols;
    struct element *matrix[WAYS]; /* of this rank; behind it a guard */
    struct transpose_way ways[WAYS];
    struct bench_queue bq;
};

/* Rows of rank out of so many: some ranks may have none. */
static inline struct span transpose_part(const struct transpose *tr, size_t length, int rank)
{
    size_t ranks = (size_t)tr->ranks, begin = length * (size_t)rank / ranks;

    return (struct span){.begin = begin, .count = length * ((size_t)rank + 1) / ranks - begin};
}

static inline size_t transpose_elements(const struct span spans[], int ranks)
{
    return spans[ranks - 1].begin + spans[ranks - 1].count;
}

/* ---- The data (transpose_data.c) ------------------------------------------------------------- */

/* Matrices, spans and blocks of tr->rows x tr->cols. */
void transpose_create(struct transpose *tr);
void transpose_destroy(struct transpose *tr);

/* Of a way: copy the rows to its blocks, and add 1 to each element, so that no iteration moves what
 * another one has; copy the blocks that came to the rows of the other matrix. */
extern const struct bench_work transpose_packing, transpose_unpacking;

/* Take the blocks of a mode, and put the data in its first state. */
void transpose_begin(void *ctx, enum bench_mode mode);
/* Elements after so many iterations that are not what MPI_Alltoallv makes of the matrix before the
 * last one, and guards that were written. Collective. */
long transpose_errors(void *ctx, enum bench_mode mode, long iterations);

/* One transposition by MPI_Alltoallv, pack and unpack aside. */
void transpose_alltoallv(const struct transpose_way *way);

/* ---- Communication (transpose_run.c) --------------------------------------------------------- */

/* Requests and links of the modes. Collective. */
void transpose_open(struct transpose *tr, const struct bench_options *opts);
void transpose_close(struct transpose *tr, const struct bench_options *opts);

/* Transpose so many times. Gives the seconds that count. */
double transpose_run(void *ctx, enum bench_mode mode, long iterations);

#endif
