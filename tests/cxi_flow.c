/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Much in flight at once, whatever the number of triggered operations (MPIXQ_TRIGGERED_OPS).
 * Argument 1: many (256 requests, in one call and in several, sends or receives first), ahead
 * (rounds enqueued before the host waits once), queues (two that depend on each other), starts
 * (pairs started many times, all sizes in turn). Argument 2: how often. Argument 3, of starts: how
 * many sends are under way at once, with as many receives; 4: the seconds for them, after which
 * there are no more.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 128, INTS = 16 };

static int next, last;
static int in[PAIRS][INTS], out[PAIRS][INTS];
static MPI_Request receives[PAIRS], sends[PAIRS];

static int value(int rank, int pair, int round, int i)
{
    return rank * 1000003 + pair * 10007 + round * 101 + i;
}

static void make(int pairs)
{
    for (int p = 0; p < pairs; p++) {
        MTEST_OK(MPI_Recv_init(in[p], INTS, MPI_INT, last, p, MPI_COMM_WORLD, &receives[p]));
        MTEST_OK(MPI_Send_init(out[p], 1 + p % INTS, MPI_INT, next, p, MPI_COMM_WORLD, &sends[p]));
    }
    /* All at once: a ring of processes that match one after the other would not end. */
    MPI_Request *all = malloc(2 * (size_t)pairs * sizeof *all);

    memcpy(all, receives, (size_t)pairs * sizeof *all);
    memcpy(all + pairs, sends, (size_t)pairs * sizeof *all);
    MTEST_OK(MPIX_Matchall(2 * pairs, all));
    free(all);
}

static void unmake(int pairs)
{
    for (int p = 0; p < pairs; p++) {
        MTEST_OK(MPI_Request_free(&receives[p]));
        MTEST_OK(MPI_Request_free(&sends[p]));
    }
}

static void fill(int pairs, int round)
{
    for (int p = 0; p < pairs; p++) {
        for (int i = 0; i < INTS; i++) {
            out[p][i] = value(mtest_rank, p, round, i);
            in[p][i] = -1;
        }
    }
}

static void check(int pairs, int round)
{
    for (int p = 0; p < pairs; p++) {
        for (int i = 0; i < INTS; i++) {
            MTEST_EQ(in[p][i], i < 1 + p % INTS ? value(last, p, round, i) : -1);
        }
    }
}

/* All requests started in calls of so many, one kind first. */
static void start_all(MPIX_Queue queue, bool sends_first, int together)
{
    MPI_Request *first = sends_first ? sends : receives, *second = sends_first ? receives : sends;

    for (int p = 0; p < PAIRS; p += together) {
        MTEST_OK(MPIX_Enqueue_startall(queue, together, first + p));
    }
    for (int p = 0; p < PAIRS; p += together) {
        MTEST_OK(MPIX_Enqueue_startall(queue, together, second + p));
    }
}

static void test_many(MPIX_Queue queue, int times)
{
    static const int together[] = {PAIRS, 1, 16};

    make(PAIRS);
    for (int t = 0; t < times; t++) {
        fill(PAIRS, t);
        start_all(queue, (t + mtest_rank * (t / 4)) % 2 == 0, together[t % 3]);
        if (t % 2 == 0) {
            MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
        } else {
            MTEST_OK(MPIX_Enqueue_waitall(queue, PAIRS, sends));
            MTEST_OK(MPIX_Enqueue_waitall(queue, PAIRS, receives));
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        check(PAIRS, t);
    }
    unmake(PAIRS);
}

/* On the stream: what came in is what goes out next, one more. */
static void pass_on(void *arg)
{
    (void)arg;
    for (int p = 0; p < 2; p++) {
        out[p][0] = in[p][0] + 1;
    }
}

static void test_ahead(int times)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request all[4];

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    make(2);
    out[0][0] = out[1][0] = 0;
    for (int i = 0; i < 2; i++) {
        all[i] = receives[i];
        all[2 + i] = sends[i];
    }
    for (int t = 0; t < times; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 4, all));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 4, all));
        MTEST_OK(MPIX_Host_stream_launch(stream, pass_on, NULL));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(out[0][0], times);
    MTEST_EQ(out[1][0], times);
    unmake(2);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* startall(A, B); wait(A); start(A); wait(B), and what one queue waits for is started on the other.
 * */
static void test_queues(int times)
{
    MPIX_Queue q[2] = {MPIX_QUEUE_NULL, MPIX_QUEUE_NULL};
    int in_order = mtest_rank % 2;

    MTEST_OK(MPIX_Queue_init(&q[0], MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Queue_init(&q[1], MPIX_QUEUE_CXI, NULL));
    make(2);
    for (int t = 0; t < times; t++) {
        fill(2, t);
        /* On even ranks queue 0 sends what queue 1 of the odd ones receives, and waits in between.
         * */
        MTEST_OK(MPIX_Enqueue_start(q[in_order], &sends[0]));
        MTEST_OK(MPIX_Enqueue_wait(q[in_order], &sends[0]));
        MTEST_OK(MPIX_Enqueue_start(q[1 - in_order], &receives[0]));
        MTEST_OK(MPIX_Enqueue_wait(q[1 - in_order], &receives[0]));
        MTEST_OK(MPIX_Enqueue_start(q[1 - in_order], &sends[1]));
        MTEST_OK(MPIX_Enqueue_wait(q[1 - in_order], &sends[1]));
        MTEST_OK(MPIX_Enqueue_start(q[in_order], &receives[1]));
        MTEST_OK(MPIX_Enqueue_wait(q[in_order], &receives[1]));
        MTEST_OK(MPIX_Queue_wait(q[0]));
        MTEST_OK(MPIX_Queue_wait(q[1]));
        check(2, t);

        fill(2, 2 * t);
        MPI_Request ab[4] = {receives[0], sends[0], receives[1], sends[1]};

        MTEST_OK(MPIX_Enqueue_startall(q[0], 4, ab));
        MTEST_OK(MPIX_Enqueue_waitall(q[0], 2, ab));
        MTEST_OK(MPIX_Enqueue_startall(q[0], 2, ab));
        MTEST_OK(MPIX_Enqueue_waitall(q[0], 2, ab + 2));
        MTEST_OK(MPIX_Enqueue_waitall(q[0], 2, ab));
        MTEST_OK(MPIX_Queue_wait(q[0]));
        check(2, 2 * t);
    }
    unmake(2);
    MTEST_OK(MPIX_Queue_free(&q[0]));
    MTEST_OK(MPIX_Queue_free(&q[1]));
}

/* Is there time for more? The first rank says. */
static int goes_on(double begun, double seconds)
{
    int more = MPI_Wtime() - begun < seconds;

    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

/* So many starts, or as many as there is time for, each time with other requests of other sizes,
 * every byte checked. */
static void test_starts(MPIX_Queue queue, int times, int at_once, double seconds)
{
    enum { ROUNDS = 100 }; /* between looks at the clock */
    double begun = MPI_Wtime();
    int groups = at_once < INTS ? 4 : 2;
    MPI_Request r[PAIRS];

    MTEST_CHECK(at_once > 0 && groups * at_once <= PAIRS);
    make(groups * at_once);
    for (int t = 0; t < times; t += 2 * at_once) {
        int at = t / (2 * at_once) % groups * at_once;

        for (int p = at; p < at + at_once; p++) {
            r[p - at] = receives[p];
            r[at_once + p - at] = sends[p];
            for (int k = 0; k < INTS; k++) {
                out[p][k] = value(mtest_rank, p, t, k);
                in[p][k] = -1;
            }
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * at_once, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * at_once, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int p = at; p < at + at_once; p++) {
            for (int k = 0; k < INTS; k++) {
                MTEST_EQ(in[p][k], k < 1 + p % INTS ? value(last, p, t, k) : -1);
            }
        }
        if (t / (2 * at_once) % ROUNDS == ROUNDS - 1 && !goes_on(begun, seconds)) {
            printf("rank %d: no more than %d starts in %.0f s\n", mtest_rank, t + 2 * at_once,
                   seconds);
            break;
        }
    }
    unmake(groups * at_once);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int times = argc > 2 ? atoi(argv[2]) : 0;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    next = (mtest_rank + 1) % mtest_size;
    last = (mtest_rank + mtest_size - 1) % mtest_size;
    MTEST_CHECK(times > 0);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    if (strcmp(what, "many") == 0) {
        test_many(queue, times);
    } else if (strcmp(what, "ahead") == 0) {
        test_ahead(times);
    } else if (strcmp(what, "queues") == 0) {
        test_queues(times);
    } else {
        MTEST_CHECK(strcmp(what, "starts") == 0);
        test_starts(queue, times, argc > 3 ? atoi(argv[3]) : 8, argc > 4 ? atof(argv[4]) : 60);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
