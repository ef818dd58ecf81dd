/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_fused.h - the parameters of the kernels that do a whole exchange, or a whole generation
 */
#ifndef MPIXQ_BENCH_KERNELS_FUSED_H
#define MPIXQ_BENCH_KERNELS_FUSED_H

#include "kernels.h"

#ifndef MPIX_QUEUE_DEVICE_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../include/mpix_queue_device.h"
#endif

enum { BENCH_FUSED_MESSAGES = 8 }; /* each way: their handles fit into the parameters of a launch */

struct bench_fused {
    unsigned long long *data; /* what is sent, and received to, as 8 bytes at a time */
    unsigned long long words, stride, messages; /* of a message, between them, how many each way */
    /* Of a message to the rank itself all zero. */
    struct mpixq_device_request send[BENCH_FUSED_MESSAGES], recv[BENCH_FUSED_MESSAGES];
};

/* One end of a ping-pong by one block. */
struct bench_loop {
    const unsigned long long *from;
    unsigned long long *to;
    unsigned long long words, rounds, leads; /* leads: sends first */
    unsigned long long limit_ns;             /* of each wait; then the data is wrong */
    struct mpixq_device_request send, recv;
};

enum {
    BENCH_BORDERS = BENCH_STRIPS, /* opposite ones add up to the last number */
    BENCH_EIGHT = 8,          /* cells of a border that go at once; messages have whole eights */
    BENCH_HALO_VECTORS = 256, /* of BENCH_WIDE cells at the edges of a board, for a block */
    BENCH_HALO_BLOCKS = 64,   /* that wait for others, at most: GPUs hold as many at once */
};

/* The grid has rows of blocks. Those of the first send and receive, and compute what needs ghosts;
 * those of the others, if there are any, compute the rest. */
struct bench_halo {
    struct bench_board board;
    unsigned char *ghosts; /* the generation board.from, for its ghosts */
    unsigned long long rows;
    struct bench_border border[BENCH_BORDERS];
    /* To and from the neighbour beyond each border; all zero, where that is the rank itself. */
    struct mpixq_device_request send[BENCH_BORDERS], recv[BENCH_BORDERS];
};

#endif
