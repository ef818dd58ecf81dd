/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_DUMP=1: SIGUSR2 has a process say what is pending in it. Arguments:
 *
 *     dump      the program has no handler of its own, and ranks signal themselves and each other
 *     chained   it has one, which is called each time, too; one that it installs later is noticed
 *     polled    below MPI_THREAD_MULTIPLE the process says it in its next call that waits
 *     off       without MPIXQ_DUMP the signal is the program's alone
 */
#include "capture.h"
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 7, TAG_PARTED = 20, N = 3, WORD = 64 };

static volatile sig_atomic_t calls; /* of the program's handler */
static volatile sig_atomic_t had_info;
static int in[N], out[N];
static long pids[2];

static void on_usr2(int number, siginfo_t *info, void *context)
{
    (void)context;
    calls++;
    had_info = info != NULL && info->si_signo == number && info->si_pid == getpid();
}

static void other_handler(int number)
{
    (void)number;
}

static void handle(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

    (void)sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_usr2;
    MTEST_CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
}

static void make(int is_receive, int tag, int *at, MPI_Request *r)
{
    MTEST_OK(mtest_init_raw(is_receive ? MTEST_RECV : MTEST_SEND, at, 1, MPI_INT, 1 - mtest_rank,
                            tag, MPI_COMM_WORLD, r));
}

static void signal_rank(int rank)
{
    MTEST_CHECK(kill((pid_t)pids[rank], SIGUSR2) == 0);
}

/* Rank 0 waits for receives of which rank 1 starts none before it was said: a wait, a start without
 * one, and what stands behind a function that does not end. */
static void test_queue(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_gate gate = {0};
    char on_queue[WORD], behind[WORD];
    MPI_Request r[N];

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    (void)snprintf(on_queue, WORD, "on queue %ld", mtest_queue_count(queue, "mpixq_queue_number"));
    (void)snprintf(behind, WORD, "dump: queue %ld has 3 starts that its stream has not reached",
                   mtest_queue_count(queue, "mpixq_queue_number"));
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        out[i] = 10 + i;
        make(mtest_rank == 0, TAG + i, mtest_rank == 0 ? &in[i] : &out[i], &r[i]);
    }
    MTEST_OK(MPIX_Matchall(N, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_startall(queue, N, r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[1]));
        signal_rank(0);
        CAPTURE_WAIT(0, 1, behind, "the first receive from 1 tag ", "4 bytes)");
        mtest_gate_open(&gate);
        /* Until the stream is seen in its wait: it gets there at some time. */
        for (int i = 0; i < 600 && CAPTURE_COUNT(0, "whose stream waits for it: ") == 0; i++) {
            signal_rank(0);
            (void)usleep(50000);
        }
        CAPTURE_WAIT(0, 1,
                     "dump: start 1 of receive from 1 tag 8 (rank 1 of MPI_COMM_WORLD, 4 bytes)",
                     on_queue, "whose stream waits for it: it is started here and lacks the data");
        CAPTURE_WAIT(0, 1, "dump: start 1 of receive from 1 tag 7 (", on_queue, "without a wait: ");
        CAPTURE_WAIT(0, 1, "dump: 0 requests are being matched, 3 have a start that is pending");
    } else {
        CAPTURE_WAIT(0, 1, "whose stream waits for it: ");
        CAPTURE_WAIT(0, 1, "dump: start 1 of receive from 1 tag 7 (", "without a wait: ");
        MTEST_OK(MPIX_Enqueue_startall(queue, N, r));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, N, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(in[i], mtest_rank == 0 ? 10 + i : -1);
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    /* A dump tells of now. */
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "dump: 0 requests are being matched, 0 have"), 0);
    signal_rank(mtest_rank);
    CAPTURE_WAIT(mtest_rank, 1, "dump: 0 requests are being matched, 0 have a start that is");
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 matches a send, and rank 1 does only when rank 0 has said so. */
static void test_match(void)
{
    MPI_Request r;

    make(mtest_rank == 1, TAG + N, mtest_rank == 1 ? &in[0] : &out[0], &r);
    if (mtest_rank == 1) {
        for (int i = 0; i < 600 && CAPTURE_COUNT(0, "dump: MPIX_Match waits for") == 0; i++) {
            signal_rank(0);
            (void)usleep(50000);
        }
        CAPTURE_WAIT(
            0, 1, "dump: MPIX_Match waits for 1 of 1 requests, the first send to 1 tag 10 (rank 1",
            "the peer ");
        CAPTURE_WAIT(0, 1, "dump: 1 requests are being matched, 0 have a start that is pending");
    }
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 waits by MPI_Wait for what it has started, and rank 1 starts only when that was said. */
static void test_host(bool has_thread)
{
    MPI_Request r;

    in[0] = -1;
    out[0] = 10;
    make(mtest_rank == 0, TAG, mtest_rank == 0 ? &in[0] : &out[0], &r);
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Start(&r));
        signal_rank(0);
        if (!has_thread) {
            CAPTURE_WAIT(0, 1, "dump: comes when the process next waits in a function");
            MTEST_EQ(CAPTURE_COUNT(0, "dump: start "), 0);
        }
    } else {
        CAPTURE_WAIT(0, 1, "dump: start 1 of receive from 1 tag 7 (", "by the host");
        MTEST_OK(MPI_Start(&r));
    }
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MTEST_EQ(mtest_rank == 0 ? in[0] : 10, 10);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A partitioned request is told as one, with none of its messages. */
static void test_parted(void)
{
    static const char one[] = "dump: 0 requests are being matched, 1 have a start that is pending";
    int starts, ends;
    MPI_Request r;

    MTEST_OK(mtest_rank == 0 ? MPIX_Precv_init(in, N, 1, MPI_INT, 1, TAG_PARTED, MPI_COMM_WORLD,
                                               MPI_INFO_NULL, &r)
                             : MPIX_Psend_init(out, N, 1, MPI_INT, 0, TAG_PARTED, MPI_COMM_WORLD,
                                               MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 0) {
        starts = CAPTURE_COUNT(0, "dump: start ");
        ends = CAPTURE_COUNT(0, one);
        MTEST_OK(MPI_Start(&r));
        signal_rank(0);
        CAPTURE_WAIT(0, ends + 1, one);
        CAPTURE_WAIT(0, 1, "dump: start 1 of receive from 1 tag 20 (",
                     "12 bytes) by channel partit", "by the host: partitions have not come");
        MTEST_EQ(CAPTURE_COUNT(0, "dump: start "), starts + 1);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPIX_Pready_range(0, N - 1, r));
    }
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The program's handler has been called each time, as the system calls it; a later one is told. */
static void test_chained(void)
{
    struct sigaction action = {.sa_flags = 0}, before;

    MTEST_EQ(calls, 0);
    for (int i = 1; i <= N; i++) {
        MTEST_CHECK(raise(SIGUSR2) == 0);
        MTEST_EQ(calls, i);
        MTEST_EQ(had_info, 1);
    }
    CAPTURE_WAIT(mtest_rank, N, "dump: 0 requests are being matched");
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "SIGUSR2 has got another handler"), 0);
    (void)sigemptyset(&action.sa_mask);
    action.sa_handler = other_handler;
    MTEST_CHECK(sigaction(SIGUSR2, &action, &before) == 0);
    CAPTURE_WAIT(mtest_rank, 1, "warning: SIGUSR2 has got another handler since MPI_Init");
    MTEST_CHECK(sigaction(SIGUSR2, &before, NULL) == 0);
    MTEST_CHECK(raise(SIGUSR2) == 0);
    MTEST_EQ(calls, N + 1);
    CAPTURE_WAIT(mtest_rank, N + 1, "dump: 0 requests are being matched");
}

static void test_off(void)
{
    struct sigaction action = {.sa_flags = 0};

    MTEST_CHECK(sigaction(SIGUSR2, NULL, &action) == 0);
    MTEST_CHECK(action.sa_sigaction == on_usr2);
    MTEST_CHECK(raise(SIGUSR2) == 0);
    MTEST_EQ(calls, 1);
    (void)usleep(200000);
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "dump: "), 0);
}

/* After MPI_Finalize the signal does no harm, and the program's handler has it. */
static int after(bool is_chained, int code)
{
    char text[4096];
    int before = calls;

    MPI_Finalize();
    mtest_capture();
    MTEST_CHECK(raise(SIGUSR2) == 0);
    mtest_captured(text, sizeof text);
    MTEST_CHECK(strstr(text, "dump: none, as MPI_Finalize was called\n") != NULL);
    MTEST_EQ(calls, before + is_chained);
    return mtest_failures() > 0 ? 1 : code;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "dump";
    bool is_polled = strcmp(which, "polled") == 0, is_chained = strcmp(which, "chained") == 0;
    long pid = (long)getpid();

    if (is_chained || strcmp(which, "off") == 0) {
        handle();
    }
    mtest_begin(&argc, &argv, is_polled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Allgather(&pid, 1, MPI_LONG, pids, 1, MPI_LONG, MPI_COMM_WORLD));
    capture_begin();
    if (strcmp(which, "off") == 0) {
        test_off();
        capture_end();
        return mtest_end();
    }
    if (is_chained) {
        test_chained();
    } else if (is_polled) {
        test_host(false);
        test_match();
    } else {
        test_queue();
        test_match();
        test_host(true);
        test_parted();
    }
    capture_end();
    return after(is_chained, mtest_verdict());
}
