/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu_pair.h - a receive and a send in memory of a GPU, whose data streams bring and take
 */
#ifndef GPU_PAIR_H_INCLUDED
#define GPU_PAIR_H_INCLUDED

#include "mtest.h"
#include "mtest_gpu.h"

struct gpu_move {
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
};

struct gpu_pair {
    enum mtest_memory memory;
    size_t bytes, rounds;
    int peer, tag;
    unsigned char *source, *sink; /* rounds times bytes, pinned */
    unsigned char *out, *in;
    struct gpu_move *moves; /* two of each round, for memory of the host */
    MPI_Request r[2];       /* of the receive, of the send */
};

/* Not matched yet. The peer makes the same. Memory is that of the current device. */
void gpu_pair_make(struct gpu_pair *p, enum mtest_memory memory, size_t bytes, int peer, int tag,
                   size_t rounds);
/* Put into a stream: data of a round for the send, and where that of the receive goes. */
void gpu_pair_put(const struct gpu_pair *p, void *stream, size_t round);
void gpu_pair_get(const struct gpu_pair *p, void *stream, size_t round);
/* Put, start, wait and get, all in one stream. */
void gpu_pair_exchange(struct gpu_pair *p, MPIX_Queue queue, void *stream, size_t round);
/* What was received until now, element by element; its streams are done. */
void gpu_pair_check(const struct gpu_pair *p, size_t rounds, const char *what);
void gpu_pair_free(struct gpu_pair *p);

#endif /* GPU_PAIR_H_INCLUDED */
