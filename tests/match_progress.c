/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Who moves matching along: with MPI_THREAD_MULTIPLE it needs no call; below it, any MPI_Wait or
 * MPI_Test and any call of the library. Argument 1: multiple, or polled.
 */
#include "mtest.h"

#include <string.h>

enum { TAG = 9 };

static int in;
static int out;

static MPI_Request make(int is_send)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (is_send) {
        MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r));
    }
    return r;
}

/* One rank begins and then sits in a barrier; the other blocks in Match and comes to the barrier
 * only when that is done. */
static void test_barrier(int is_send, int waiter)
{
    MPI_Request r = make(is_send);
    MPI_Request match = MPI_REQUEST_NULL;

    if (mtest_rank == waiter) {
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    } else {
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Request_free(&r));
}

/* Nobody calls anything but a barrier: both are matched by themselves. */
static void test_alone(int is_send)
{
    MPI_Request r = make(is_send);
    MPI_Request match = MPI_REQUEST_NULL;
    unsigned tries = 0;
    int flag = 0;

    MTEST_OK(MPIX_Imatch(&r, &match));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    while (!flag) {
        MTEST_OK(MPI_Request_get_status(match, &flag, MPI_STATUS_IGNORE));
        mtest_backoff(&tries);
    }
    MTEST_OK(MPIX_Is_matched(r, &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&r));
}

/* A blocking MPI_Wait or MPI_Test for something of the application moves matching along: the
 * message waited for is sent only after the peer's Match has returned. */
static void test_unrelated_wait(int is_send, int waiter, int with_test)
{
    MPI_Request r = make(is_send);
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Request other = MPI_REQUEST_NULL;
    unsigned tries = 0;
    int word = 0;
    int flag = 0;

    if (mtest_rank == waiter) {
        MTEST_OK(MPI_Irecv(&word, 1, MPI_INT, 1 - mtest_rank, TAG + 1, MPI_COMM_WORLD, &other));
        MTEST_OK(MPIX_Imatch(&r, &match));
        while (with_test && !flag) {
            MTEST_OK(MPI_Test(&other, &flag, MPI_STATUS_IGNORE));
            mtest_backoff(&tries);
        }
        MTEST_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
        MTEST_EQ(word, 5);
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    } else {
        MTEST_OK(MPIX_Match(&r));
        word = 5;
        MTEST_OK(MPI_Send(&word, 1, MPI_INT, waiter, TAG + 1, MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Request_free(&r));
}

/* What waits for something else returns when that is there, though the peer matches only later. */
static void test_other_first(int is_send, int waiter)
{
    MPI_Request r = make(is_send), others[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Status statuses[2];
    int word = 0;

    if (mtest_rank == waiter) {
        MTEST_OK(MPI_Recv_init(&out, 1, MPI_INT, 1 - mtest_rank, TAG + 2, MPI_COMM_WORLD,
                               &others[0])); /* inactive */
        MTEST_OK(MPI_Irecv(&word, 1, MPI_INT, 1 - mtest_rank, TAG + 1, MPI_COMM_WORLD, &others[1]));
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Waitall(2, others, statuses));
        MTEST_EQ(word, 6);
        MTEST_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
        MTEST_EQ(statuses[1].MPI_SOURCE, 1 - mtest_rank);
        MTEST_CHECK(others[1] == MPI_REQUEST_NULL);
        MTEST_OK(MPI_Send(&word, 1, MPI_INT, 1 - mtest_rank, TAG + 1, MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
        MTEST_OK(MPI_Request_free(&others[0]));
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        word = 6;
        MTEST_OK(MPI_Send(&word, 1, MPI_INT, waiter, TAG + 1, MPI_COMM_WORLD));
        MTEST_OK(MPI_Recv(&word, 1, MPI_INT, waiter, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_OK(MPIX_Match(&r));
    }
    MTEST_OK(MPI_Request_free(&r));
}

/* Is_matched alone is enough to poll with. */
static void test_is_matched(int is_send)
{
    MPI_Request r = make(is_send);
    MPI_Request match = MPI_REQUEST_NULL;
    unsigned tries = 0;
    int flag = -1;

    MTEST_OK(MPIX_Is_matched(r, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPIX_Imatch(&r, &match));
    while (flag != 1) {
        MTEST_OK(MPIX_Is_matched(r, &flag));
        mtest_backoff(&tries);
    }
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    int multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;

    mtest_begin(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
    for (int round = 0; round < 4; round++) {
        int is_send = (mtest_rank + round) % 2;

        if (multiple) {
            test_barrier(is_send, round / 2);
            test_alone(is_send);
        }
        test_unrelated_wait(is_send, round / 2, 0);
        test_unrelated_wait(is_send, round / 2, 1);
        test_other_first(is_send, round / 2);
        test_is_matched(is_send);
    }
    return mtest_end();
}
