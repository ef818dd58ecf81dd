/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * CPU time that the library uses while the application sleeps: less than 5 ms in a second with
 * nothing outstanding; some 20 with a receive or a match outstanding, which a busy or slow machine
 * makes up to 120. One that does not sleep takes half a second at least on two cores.
 */
#include "mtest.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { TAG = 1, MEASURE_MS = 1000, SETTLE_MS = 200, ATTEMPTS = 5, MOST_MS = 250 };

static double cpu_ms(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

static void sleep_ms(int ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) != 0) {
    }
}

/* CPU time in ms for each second of a sleep. */
static double measure(void)
{
    struct timespec begin;
    struct timespec end;
    double before = cpu_ms();
    double used;

    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    sleep_ms(MEASURE_MS);
    used = cpu_ms() - before;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    /* On a machine that is busy with others the sleep is longer than it should be. */
    return used /
           ((double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
}

/* All ranks sleep at the same time, so none measures another's work. A library that does not sleep
 * shows it in each measurement; one that does may be disturbed in some, as when a busy machine lets
 * the caches go cold between two polls. */
static void expect_ms(const char *what, double limit_per_s)
{
    double least = 1e9;
    int more = 1;
    int n;

    for (n = 0; n < ATTEMPTS && more; n++) {
        double used;
        int mine;

        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        sleep_ms(SETTLE_MS);
        used = measure();
        sleep_ms(SETTLE_MS);
        least = used < least ? used : least;
        mine = least > limit_per_s;
        MTEST_OK(MPI_Allreduce(&mine, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
    if (least > limit_per_s) {
        mtest_fail(__FILE__, __LINE__, "%s: %.1f ms of CPU time in a second, allowed %.1f", what,
                   least, limit_per_s);
    } else if (mtest_rank == 0) {
        printf("%s: %.1f ms of CPU time in a second, measured %d times\n", what, least, n);
    }
}

/* The pair is freed at once on one side, and later on the other: what the first says of it is under
 * way until the second takes a message, and must not keep the first awake. */
static void free_at_once(MPIX_Queue queue, int peer)
{
    int data[2] = {0, 1};
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Request_free(&r[1]));
    }
    expect_ms("one end of a pair freed", 5);
    MTEST_OK(MPI_Request_free(&r[0]));
    if (mtest_rank != 0) {
        MTEST_OK(MPI_Request_free(&r[1]));
    }
}

int main(int argc, char **argv)
{
    int peer;
    int in = -1;
    int out = 8;
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue second = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = mtest_size - 1 - mtest_rank;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&second, MPIX_QUEUE_AUTO, NULL));
    expect_ms("unused queues", 5);
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    MTEST_EXCHANGE(second, MPI_COMM_WORLD, peer);
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    expect_ms("after an exchange", 5);
    MTEST_OK(MPIX_Imatch(&r[0], &match));
    expect_ms("a match outstanding", MOST_MS);
    MTEST_OK(MPIX_Match(&r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    expect_ms("matched requests", 5);
    MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
    expect_ms("a receive started", MOST_MS);
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    expect_ms("a receive waited for", MOST_MS);
    MTEST_OK(MPIX_Enqueue_start(second, &r[1]));
    MTEST_OK(MPIX_Enqueue_wait(second, &r[1]));
    MTEST_OK(MPIX_Queue_wait(second));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in, 8);
    expect_ms("after all", 5);
    free_at_once(queue, peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&second));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
