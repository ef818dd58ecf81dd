/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo.h - one rank's part of a board, and how its border is exchanged
 */
#ifndef MPIXQ_BENCH_HALO_H
#define MPIXQ_BENCH_HALO_H

#include "bench.h"
#include "life.h"

/* Why two: see the proof in halo_exchange.c. Generation g uses set g % 2. */
#define HALO_SETS 2
#define HALO_REQUESTS (2 * LIFE_DIRECTIONS)

struct halo;

struct halo_set {
    struct halo *halo;
    uint8_t *send[LIFE_DIRECTIONS]; /* for the neighbour in each direction */
    uint8_t *recv[LIFE_DIRECTIONS]; /* from the neighbour in each direction */
    /* Receives first, then sends; the MPI persistent and the two stream modes have their own. */
    MPI_Request requests[BENCH_NUM_MODES][HALO_REQUESTS];
};

struct halo {
    MPI_Comm comm; /* periodic 2-D grid of all ranks */
    int neighbours[LIFE_DIRECTIONS];
    struct life_board board;
    struct halo_set sets[HALO_SETS];
    struct bench_queue bq;
    struct bench_counts mpi; /* of the MPI modes */
};

/* Make and free buffers and requests for halo->board. Collective if there are stream modes. */
void halo_open(struct halo *halo, const struct bench_options *opts);
void halo_close(struct halo *halo, const struct bench_options *opts);

/* Make the receive buffers nonsense, so that data of an earlier trial cannot pass for new data. */
void halo_reset(struct halo *halo);

/* Advance the board by a number of generations. Gives the seconds that count. */
double halo_run(struct halo *halo, enum bench_mode mode, long generations);

#endif
