/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi.h - a square grid of which each rank has some rows, and how a step exchanges their edges
 */
#ifndef MPIXQ_BENCH_JACOBI_H
#define MPIXQ_BENCH_JACOBI_H

#include <mpix_queue_device.h>

#include "bench_queue.h"
#include "kernels_jacobi.h"

/* What no cell has (kernels_jacobi.inc). */
#define JACOBI_NOTHING (-1.0)

enum { JACOBI_MAX_SIDE = 65536, JACOBI_MAX_EVERY = 1000 };

/* The directions in which rows travel. */
enum { JACOBI_UP, JACOBI_DOWN, JACOBI_DIRECTIONS };

/* Of a step: receives, sends, and the sum over all ranks. */
enum { JACOBI_ROWS = 2 * JACOBI_DIRECTIONS, JACOBI_SUM = JACOBI_ROWS, JACOBI_REQUESTS };

/* Why two: see the proof in jacobi_run.c. A step reads what came to the set of its parity, and
 * fills the other one. */
#define JACOBI_SETS 2

/* Blocks of two rows and a sum: what leaves upwards and downwards, and what comes from above and
 * from below. The two are those of the mode in hand, of its link or these. */
struct jacobi_set {
    double *send, *own_send;
    double *recv, *own_recv;
    /* On a device all are in its memory, and the modes of MPI have these; else the same. */
    double *mpi_send, *mpi_recv;
    MPI_Request requests[BENCH_REQUEST_MODES][JACOBI_REQUESTS];
    struct bench_link links[BENCH_NUM_MODES];
};

/* The requests of a mode whose kernel puts and gets, and their handles. */
struct jacobi_fused {
    MPI_Request *requests; /* receives of rows and of sums, and then the sends */
    double *sums;          /* in memory of the device, of the other ranks; and one to be sent */
    struct bench_jacobi_fused handles;
};

/* The same by NVSHMEM: symmetric memory, and how many steps and sums all runs so far have had. */
struct jacobi_puts {
    void *kernel;
    unsigned long long *came, steps, summed;
    double *sums;
};

struct jacobi_reference {
    double *from, *to; /* all of the grid, with a border on all sides */
    long steps;        /* that it is after; -1: none */
    double norm;
};

struct jacobi {
    int rank, ranks;
    int peers[JACOBI_DIRECTIONS]; /* above and below: ranks of a ring */
    long every;                   /* steps from a sum to the next */
    size_t side, first, rows;     /* of the grid, and this rank's rows */
    size_t stride, row, block;    /* elements: from row to row of the grid, and of a block */
    double *memory[2], *grids[2]; /* of even steps and of odd ones: all, and the first cell */
    double *partials, *image;     /* image: for the host, a grid */
    unsigned long long *count;
    struct jacobi_set sets[JACOBI_SETS];
    struct bench_part sends[JACOBI_DIRECTIONS], recvs[JACOBI_DIRECTIONS]; /* of the links */
    /* Of the mode in hand: what a run begins with, and a step by its parity, without sums and with
     * them. */
    struct bench_jacobi_start start;
    struct bench_jacobi steps[JACOBI_SETS][2];
    struct jacobi_fused fused[BENCH_REQUEST_MODES];
    struct jacobi_puts puts;
    struct bench_queue bq;
    double norm; /* as the host saw it last: of what changed in a step, over all ranks */
    struct jacobi_reference reference;
};

/* The row that a rank begins with; that of rank "ranks" is their number. */
static inline size_t jacobi_first(size_t side, int rank, int ranks)
{
    return side * (size_t)rank / (size_t)ranks;
}

/* Does a step end with a sum, or begin behind one? */
static inline bool jacobi_adds(const struct jacobi *jac, long step)
{
    return (step + 1) % jac->every == 0;
}

static inline bool jacobi_is_behind(const struct jacobi *jac, long step)
{
    return step % jac->every == 0;
}

/* ---- The grid (jacobi_data.c) ---------------------------------------------------------------- */

/* Make and free a grid of this side, and the blocks. */
void jacobi_create(struct jacobi *jac, size_t side);
void jacobi_destroy(struct jacobi *jac);

/* Take the blocks of a mode, and put the grid in its first state. */
void jacobi_begin(void *ctx, enum bench_mode mode);

/* Of a step (struct bench_jacobi): its edges, the rest, or both. */
extern const struct bench_work jacobi_edges, jacobi_inside, jacobi_whole;
/* Blocks of threads for all of a step. */
size_t jacobi_blocks(const struct bench_jacobi *step);

/* ---- Communication (jacobi_run.c) ------------------------------------------------------------ */

/* Requests and links of the modes; one that cannot be used with this grid is told and no longer
 * wanted. Collective. */
void jacobi_open(struct jacobi *jac, struct bench_options *opts);
void jacobi_close(struct jacobi *jac, const struct bench_options *opts);

/* So many steps. Gives the seconds that count. */
double jacobi_run(void *ctx, enum bench_mode mode, long steps);

/* ---- In one kernel (jacobi_fused.c) ---------------------------------------------------------- */

/* False: there are no slots for the rows. Collective. */
bool jacobi_fused_open(struct jacobi *jac, enum bench_mode mode);
void jacobi_fused_close(struct jacobi *jac, enum bench_mode mode);
/* Before the first step of a run, and behind the last one: put what that gets, and receive what
 * this has put. Gives the sum of all ranks if the last step had one. */
void jacobi_fused_begin(struct jacobi *jac, enum bench_mode mode);
double jacobi_fused_end(struct jacobi *jac, enum bench_mode mode, long steps);
/* Put a step on the stream. */
void jacobi_fused_launch(struct jacobi *jac, enum bench_mode mode, long step);

/* By NVSHMEM, likewise. Collective, but for the launch. */
void jacobi_puts_open(struct jacobi *jac);
void jacobi_puts_close(struct jacobi *jac);
double jacobi_puts_end(struct jacobi *jac, long steps);
void jacobi_puts_launch(struct jacobi *jac, long step);

/* ---- Is it right? (jacobi_check.c) ----------------------------------------------------------- */

/* Count what is wrong with this rank's part after so many steps. */
long jacobi_errors(void *ctx, enum bench_mode mode, long steps);
void jacobi_reference_close(struct jacobi *jac);

#endif
