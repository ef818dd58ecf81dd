/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which requests a wait covers: all started, a subset, in another order, none; arrays that mix null
 * handles, requests to nobody, empty messages and requests that are not started.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { PAIRS = 6 };

struct set {
    int *in, *out;
    MPI_Request r[2 * PAIRS]; /* receives first */
};

static void set_make(struct set *s)
{
    int peer = 1 - mtest_rank;

    s->in = mtest_gpu_mirror(PAIRS * sizeof(*s->in));
    s->out = mtest_gpu_mirror(PAIRS * sizeof(*s->out));
    for (int i = 0; i < PAIRS; i++) {
        int *in = mtest_gpu_at(&s->in[i]), *out = mtest_gpu_at(&s->out[i]);

        MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(MPI_Send_init(out, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &s->r[PAIRS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, s->r));
}

static void set_free(struct set *s)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
        MTEST_CHECK(s->r[i] == MPI_REQUEST_NULL);
    }
}

static void set_fill(struct set *s, int base)
{
    for (int i = 0; i < PAIRS; i++) {
        s->in[i] = -1;
        s->out[i] = base + mtest_rank * 100 + i;
    }
    mtest_gpu_put(s->in);
    mtest_gpu_put(s->out);
}

static void set_expect(struct set *s, int base)
{
    mtest_gpu_get(s->in);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_EQ(s->in[i], base + (1 - mtest_rank) * 100 + i);
    }
}

static void test_all_started(struct set *s, MPIX_Queue queue)
{
    for (int round = 0; round < 5; round++) {
        set_fill(s, round * 1000);
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
        /* Nothing is left: again is allowed and waits for nothing. */
        MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
        MTEST_OK(MPIX_Queue_wait(queue));
        set_expect(s, round * 1000);
    }
}

/* Started one by one and in pieces, waited for in other pieces and another order. */
static void test_pieces(struct set *s, MPIX_Queue queue)
{
    set_fill(s, 10000);
    for (int i = 0; i < 2 * PAIRS; i += 3) {
        MTEST_OK(MPIX_Enqueue_start(queue, &s->r[i]));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, &s->r[i + 1]));
    }
    for (int i = 2 * PAIRS - 1; i >= 4; i--) {
        MTEST_OK(MPIX_Enqueue_wait(queue, &s->r[i]));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, 3, s->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, s->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    set_expect(s, 10000);
}

/* Some are started again while others of the same startall have no wait yet. */
static void test_uneven(struct set *s, MPIX_Queue queue)
{
    enum { AHEAD = 2, TIMES = 7 };

    set_fill(s, 20000);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, s->r));
    for (int t = 0; t < TIMES; t++) {
        MTEST_OK(MPIX_Enqueue_waitall(queue, AHEAD, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, AHEAD, s->r + PAIRS));
        MTEST_OK(MPIX_Enqueue_startall(queue, AHEAD, s->r));
        MTEST_OK(MPIX_Enqueue_startall(queue, AHEAD, s->r + PAIRS));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    set_expect(s, 20000);
}

/* A wait on requests that are not started waits for nothing; null handles are passed over. */
static void test_nothing_started(struct set *s, MPIX_Queue queue)
{
    MPI_Request mixed[5] = {MPI_REQUEST_NULL, s->r[0], MPI_REQUEST_NULL, s->r[PAIRS],
                            MPI_REQUEST_NULL};
    int flag = 0;

    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, s->r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &s->r[2]));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_test(queue, &flag));
    MTEST_EQ(flag, 1);
    set_fill(s, 30000);
    MTEST_OK(MPIX_Enqueue_startall(queue, 5, mixed));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 5, mixed));
    MTEST_OK(MPIX_Enqueue_start(queue, &mixed[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &mixed[0]));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(s->in);
    MTEST_EQ(s->in[0], 30000 + (1 - mtest_rank) * 100);
    MTEST_EQ(s->in[1], -1);
    MTEST_CHECK(mixed[0] == MPI_REQUEST_NULL && mixed[1] == s->r[0]);
}

/* MPI_Queue_wait returns when a start without a wait has completed, and it stays started. */
static void test_start_without_wait(struct set *s, MPIX_Queue queue)
{
    int flag = 0;

    set_fill(s, 40000);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, s->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    if (mtest_gpu_memory() !=
        MTEST_DEVICE) { /* there it may be on its way until it is waited for */
        set_expect(s, 40000);
    }
    MTEST_OK(MPIX_Queue_test(queue, &flag));
    MTEST_EQ(flag, 1);
    MTEST_KIND(MPIX_Enqueue_start(queue, &s->r[0]), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_free(&queue), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    set_expect(s, 40000);
}

/* Requests to nobody, of nothing, and both, among real ones. */
static void test_proc_null(MPIX_Queue queue)
{
    MPI_Request r[7];
    int *in = mtest_gpu_mirror(3 * sizeof(*in));
    int *out = mtest_gpu_mirror(sizeof(*out));
    int peer = 1 - mtest_rank;
    int flag = 0;

    in[0] = in[1] = in[2] = -1;
    *out = 31 + mtest_rank;
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    MTEST_OK(
        MPI_Recv_init(mtest_gpu_at(&in[0]), 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[1]), 0, MPI_INT, peer, 2, MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Ssend_init(mtest_gpu_at(out), 0, MPI_INT, peer, 2, MPI_COMM_WORLD, &r[3]));
    MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[2]), 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &r[4]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &r[5]));
    r[6] = MPI_REQUEST_NULL;
    MTEST_OK(MPIX_Is_matched(r[6], &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPIX_Matchall(7, r));
    for (int t = 0; t < 3; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 7, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 7, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(in);
    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[1], -1);
    MTEST_EQ(in[2], 31 + peer);
    for (int i = 0; i < 6; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    struct set s;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    set_make(&s);
    test_all_started(&s, queue);
    test_pieces(&s, queue);
    test_uneven(&s, queue);
    test_nothing_started(&s, queue);
    test_start_without_wait(&s, queue);
    test_proc_null(queue);
    set_free(&s);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
