/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How many trigger entries a rank uses while its stream stands still:
 *
 *     cxi_budget ENTRIES [SERVICES]
 *
 * With SERVICES the ranks are in turns of so many services of Slingshot, each of which has entries
 * of its own, as if they were of several job steps. More starts are enqueued than have room, all
 * ranks have chosen their NIC by then, and what is posted is the rank's share, no less and no more.
 * All data arrives, by the NIC and by the host.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIRS = 32 };

/* What the progress thread posts comes a little later; what it may not post never comes. */
static void expect_posts(MPIX_Queue queue, long posts)
{
    unsigned tries = 0;

    while (mtest_queue_count(queue, "mpixq_posts") < posts) {
        mtest_backoff(&tries);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    (void)usleep(50000);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), posts);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A ring: each rank sends PAIRS messages to the next one. */
static void exchange(MPIX_Host_stream stream, MPIX_Queue queue, long entries)
{
    int next = (mtest_rank + 1) % mtest_size, last = (mtest_rank + mtest_size - 1) % mtest_size;
    int in[PAIRS + 2], out[PAIRS];
    MPI_Request r[2 * PAIRS];
    struct mtest_gate gate = {0};

    for (int i = 0; i < PAIRS + 2; i++) {
        in[i] = -1;
    }
    for (int i = 0; i < PAIRS; i++) {
        out[i] = 100 * mtest_rank + i;
        MTEST_OK(MPI_Recv_init(&in[i + 1], 1, MPI_INT, last, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &r[PAIRS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
    expect_posts(queue, entries);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[PAIRS + 1], -1);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_EQ(in[i + 1], 100 * last + i);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* As a launcher does, before the fabric is opened. */
static void choose_service(int services)
{
    char number[16];

    (void)snprintf(number, sizeof number, "%d", 100 + mtest_rank % services);
    MTEST_EQ(setenv("SLINGSHOT_DEVICES", "cxi0", 1), 0);
    MTEST_EQ(setenv("SLINGSHOT_SVC_IDS", number, 1), 0);
    MTEST_EQ(setenv("SLINGSHOT_VNIS", "17", 1), 0);
}

int main(int argc, char **argv)
{
    long entries = argc > 1 ? atol(argv[1]) : 0;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Host_stream stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc > 2) {
        choose_service(atoi(argv[2]));
    }
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    exchange(stream, queue, entries);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
