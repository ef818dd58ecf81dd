/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What lasts longer than MPIXQ_WATCHDOG_S and is not stuck is neither reported nor ended: waits and
 * matches that get on slowly, starts that nobody waits for, functions on a stream. And without the
 * variable nothing is reported at all. Argument 1: on, or off.
 */
#include "capture.h"
#include "mtest.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Each step is far below the limit of 2 s, and all of them together far above it. */
enum { TAG = 7, STEPS = 9, STEP_MS = 300 };

static int in[STEPS], out[STEPS];

static void sleep_ms(int ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) != 0) {
    }
}

static void make(MPI_Request r[STEPS])
{
    for (int i = 0; i < STEPS; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND,
                                mtest_rank == 0 ? &in[i] : &out[i], 1, MPI_INT, 1 - mtest_rank,
                                TAG + i, MPI_COMM_WORLD, &r[i]));
    }
}

/* Rank 1 matches, then starts, one after the other. Rank 0 has enqueued all of it before: in one
 * array, or each start with a wait of its own; or the host waits, and no stream does. */
static void test_steps(int in_array, int on_stream)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[STEPS];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(r);
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Matchall(STEPS, r));
        MTEST_OK(MPIX_Enqueue_startall(queue, STEPS, r));
        for (int i = 0; on_stream && i < STEPS; i += in_array ? STEPS : 1) {
            MTEST_OK(MPIX_Enqueue_waitall(queue, in_array ? STEPS : 1, r + i));
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    }
    for (int i = 0; mtest_rank == 1 && i < STEPS; i++) {
        MTEST_OK(MPIX_Match(&r[i]));
        sleep_ms(in_array ? STEP_MS : 0);
    }
    for (int i = 0; mtest_rank == 1 && i < STEPS; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[i]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[i]));
        sleep_ms(STEP_MS);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < STEPS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* The same with starts by the host. */
static void test_host(void)
{
    MPI_Request r[STEPS];

    make(r);
    MTEST_OK(MPIX_Matchall(STEPS, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Startall(STEPS, r));
    }
    for (int i = 0; mtest_rank == 1 && i < STEPS; i++) {
        MTEST_OK(MPI_Start(&r[i]));
        sleep_ms(STEP_MS);
    }
    MTEST_OK(MPI_Waitall(STEPS, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < STEPS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* A start that nobody waits for, and one whose wait stands behind a function that lasts. */
static void test_not_waited_for(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_gate gate = {0};
    MPI_Request r[STEPS];
    int flag = 0;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    make(r);
    MTEST_OK(MPIX_Matchall(STEPS, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_startall(queue, STEPS, r));
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
        for (int i = 0; i < STEPS; i++) {
            sleep_ms(STEP_MS);
            MTEST_OK(MPIX_Queue_test(queue, &flag));
            MTEST_EQ(flag, 0);
        }
        mtest_gate_open(&gate);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Enqueue_startall(queue, STEPS, r));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, STEPS, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    for (int i = 0; i < STEPS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* A wait and a match for all the time, without the watchdog. */
static void test_off(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[STEPS];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(r);
    if (mtest_rank == 1) {
        sleep_ms(STEPS * STEP_MS);
    }
    MTEST_OK(MPIX_Matchall(STEPS, r));
    if (mtest_rank == 1) {
        sleep_ms(STEPS * STEP_MS);
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, STEPS, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, STEPS, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < STEPS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    int on = argc > 1 && strcmp(argv[1], "on") == 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    capture_begin();
    if (on) {
        test_steps(1, 1);
        test_steps(0, 1);
        test_steps(0, 0);
        test_host();
        test_not_waited_for();
    } else {
        test_off();
    }
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "watchdog"), 0);
    capture_end();
    return mtest_end();
}
