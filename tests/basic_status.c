/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPI_Request_get_status of requests that a queue starts: flag 0 while pending, then flag 1 with
 * source, tag and count of the pair until the next start.
 */
#include "mtest.h"

static void expect_pending(MPI_Request r)
{
    int flag = -1;

    MTEST_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 0);
}

static void expect_received(MPI_Request r, int source, int tag, int ints)
{
    MPI_Status status;
    int flag = -1;
    int count = -1;
    int cancelled = -1;

    status.MPI_SOURCE = status.MPI_TAG = -77;
    MTEST_OK(MPI_Request_get_status(r, &flag, &status));
    MTEST_EQ(flag, 1);
    MTEST_EQ(status.MPI_SOURCE, source);
    MTEST_EQ(status.MPI_TAG, tag);
    MTEST_OK(MPI_Get_count(&status, MPI_INT, &count));
    MTEST_EQ(count, ints);
    MTEST_OK(MPI_Test_cancelled(&status, &cancelled));
    MTEST_EQ(cancelled, 0);
}

static void expect_complete(MPI_Request r)
{
    int flag = -1;

    MTEST_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 1);
}

/* A held stream keeps the start pending; the receive is longer than what comes. */
static void test_pending_then_complete(MPIX_Queue queue, MPIX_Host_stream stream)
{
    enum { SENT = 5, ROOM = 9 };
    int peer = 1 - mtest_rank;
    struct mtest_buf in;
    struct mtest_buf out;
    MPI_Request r[2];

    mtest_buf_make(&in, MPI_INT, ROOM);
    mtest_buf_make(&out, MPI_INT, SENT);
    mtest_buf_fill(&out, 1 + mtest_rank);
    MTEST_OK(mtest_init(MTEST_RECV, &in, peer, 20 + peer, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(mtest_init(MTEST_SEND, &out, peer, 20 + mtest_rank, MPI_COMM_WORLD, &r[1]));
    expect_complete(r[0]);
    MTEST_OK(MPIX_Matchall(2, r));
    for (int i = 0; i < 4; i++) {
        struct mtest_gate gate = {0};

        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        expect_pending(r[0]);
        expect_pending(r[1]);
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        expect_pending(r[0]);
        mtest_gate_open(&gate);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPIX_Host_stream_synchronize(stream));
        for (int again = 0; again < 2; again++) {
            expect_received(r[0], peer, 20 + peer, SENT);
            expect_complete(r[1]);
        }
        MTEST_PART(&in, SENT, 1 + peer);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

/* Polling the status instead of waiting for the queue sees completion too. */
static void test_poll(MPIX_Queue queue)
{
    int peer = 1 - mtest_rank;
    int in = 0;
    int out = 3 + mtest_rank;
    int flag = 0;
    unsigned tries = 0;
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    while (!flag) {
        MTEST_OK(MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE));
        mtest_backoff(&tries);
    }
    MTEST_EQ(in, 3 + peer);
    expect_received(r[0], peer, 8, 1);
    /* The message is here; the request belongs to the queue until its wait has completed. */
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* The source is a rank of the request's communicator, here one with the ranks turned round. */
static void test_source_rank(MPIX_Queue queue)
{
    MPI_Comm turned = MPI_COMM_NULL;
    int me = -1;
    int in = 0;
    int out = 1;
    MPI_Request r[2];

    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mtest_size - mtest_rank, &turned));
    MTEST_OK(MPI_Comm_rank(turned, &me));
    MTEST_EQ(me, 1 - mtest_rank);
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 1 - me, 2, turned, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, 1 - me, 2, turned, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Comm_free(&turned));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    expect_received(r[0], 1 - me, 2, 1);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* Requests to nobody and to oneself, and an empty message. */
static void test_special(MPIX_Queue queue)
{
    int in = 0;
    int out = 1;
    MPI_Request r[4];

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, 6, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Send_init(&out, 0, MPI_INT, mtest_rank, 6, MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &r[3]));
    MTEST_OK(MPIX_Matchall(4, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 4, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 4, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    expect_received(r[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    expect_received(r[1], mtest_rank, 6, 0);
    expect_complete(r[2]);
    expect_complete(r[3]);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    test_pending_then_complete(queue, stream);
    test_poll(queue);
    test_source_rank(queue);
    test_special(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
