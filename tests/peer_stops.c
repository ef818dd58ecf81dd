/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A peer that is stopped for longer than MPIXQ_LIVENESS_S has not ended: nothing fails, and when it
 * goes on, what waited for it completes. Neither has one fail whose first thread does not run, nor
 * does a wait fail for which the peer is just late.
 */
#include "mtest.h"

#include <signal.h>
#include <unistd.h>

enum { TAG = 7, STOPPED_S = 4 };

static void sleep_s(unsigned left)
{
    while (left > 0) {
        left = sleep(left);
    }
}

/* Rank 0 waits while rank 1 is stopped, or just sleeps. */
static void test_wait(int stops, int sends)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request request;
    int data = 0, flag = 1, is_send = sends == (mtest_rank == 0);
    long pid = getpid();

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_init_raw(is_send ? MTEST_SSEND : MTEST_RECV, &data, 1, MPI_INT, 1 - mtest_rank,
                            TAG, MPI_COMM_WORLD, &request));
    data = is_send ? 42 : 0;
    MTEST_OK(MPIX_Match(&request));
    MTEST_OK(MPI_Bcast(&pid, 1, MPI_LONG, 1, MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &request));
        MTEST_OK(MPIX_Enqueue_wait(queue, &request));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        sleep_s(STOPPED_S);
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, 0);
        MTEST_EQ(kill((pid_t)pid, SIGCONT), 0);
    } else {
        if (stops) {
            MTEST_EQ(raise(SIGSTOP), 0);
        } else {
            sleep_s(STOPPED_S + 1);
        }
        MTEST_OK(MPIX_Enqueue_start(queue, &request));
        MTEST_OK(MPIX_Enqueue_wait(queue, &request));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(data, 42);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&request));
}

int main(int argc, char *argv[])
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_wait(1, 0);
    test_wait(1, 1);
    test_wait(0, 1);
    return mtest_end();
}
