/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A process with several NICs spreads its pairs over them:
 *
 *     cxi_nics spread N    N NICs serve each queue, and as many counters are rung for the receives
 *                          and the eager sends of one call, each NIC having one of the queue
 *     cxi_nics unequal     the ends have different numbers of them
 *     cxi_nics limit       the double's NICs have the bandwidth that was set, or less
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 8, ROUNDS = 10 };

struct buffers {
    int in[NEIGHBOURS][3], out[NEIGHBOURS]; /* a guard before and behind */
};

static void fill(struct buffers *b, int round)
{
    for (int i = 0; i < NEIGHBOURS; i++) {
        b->in[i][0] = b->in[i][1] = b->in[i][2] = -1;
        b->out[i] = 1000 * round + 10 * i + mtest_rank;
    }
}

static void compare(const struct buffers *b, int round)
{
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_EQ(b->in[i][0], -1);
        MTEST_EQ(b->in[i][1], 1000 * round + 10 * i + 1 - mtest_rank);
        MTEST_EQ(b->in[i][2], -1);
    }
}

static void exchange(MPIX_Queue queue, enum mtest_mode mode, long nics)
{
    struct buffers b;
    MPI_Request r[2 * NEIGHBOURS];
    int peer = 1 - mtest_rank;
    long posts = mtest_queue_count(queue, "mpixq_posts");
    long rings = mtest_queue_count(queue, "mpixq_rings");
    long own = mode == MTEST_SSEND ? NEIGHBOURS : 0; /* each of these has a counter of its own */

    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Recv_init(&b.in[i][1], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(mtest_init_raw(mode, &b.out[i], sizeof b.out[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                                &r[2 * i + 1]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    for (int k = 0; k < ROUNDS; k++) {
        fill(&b, k);
        /* A ready send may find its buffer still in use otherwise. */
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        compare(&b, k);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts") - posts,
             ROUNDS * NEIGHBOURS * (mode == MTEST_RSEND ? 3 : 4));
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings") - rings, ROUNDS * (own + nics));
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

static void test_spread(long nics)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_EQ(mtest_queue_count(queue, "mpixq_nics"), nics);
    exchange(queue, MTEST_SEND, nics);
    exchange(queue, MTEST_SSEND, nics);
    exchange(queue, MTEST_RSEND, nics);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* So many bytes each way take at least so long. */
static void test_limit(void)
{
    enum { BYTES = 4 << 20 };
    const char *limit = getenv("CXI_DOUBLE_MBPS");
    char *in = calloc(1, BYTES), *out = calloc(1, BYTES);
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2];
    double begin;

    MTEST_CHECK(limit != NULL && in != NULL && out != NULL);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPI_Recv_init(in, BYTES, MPI_BYTE, 1 - mtest_rank, 1, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, BYTES, MPI_BYTE, 1 - mtest_rank, 1, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    memset(out, 7, BYTES);
    begin = MPI_Wtime();
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_CHECK(MPI_Wtime() - begin >= BYTES / (1e6 * atof(limit != NULL ? limit : "1")));
    MTEST_CHECK(in != NULL && in[0] == 7 && memcmp(in, in + 1, BYTES - 1) == 0);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long nics = argc > 2 ? atol(argv[2]) : 0;

    if (strcmp(what, "unequal") == 0) {
        nics = mtest_early_rank() == 0 ? 1 : 3;
        (void)setenv("MPIXQ_NICS", nics == 1 ? "1" : "3", 1);
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (strcmp(what, "limit") == 0) {
        test_limit();
    } else {
        MTEST_CHECK(strcmp(what, "spread") == 0 || strcmp(what, "unequal") == 0);
        test_spread(nics);
    }
    return mtest_end();
}
