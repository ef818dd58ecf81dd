/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs of the channel cxi come and go. Argument 1: churn (many, while others are under way; run
 * with as few counters or keys as suffice and without fallback: what is not given back is missed),
 * unfired (started at one end only, and freed at both). Argument 2: how often.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 3, SLOW_TAG = 100 };

static int peer;

/* Receives, then as many sends, of one integer each. */
static void make(int n, int first_tag, int in[], int out[], MPI_Request r[])
{
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, first_tag + i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(
            MPI_Send_init(&out[i], 1, MPI_INT, peer, first_tag + i, MPI_COMM_WORLD, &r[n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, r));
}

static void unmake(int n, MPI_Request r[])
{
    for (int i = 0; i < 2 * n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* Some starts of a batch; none of every fourth one. */
static void transfer(MPIX_Queue queue, int batch, int in[PAIRS], int out[PAIRS],
                     MPI_Request r[2 * PAIRS])
{
    for (int k = 0; k < batch % 4; k++) {
        for (int i = 0; i < PAIRS; i++) {
            in[i] = -1;
            out[i] = 100 * batch + 10 * k + i + mtest_rank;
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < PAIRS; i++) {
            MTEST_EQ(in[i], 100 * batch + 10 * k + i + peer);
        }
    }
}

/* Two pairs each way are started at one end only, one by its receive, one by its send, until the
 * others have come and gone. */
static void test_churn(int times)
{
    int slow_in[2] = {-1, -1}, slow_out[2] = {7 + mtest_rank, 9 + mtest_rank};
    int in[PAIRS], out[PAIRS];
    MPIX_Queue slow = MPIX_QUEUE_NULL, queue = MPIX_QUEUE_NULL;
    MPI_Request rest[4], r[2 * PAIRS];

    MTEST_OK(MPIX_Queue_init(&slow, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    make(2, SLOW_TAG, slow_in, slow_out, rest);
    MTEST_OK(MPIX_Enqueue_start(slow, &rest[0]));
    MTEST_OK(MPIX_Enqueue_start(slow, &rest[3]));
    for (int batch = 0; batch < times; batch++) {
        make(PAIRS, 1, in, out, r);
        transfer(queue, batch, in, out, r);
        unmake(PAIRS, r);
    }
    MTEST_EQ(slow_in[0], -1);
    MTEST_EQ(slow_in[1], -1);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Enqueue_start(slow, &rest[1]));
    MTEST_OK(MPIX_Enqueue_start(slow, &rest[2]));
    MTEST_OK(MPIX_Enqueue_waitall(slow, 4, rest));
    MTEST_OK(MPIX_Queue_wait(slow));
    MTEST_EQ(slow_in[0], 7 + peer);
    MTEST_EQ(slow_in[1], 9 + peer);
    unmake(2, rest);
    MTEST_OK(MPIX_Queue_free(&slow));
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* On a queue, which fails when the peer has freed its end; or by the host, which may free what it
 * has started. */
static void start_and_leave(bool by_host, MPI_Request r[2 * PAIRS])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    if (by_host) {
        MTEST_OK(MPI_Startall(2 * PAIRS, r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        unmake(PAIRS, r);
        return;
    }
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
    MTEST_OK(MPIX_Queue_free(&queue));
    unmake(PAIRS, r);
}

/* What was posted for them never fires, and stays with the NIC; all else goes on, with fewer
 * entries and in the end with none. */
static void test_unfired(int times)
{
    int in[PAIRS], out[PAIRS];
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2 * PAIRS];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    for (int t = 0; t < times; t++) {
        memset(in, -1, sizeof in);
        memset(out, 0, sizeof out);
        make(PAIRS, 1, in, out, r);
        transfer(queue, 1 + t % 2, in, out, r);
        if (t % 2 == mtest_rank) {
            start_and_leave(t % 4 < 2, r);
        } else {
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
            unmake(PAIRS, r);
        }
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int times = argc > 2 ? atoi(argv[2]) : 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_CHECK(times > 0);
    if (strcmp(what, "churn") == 0) {
        test_churn(times);
    } else {
        MTEST_CHECK(strcmp(what, "unfired") == 0);
        test_unfired(times);
    }
    return mtest_end();
}
