/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pingpong.h - the buffers of a rank, and what is done with them
 */
#ifndef MPIXQ_BENCH_PINGPONG_H
#define MPIXQ_BENCH_PINGPONG_H

#include "bench_queue.h"

#include <stdint.h>

#define PINGPONG_TAG 7

enum { RECV, SEND, NUM_REQUESTS };

struct pingpong {
    int rank, peer;
    bool bare; /* nothing is packed and unpacked */
    size_t words;
    uint64_t *data; /* what pack reads and unpack writes */
    /* Of the mode in hand: those of its link, or these. */
    uint64_t *send_buffer, *own_send;
    uint64_t *recv_buffer, *own_recv; /* one word longer than the message: the guard */
    /* On a device all these are in its memory, and the modes of MPI have these; else the same. */
    uint64_t *mpi_send, *mpi_recv;
    uint64_t *image; /* for the host: what goes there or comes from there, and a guard */
    MPI_Request requests[BENCH_REQUEST_MODES][NUM_REQUESTS];
    struct bench_part part; /* the message of the links */
    struct bench_link links[BENCH_NUM_MODES];
    struct bench_queue bq;
};

/* Run round trips; the seconds that they took (pingpong_run.c). */
double pingpong_run(void *ctx, enum bench_mode mode, long iterations);

#endif
