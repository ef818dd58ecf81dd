/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A small exchange over the channel cxi, whose data is looked at by the stream as soon as the waits
 * are over: sends of three modes, messages of several sizes, requests that are used again and
 * matched again. tests/cxi_variants.sh runs it under every way in which a NIC may behave.
 * Argument 1: "any" if other channels may serve some of the pairs.
 */
#include <string.h>

#include "mtest.h"

enum { PAIRS = 9, ROUNDS = 5, TIMES = 3 };

static const int sizes[PAIRS] = {0, 1, 8, 100, 1000, 70000, 3, 4096, 9};
static const enum mtest_mode modes[3] = {MTEST_SEND, MTEST_RSEND, MTEST_SSEND};
static struct mtest_buf in[PAIRS], out[PAIRS];

struct look {
    int base;
};

/* On the stream: what was received, and not a byte more. */
static void look_fn(void *arg)
{
    const struct look *look = arg;

    for (int i = 0; i < PAIRS; i++) {
        MTEST_PART(&in[i], sizes[i], look->base + i);
    }
}

static int base_of(int rank, int time, int round)
{
    return 1000 * rank + 100 * time + 10 * round;
}

static void exchange(MPIX_Host_stream stream, MPIX_Queue queue, MPI_Request r[2 * PAIRS], int time,
                     int round)
{
    struct look look = {.base = base_of(1 - mtest_rank, time, round)};

    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_clear(&in[i]);
        mtest_buf_fill(&out[i], base_of(mtest_rank, time, round) + i);
    }
    /* A ready send may find its buffer still in use otherwise. */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
    /* In turns, so that one is looked for while others are under way. */
    MTEST_OK(MPIX_Enqueue_waitall(queue, PAIRS, r));
    MTEST_OK(MPIX_Host_stream_launch(stream, look_fn, &look));
    MTEST_OK(MPIX_Enqueue_waitall(queue, PAIRS, r + PAIRS));
    MTEST_OK(MPIX_Queue_wait(queue));
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2 * PAIRS];
    int peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_make(&in[i], MPI_BYTE, sizes[i] + 5);
        mtest_buf_make(&out[i], MPI_BYTE, sizes[i]);
    }
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < PAIRS; i++) {
            MTEST_OK(
                MPI_Recv_init(in[i].buf, sizes[i] + 5, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[i]));
            MTEST_OK(mtest_init_raw(modes[i % 3], out[i].buf, sizes[i], MPI_BYTE, peer, i,
                                    MPI_COMM_WORLD, &r[PAIRS + i]));
        }
        MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
        for (int round = 0; round < ROUNDS; round++) {
            exchange(stream, queue, r, time, round);
        }
        for (int i = 0; i < 2 * PAIRS; i++) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
    if (argc < 2 || strcmp(argv[1], "any") != 0) {
        MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"), TIMES * ROUNDS * 2 * PAIRS);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
    return mtest_end();
}
