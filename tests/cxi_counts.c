/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What an exchange with eight neighbours costs on the channel cxi, as doc/cxi.md has it: at most 24
 * posts with ready sends and 32 with standard ones, one launch per startall and one per waitall;
 * and that all of it is posted while the stream has yet to come to it.
 */
#include "mtest.h"

enum { NEIGHBOURS = 8, ROUNDS = 50 };

static void check(MPIX_Queue queue, enum mtest_mode mode, long posts, long rings)
{
    MPI_Request r[2 * NEIGHBOURS];
    int in[NEIGHBOURS], out[NEIGHBOURS], peer = 1 - mtest_rank;
    long posts_before = mtest_queue_count(queue, "mpixq_posts");
    long rings_before = mtest_queue_count(queue, "mpixq_rings");
    long launches_before = mtest_queue_count(queue, "mpixq_launches");

    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(mtest_init_raw(mode, &out[i], sizeof out[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                                &r[NEIGHBOURS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < NEIGHBOURS; i++) {
            in[i] = -1;
            out[i] = 1000 * k + 10 * i + mtest_rank;
        }
        /* A ready send may find its buffer still in use otherwise. */
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < NEIGHBOURS; i++) {
            MTEST_EQ(in[i], 1000 * k + 10 * i + peer);
        }
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts") - posts_before, posts * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings") - rings_before, rings * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_launches") - launches_before, 2 * ROUNDS);
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* Rounds that are enqueued behind something else are posted meanwhile, though no call waits. */
static void check_ahead(MPIX_Host_stream stream, MPIX_Queue queue)
{
    enum { AHEAD = 2 }; /* within any budget that the test runs with */
    MPI_Request r[2 * NEIGHBOURS];
    int in[NEIGHBOURS], out[NEIGHBOURS], peer = 1 - mtest_rank;
    struct mtest_gate gate = {0};
    unsigned tries = 0;

    for (int i = 0; i < NEIGHBOURS; i++) {
        out[i] = 10 * i + mtest_rank;
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[NEIGHBOURS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    for (int k = 0; k < AHEAD; k++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
    }
    while (mtest_queue_count(queue, "mpixq_posts") < 4L * NEIGHBOURS * AHEAD) {
        mtest_backoff(&tries);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings"), 0);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), 4 * NEIGHBOURS * AHEAD);
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_EQ(in[i], 10 * i + peer);
    }
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Host_stream stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    check(queue, MTEST_RSEND, 3 * NEIGHBOURS, 1);
    check(queue, MTEST_SEND, 4 * NEIGHBOURS, NEIGHBOURS + 1);
    check(queue, MTEST_SSEND, 4 * NEIGHBOURS, NEIGHBOURS + 1);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"), 3 * 2 * NEIGHBOURS * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_fallback"), 0);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    check_ahead(stream, queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
