/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_pair.h"

#include <stdlib.h>
#include <string.h>

static int seed_of(const struct gpu_pair *p, int rank, size_t round)
{
    return (int)round + 100 * rank + 17 * p->tag;
}

void gpu_pair_make(struct gpu_pair *p, enum mtest_memory memory, size_t bytes, int peer, int tag,
                   size_t rounds)
{
    *p = (struct gpu_pair){
        .memory = memory, .bytes = bytes, .rounds = rounds, .peer = peer, .tag = tag};
    p->source = mtest_gpu_alloc(MTEST_PINNED, rounds * bytes);
    p->sink = mtest_gpu_alloc(MTEST_PINNED, rounds * bytes);
    p->moves = calloc(2 * rounds, sizeof(*p->moves));
    p->out = mtest_gpu_alloc(memory, bytes);
    p->in = mtest_gpu_alloc(memory, bytes);
    for (size_t k = 0; k < rounds; k++) {
        for (size_t i = 0; i < bytes; i++) {
            p->source[k * bytes + i] = mtest_pattern(seed_of(p, mtest_rank, k), i);
            p->sink[k * bytes + i] = (unsigned char)~mtest_pattern(seed_of(p, peer, k), i);
        }
    }
    MTEST_OK(MPI_Recv_init(p->in, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(MPI_Send_init(p->out, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &p->r[1]));
}

static void move(void *arg)
{
    struct gpu_move *m = arg;

    memcpy(m->to, m->from, m->bytes);
}

/* A copy between memory of the host and of the host holds up the caller on CUDA, until the stream
 * has come there: so a function does it. */
static void put_copy(const struct gpu_pair *p, void *stream, struct gpu_move *m)
{
    if (p->memory == MTEST_DEVICE || p->memory == MTEST_MANAGED) {
        mtest_gpu_copy(stream, m->to, m->from, m->bytes);
    } else {
        mtest_gpu_launch(stream, move, m);
    }
}

void gpu_pair_put(const struct gpu_pair *p, void *stream, size_t round)
{
    p->moves[2 * round] = (struct gpu_move){p->out, p->source + round * p->bytes, p->bytes};
    put_copy(p, stream, &p->moves[2 * round]);
}

void gpu_pair_get(const struct gpu_pair *p, void *stream, size_t round)
{
    p->moves[2 * round + 1] = (struct gpu_move){p->sink + round * p->bytes, p->in, p->bytes};
    put_copy(p, stream, &p->moves[2 * round + 1]);
}

void gpu_pair_exchange(struct gpu_pair *p, MPIX_Queue queue, void *stream, size_t round)
{
    gpu_pair_put(p, stream, round);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, p->r));
    gpu_pair_get(p, stream, round);
}

void gpu_pair_check(const struct gpu_pair *p, size_t rounds, const char *what)
{
    for (size_t k = 0; k < rounds; k++) {
        size_t wrong = 0;

        for (size_t i = 0; i < p->bytes; i++) {
            wrong += p->sink[k * p->bytes + i] != mtest_pattern(seed_of(p, p->peer, k), i);
        }
        if (wrong != 0) {
            mtest_fail(__FILE__, __LINE__, "%s: tag %d, round %zu: %zu of %zu bytes are wrong",
                       what, p->tag, k, wrong, p->bytes);
        }
    }
}

void gpu_pair_free(struct gpu_pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->r[i] != MPI_REQUEST_NULL) {
            MTEST_OK(MPI_Request_free(&p->r[i]));
        }
    }
    mtest_gpu_free(MTEST_PINNED, p->source);
    mtest_gpu_free(MTEST_PINNED, p->sink);
    mtest_gpu_free(p->memory, p->out);
    mtest_gpu_free(p->memory, p->in);
    free(p->moves);
}
