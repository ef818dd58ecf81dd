/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange.h - the messages of a rank, and what is done with them
 */
#ifndef MPIXQ_BENCH_EXCHANGE_H
#define MPIXQ_BENCH_EXCHANGE_H

#include "bench_queue.h"

#include <stdint.h>

#define MAX_MESSAGES 1024 /* to a neighbour, and half of those to all of them */
#define LINE_WORDS 8
#define MAX_SIDE 16384                /* of a matrix */
#define MAX_BYTES ((size_t)256 << 20) /* of all messages in one direction */

/* The directions in which messages travel: on a ring the first two, on a grid all. */
enum { RING_DIRECTIONS = 2, GRID_DIRECTIONS = 8 };

enum { SETS = 2 };

struct exchange;

/* The messages of all directions lie one after the other, each in its own cache lines. */
struct exchange_set {
    struct exchange *ex;
    /* Of the mode in hand: those of its link, or these. */
    uint64_t *send, *own_send;
    uint64_t *recv, *own_recv; /* the word behind each message is a guard */
    /* On a device all are in its memory, and the modes of MPI have these; else the same. */
    uint64_t *mpi_send, *mpi_recv;
    MPI_Request *requests[BENCH_REQUEST_MODES]; /* receives first */
    struct bench_link links[BENCH_NUM_MODES];
    struct bench_fused *fused[BENCH_REQUEST_MODES]; /* of those modes */
};

struct exchange {
    int rank, ranks;
    int dims[2]; /* rows and columns of ranks; a ring is one row */
    int directions;
    int peers[GRID_DIRECTIONS]; /* the next rank in each */
    int messages;               /* in each direction; 0: as usual */
    size_t beside; /* side of the matrices that are multiplied while a wait waits; 0: none */
    double skew;   /* microseconds that odd ranks are late in each exchange */
    size_t words;  /* of a message */
    size_t stride;
    uint64_t *data;  /* what pack reads and unpack writes */
    uint64_t *image; /* for the host: what goes to such memory, or comes from it */
    struct exchange_set sets[SETS];
    /* Of the links: one for each message, or as few as there can be. */
    struct bench_part *sends, *recvs, few_sends[GRID_DIRECTIONS], few_recvs[GRID_DIRECTIONS];
    int num_few;
    struct bench_queue bq;
    struct bench_usage *usage;
};

/* Each way. */
static inline int num_messages(const struct exchange *ex)
{
    return ex->directions * ex->messages;
}

static inline int num_requests(const struct exchange *ex)
{
    return 2 * num_messages(ex);
}

/* Of the messages of all directions. */
static inline size_t block_bytes(const struct exchange *ex)
{
    return (size_t)num_messages(ex) * ex->stride * sizeof(uint64_t);
}

/* ---- The ranks (exchange_grid.c) ------------------------------------------------------------- */

/* Make the ranks a ring, or a grid that is periodic in both directions. */
void exchange_make_ring(struct exchange *ex);
void exchange_make_grid(struct exchange *ex);

/* The rank that is so many steps away in a direction. */
int exchange_towards(const struct exchange *ex, int direction, long steps);

/* The messages of the links. */
void exchange_make_parts(struct exchange *ex);
void exchange_free_parts(struct exchange *ex);

/* ---- The data (exchange_data.c) -------------------------------------------------------------- */

/* Of a set: copy from the data to its send buffers, and from its receive buffers to the data. */
extern const struct bench_work exchange_packing, exchange_unpacking;

/* Take the buffers of a mode, and put the data in its first state. */
void exchange_begin(void *ctx, enum bench_mode mode);
/* Wrong words after so many exchanges. */
long exchange_errors(void *ctx, enum bench_mode mode, long iterations);

/* ---- In one kernel (exchange_fused.c) -------------------------------------------------------- */

/* Can the modes that are asked for do it? If not, rank 0 has told why. */
bool exchange_fused_fits(const struct exchange *ex, const struct bench_options *opts);
/* Of a set whose requests of this mode are matched. */
void exchange_fused_open(struct exchange_set *set, enum bench_mode mode);
void exchange_fused_close(struct exchange_set *set, enum bench_mode mode);
/* Put an exchange on the stream. */
void exchange_fused_launch(const struct exchange_set *set, enum bench_mode mode);

#endif
