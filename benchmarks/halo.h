/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo.h - one rank's part of a board, and how its border is exchanged
 */
#ifndef MPIXQ_BENCH_HALO_H
#define MPIXQ_BENCH_HALO_H

#include "bench_queue.h"
#include "life.h"

/* Why two: see the proof in halo_exchange.c. Generation g uses set g % 2. */
#define HALO_SETS 2
#define HALO_REQUESTS (2 * LIFE_DIRECTIONS)

struct halo;

struct halo_set {
    struct halo *halo;
    /* Blocks for the neighbours, the one in direction d at life_offset(d), and from them, likewise:
     * of the mode in hand, which are those of its link, or these. */
    uint8_t *send, *own_send;
    uint8_t *recv, *own_recv;
    /* On a device all are in its memory, and the modes of MPI have these; else the same. */
    uint8_t *mpi_send, *mpi_recv;
    /* Receives first, then sends; each mode has its own. */
    MPI_Request requests[BENCH_REQUEST_MODES][HALO_REQUESTS];
    struct bench_link links[BENCH_NUM_MODES];
    struct bench_halo *fused[BENCH_REQUEST_MODES]; /* of those modes */
};

struct halo {
    MPI_Comm comm; /* periodic 2-D grid of all ranks */
    int rank;
    int neighbours[LIFE_DIRECTIONS];
    int world[LIFE_DIRECTIONS]; /* these in MPI_COMM_WORLD */
    struct life_board board;    /* on a device in its memory */
    struct life_board image;    /* of the same on the host; there the same cells */
    uint8_t *first;             /* beside the board: its cells when a run begins */
    struct halo_set sets[HALO_SETS];
    struct bench_part sends[LIFE_DIRECTIONS], recvs[LIFE_DIRECTIONS]; /* of the links */
    struct bench_queue bq;
};

/* ---- The board and its borders (halo_board.c) ------------------------------------------------ */

/* Make and free a board, and the buffers for its borders. */
void halo_create(struct halo *halo, int width, int height, struct life_rule rule);
void halo_destroy(struct halo *halo);

/* From now on runs begin with the board as it is in the image. */
void halo_keep(struct halo *halo);

/* Go back to the beginning, take the buffers of a mode, and make the receive buffers nonsense, so
 * that data of an earlier run cannot pass for new data. */
void halo_restart(struct halo *halo, enum bench_mode mode);

/* Make the image show the board. */
void halo_fetch(struct halo *halo);

/* Done with a set: copy the borders to its send buffers; copy its receive buffers to the ghosts,
 * and compute the next generation. */
extern const struct bench_work halo_packing, halo_stepping;

/* ---- In one kernel (halo_fused.c) ------------------------------------------------------------ */

/* Bytes of a message: a multiple of what kernels put at once, and no more than is there for it. */
size_t halo_fused_bytes(size_t border);
/* Of a set whose requests of this mode are matched. */
void halo_fused_open(struct halo_set *set, enum bench_mode mode);
void halo_fused_close(struct halo_set *set, enum bench_mode mode);
/* Put a generation on the stream. */
void halo_fused_launch(struct halo_set *set, enum bench_mode mode);

/* ---- Communication (halo_exchange.c) --------------------------------------------------------- */

/* Make and free the requests. Collective if there are matched modes. */
void halo_open(struct halo *halo, const struct bench_options *opts);
void halo_close(struct halo *halo, const struct bench_options *opts);

/* Advance the board by a number of generations. Gives the seconds that count. */
double halo_run(struct halo *halo, enum bench_mode mode, long generations);

#endif
