/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu_lanes.h - receives and sends in memory that MTEST_BUFFER says, as many of each, with other
 * data in each exchange. Functions in the stream make that data and look at what was received,
 * element by element and the bytes around it: so they are part of what is captured, and an exchange
 * that is left out, made twice or late, or that moves what stood there before, is found.
 */
#ifndef GPU_LANES_H_INCLUDED
#define GPU_LANES_H_INCLUDED

#include "mtest.h"

enum { GPU_LANES_MOST = 70 };

struct gpu_lane {
    size_t bytes;
    unsigned char *source, *sink; /* pinned, with guard bytes as the buffers */
    unsigned char *out, *in;      /* the buffers */
};

struct gpu_lanes {
    int n, peer, tag;
    struct gpu_lane lane[GPU_LANES_MOST];
    MPI_Request r[2 * GPU_LANES_MOST]; /* receives and sends, in the order that was asked for */
    MPI_Request *receives, *sends;
    /* Exchanges so far: of the functions, or of the host, for which the stream has ended. */
    long made, seen;
};

/* Are there graphs? If not, the test is skipped; another number of ranks is a failure. Sets the
 * device of the rank. */
bool gpu_lanes_can_run(int ranks);
/* May the host start them? Not if their data goes by a staging buffer. */
bool gpu_lanes_host_starts(void);

/* A queue on a stream of its own. */
struct gpu_lanes_side {
    void *stream;
    MPIX_Queue queue;
};
void gpu_lanes_side_make(struct gpu_lanes_side *side);
/* What is in the stream has ended, and nothing of it has failed. */
void gpu_lanes_side_finish(struct gpu_lanes_side *side);
void gpu_lanes_side_free(struct gpu_lanes_side *side);

/* Matched. The peer makes as many, of the same sizes, and in any order. Memory and all that follows
 * is of the current device. */
void gpu_lanes_make(struct gpu_lanes *l, enum mtest_mode mode, int n, const size_t bytes[],
                    int peer, int tag, bool sends_first);
/* Put into a stream, or into its graph: data for the sends, and the look at what was received. */
void gpu_lanes_put(struct gpu_lanes *l, void *stream);
void gpu_lanes_get(struct gpu_lanes *l, void *stream);
/* Put, start, wait and get, all in one stream. */
void gpu_lanes_exchange(struct gpu_lanes *l, MPIX_Queue queue, void *stream);
/* With one call that starts and waits. */
void gpu_lanes_exchange_at_once(struct gpu_lanes *l, MPIX_Queue queue, void *stream);
/* The same with starts by the host, or on a queue of its own if the host may not. Nothing of these
 * lanes is in any stream. */
void gpu_lanes_exchange_by_host(struct gpu_lanes *l);
/* Their streams have ended: so many exchanges were made, and the data of the sends is as it was. */
void gpu_lanes_check(struct gpu_lanes *l, long exchanges, const char *what);
/* Fill all buffers, of which nothing is sent any more; and nobody has written to it. */
void gpu_lanes_mark(struct gpu_lanes *l, unsigned char with);
void gpu_lanes_expect_mark(struct gpu_lanes *l, unsigned char with);
void gpu_lanes_free(struct gpu_lanes *l);

#endif /* GPU_LANES_H_INCLUDED */
