/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels.h - the parameters of kernels that have many: the same for the host and for each GPU
 *
 * Includes nothing, as compilers of kernels have no headers.
 */
#ifndef MPIXQ_BENCH_KERNELS_H
#define MPIXQ_BENCH_KERNELS_H

enum {
    BENCH_WIDE = 16,      /* bytes that a GPU loads or stores at once, at multiples of as many */
    BENCH_ROWS = 4,       /* of a board, one below the other, that a thread computes */
    BENCH_STRIPS = 8,     /* of a launch: the borders of a board */
    BENCH_PUT_PARTS = 32, /* of a message, at most */
    BENCH_PUT_THREADS = 512,
};

/* Bytes at equal distances: a row of cells, a column or a single one, and where they are copied. */
struct bench_strip {
    unsigned char *to;
    const unsigned char *from;
    unsigned long long count, to_step, from_step;
    unsigned long long each; /* for a thread: BENCH_WIDE, where both are rows and aligned, or 1 */
};

struct bench_strips {
    struct bench_strip strip[BENCH_STRIPS];
};

/* Two generations of a board (life.h). Rows begin at multiples of BENCH_WIDE and have that much
 * before the first cell and behind the last one, for the ghosts and for loads that reach beyond. */
struct bench_board {
    const unsigned char *from;
    unsigned char *to;
    unsigned long long width, height, stride;
    unsigned long long birth, survive; /* bit n: with n living neighbours */
};

/* A border of a board, in either generation: its first cell, the ghost beyond that, and the
 * distance from cell to cell, which is 1 in a row. */
struct bench_border {
    unsigned long long cell, ghost, count, step;
};

/* One end of a ping-pong between two GPUs by one kernel at each. The words lie in memory of the
 * GPU that reads them. */
struct bench_bounce {
    const unsigned long long *from;
    unsigned long long *to; /* of the peer */
    unsigned long long words;
    unsigned long long *here, *there;  /* the last message that came, and its word of the peer */
    unsigned long long before, rounds; /* messages before these; messages each way */
    unsigned long long leads;          /* sends first */
};

/* A message that a kernel puts, or waits for, by NVSHMEM, in parts. */
struct bench_put {
    unsigned char *here;         /* what is sent, or where it comes to */
    unsigned char *there;        /* of what is sent: where it goes, as the same address here */
    unsigned char *data;         /* what is packed there or unpacked to; NULL: by another kernel */
    unsigned long long *signals; /* of the parts */
    unsigned long long bytes, each, peer; /* a part has this many, the last one fewer */
};

struct bench_puts {
    const struct bench_put *sends, *recvs;
    unsigned long long num_sends, num_recvs;
    unsigned long long parts;          /* of the largest message */
    unsigned long long sent, received; /* the values of the signals */
    unsigned long long follows;        /* wait first */
    unsigned long long rounds;         /* of a kernel that loops */
};

#endif
