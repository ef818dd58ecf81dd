/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPI fails after a start was enqueued: the error reaches MPIX_Queue_wait and stays, the stream
 * runs on, the queue and everything in it can be freed, and other queues work.
 * Argument 1: start or test, the call that fails.
 */
#include "mtest.h"

#include <string.h>

#include "inject.h"

enum { PAIRS = 4, TAG = 30, NEVER = PAIRS - 1 };

/* One way, 0 to 1; the last pair is started by the receiver only. */
struct set {
    int data[PAIRS];
    MPI_Request r[PAIRS];
};

static void set_make(struct set *s)
{
    for (int i = 0; i < PAIRS; i++) {
        s->data[i] = mtest_rank == 0 ? 70 + i : -1;
        if (mtest_rank == 0) {
            MTEST_OK(MPI_Send_init(&s->data[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &s->r[i]));
        } else {
            MTEST_OK(MPI_Recv_init(&s->data[i], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &s->r[i]));
        }
    }
    MTEST_OK(MPIX_Matchall(PAIRS, s->r));
}

static void note(void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

static void expect_failed(MPIX_Queue queue, MPI_Request *r)
{
    int flag = -1;

    for (int i = 0; i < 2; i++) {
        MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM, "tag 30");
        MTEST_KIND(MPIX_Queue_test(queue, &flag), MPIXQ_ERR_COMM);
        MTEST_KIND(MPIX_Enqueue_startall(queue, 0, NULL), MPIXQ_ERR_COMM);
        MTEST_KIND(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL), MPIXQ_ERR_COMM);
        MTEST_KIND(MPIX_Enqueue_start(queue, &r[0]), MPIXQ_ERR_COMM);
        MTEST_KIND(MPIX_Enqueue_wait(queue, &r[0]), MPIXQ_ERR_COMM);
    }
    MTEST_EQ(flag, -1);
}

/* What comes later on the stream runs, and so do its other queue and other streams. */
static void expect_stream_alive(MPIX_Host_stream stream, MPIX_Queue neighbour)
{
    atomic_int ran = 0;
    MPIX_Queue fresh = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Host_stream_launch(stream, note, &ran));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(atomic_load(&ran), 1);
    MTEST_EXCHANGE(neighbour, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_init(&fresh, MPIX_QUEUE_AUTO, &stream));
    MTEST_EXCHANGE(fresh, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&fresh));
}

/* The other rank hears of the failure, at once or later, for the pair that failed: its calls may
 * succeed or give that error, but they return. */
static void allow_failure(int rc)
{
    if (rc != MPI_SUCCESS) {
        MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
        mtest_forgive(1);
    }
}

static void fail_next(int nth, int in_start)
{
    if (in_start) {
        inject_start_failure(nth);
    } else {
        inject_test_failure(nth);
    }
}

/* Start the first pairs; a receiver that fails has also started one that never completes, which
 * must not hold its stream. */
static void start_some(struct set *s, MPIX_Queue queue, int count, int with_never)
{
    if (with_never) {
        allow_failure(MPIX_Enqueue_start(queue, &s->r[NEVER]));
    }
    for (int i = 0; i < count; i++) {
        allow_failure(MPIX_Enqueue_start(queue, &s->r[i]));
    }
    allow_failure(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
}

/* The n-th start or test of one rank fails. The other rank takes part up to the pair that fails,
 * because what its peer has not started by then never starts. */
static void run(int nth, int in_start, int failing_rank)
{
    struct set s;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue neighbour = MPIX_QUEUE_NULL;
    int failing = mtest_rank == failing_rank;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, &stream));
    MTEST_OK(MPIX_Queue_init(&neighbour, MPIX_QUEUE_FALLBACK, &stream));
    set_make(&s);
    if (failing) {
        fail_next(nth, in_start);
        start_some(&s, queue, NEVER, mtest_rank == 1);
        expect_failed(queue, s.r);
        MTEST_EQ(inject_stop(), 1);
    } else {
        start_some(&s, queue, mtest_rank == 1 ? nth : NEVER, 0);
        allow_failure(MPIX_Queue_wait(queue));
    }
    expect_stream_alive(stream, neighbour);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&s.r[i]));
    }
    expect_stream_alive(stream, neighbour);
    MTEST_OK(MPIX_Queue_free(&neighbour));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* The request that failed is refused by other queues until it is freed; the others are not. */
static void test_failed_request(void)
{
    struct set s;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue other = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, NULL));
    MTEST_OK(MPIX_Queue_init(&other, MPIX_QUEUE_FALLBACK, NULL));
    set_make(&s);
    if (mtest_rank == 1) {
        inject_start_failure(1);
        MTEST_OK(MPIX_Enqueue_start(queue, &s.r[0]));
        MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
        MTEST_EQ(inject_stop(), 1);
        MTEST_OK(MPIX_Queue_free(&queue));
        MTEST_KIND(MPIX_Enqueue_start(other, &s.r[0]), MPIXQ_ERR_COMM);
        MTEST_KIND(MPIX_Enqueue_startall(other, PAIRS, s.r), MPIXQ_ERR_COMM);
    } else {
        MTEST_OK(MPIX_Queue_free(&queue));
    }
    MTEST_OK(MPIX_Enqueue_startall(other, PAIRS - 1, s.r + 1));
    MTEST_OK(MPIX_Enqueue_waitall(other, PAIRS - 1, s.r + 1));
    MTEST_OK(MPIX_Queue_wait(other));
    for (int i = 1; i < PAIRS; i++) {
        MTEST_EQ(s.data[i], 70 + i);
    }
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&s.r[i]));
    }
    MTEST_OK(MPIX_Queue_free(&other));
}

int main(int argc, char **argv)
{
    int in_start = argc < 2 || strcmp(argv[1], "start") == 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int nth = 1; nth <= NEVER; nth++) {
        /* A small send is done at its first test or before, so there only the receiver can fail. */
        run(nth, in_start, 1);
        if (in_start) {
            run(nth, in_start, 0);
        }
    }
    if (in_start) {
        test_failed_request();
    }
    return mtest_end();
}
