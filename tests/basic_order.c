/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Stream order: a ping-pong and a relay that are enqueued whole before anything runs, several
 * pairs with the same envelope, and queues that work at the same time.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { HOPS = 200, PAIRS = 5 };

struct counter {
    long *value; /* what travels; touched by the stream's thread only */
    int wrong;
    long expected;
};

/* Check what came and change it: a start that ran too early or too late would show. */
static void step(void *arg)
{
    struct counter *c = arg;

    if (*c->value != c->expected) {
        c->wrong++;
    }
    *c->value += 1;
    c->expected = *c->value + mtest_size - 1;
}

/* A value goes round the ring and every rank adds 1; the host enqueues all hops and only waits. */
static void test_relay(MPIX_Queue queue, MPIX_Host_stream stream)
{
    int next = (mtest_rank + 1) % mtest_size;
    int last = (mtest_rank + mtest_size - 1) % mtest_size;
    long *value = mtest_gpu_mirror(sizeof(*value)), *at = mtest_gpu_at(value);
    struct counter c = {.value = value, .expected = mtest_rank};
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(at, 1, MPI_LONG, last, 1, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(at, 1, MPI_LONG, next, 1, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    for (int i = 0; i < HOPS; i++) {
        if (i > 0 || mtest_rank > 0) {
            MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
            MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
        }
        mtest_gpu_get_in(stream, value);
        MTEST_OK(MPIX_Host_stream_launch(stream, step, &c));
        mtest_gpu_put_in(stream, value);
        MTEST_OK(MPIX_Enqueue_start(queue, &r[1]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[1]));
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(c.wrong, 0);
    if (mtest_rank == 0) {
        mtest_gpu_get(value);
        MTEST_EQ(*value, (long)HOPS * mtest_size);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* Pairs of one envelope stay the pairs that matching made, whatever order they start in. */
static void test_pairs_are_fixed(MPIX_Queue queue)
{
    int next = (mtest_rank + 1) % mtest_size;
    int last = (mtest_rank + mtest_size - 1) % mtest_size;
    int *in = mtest_gpu_mirror(PAIRS * sizeof(*in));
    int *out = mtest_gpu_mirror(PAIRS * sizeof(*out));
    MPI_Request recv[PAIRS];
    MPI_Request send[PAIRS];

    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(
            MPI_Recv_init(mtest_gpu_at(&in[i]), 1, MPI_INT, last, 7, MPI_COMM_WORLD, &recv[i]));
        MTEST_OK(
            MPI_Send_init(mtest_gpu_at(&out[i]), 1, MPI_INT, next, 7, MPI_COMM_WORLD, &send[i]));
    }
    for (int i = 0; i < PAIRS; i++) {
        MPI_Request both[2] = {send[i], recv[i]};

        MTEST_OK(MPIX_Matchall(2, both));
    }
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < PAIRS; i++) {
            in[i] = -1;
            out[i] = round * 100 + mtest_rank * 10 + i;
        }
        mtest_gpu_put(in);
        mtest_gpu_put(out);
        for (int i = 0; i < PAIRS; i++) {
            MTEST_OK(MPIX_Enqueue_start(queue, &recv[(i * 2 + round) % PAIRS]));
        }
        for (int i = 0; i < PAIRS; i++) {
            MTEST_OK(MPIX_Enqueue_start(queue, &send[(i * 3 + mtest_rank) % PAIRS]));
        }
        MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
        MTEST_OK(MPIX_Queue_wait(queue));
        mtest_gpu_get(in);
        for (int i = 0; i < PAIRS; i++) {
            MTEST_EQ(in[i], round * 100 + last * 10 + i);
        }
    }
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&recv[i]));
        MTEST_OK(MPI_Request_free(&send[i]));
    }
}

/* Two queues with streams of their own run relays of their own, held up differently. */
static void test_two_queues(void)
{
    enum { QUEUES = 2 };
    int next = (mtest_rank + 1) % mtest_size;
    int last = (mtest_rank + mtest_size - 1) % mtest_size;
    MPIX_Queue q[QUEUES];
    MPI_Request r[QUEUES][2];
    int *in = mtest_gpu_mirror(QUEUES * sizeof(*in));
    int *out = mtest_gpu_mirror(QUEUES * sizeof(*out));

    for (int k = 0; k < QUEUES; k++) {
        int *to = mtest_gpu_at(&in[k]), *from = mtest_gpu_at(&out[k]);

        out[k] = (k + 1) * 100 + mtest_rank;
        MTEST_OK(MPIX_Queue_init(&q[k], MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPI_Recv_init(to, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &r[k][0]));
        MTEST_OK(MPI_Send_init(from, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &r[k][1]));
        MTEST_OK(MPIX_Matchall(2, r[k]));
    }
    mtest_gpu_put(out);
    for (int i = 0; i < HOPS; i++) {
        int k = (i + mtest_rank) % QUEUES;

        for (int n = 0; n < QUEUES; n++, k = 1 - k) {
            MTEST_OK(MPIX_Enqueue_startall(q[k], 2, r[k]));
            MTEST_OK(MPIX_Enqueue_waitall(q[k], 2, r[k]));
        }
    }
    for (int k = QUEUES - 1; k >= 0; k--) {
        MTEST_OK(MPIX_Queue_wait(q[k]));
        mtest_gpu_get(in);
        MTEST_EQ(in[k], (k + 1) * 100 + last);
    }
    /* After its wait a request may move to the other queue, and the peer's need not. */
    MTEST_OK(MPIX_Enqueue_start(q[1], &r[0][0]));
    MTEST_OK(MPIX_Enqueue_start(q[0], &r[0][1]));
    MTEST_OK(MPIX_Enqueue_wait(q[1], &r[0][0]));
    MTEST_OK(MPIX_Enqueue_wait(q[0], &r[0][1]));
    for (int k = 0; k < QUEUES; k++) {
        MTEST_OK(MPIX_Queue_wait(q[k]));
    }
    for (int k = 0; k < QUEUES; k++) {
        MTEST_OK(MPI_Request_free(&r[k][0]));
        MTEST_OK(MPI_Request_free(&r[k][1]));
        MTEST_OK(MPIX_Queue_free(&q[k]));
    }
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    test_relay(queue, stream);
    test_pairs_are_fixed(queue);
    test_two_queues();
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
