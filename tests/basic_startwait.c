/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIX_Enqueue_startwaitall: messages of all sizes and modes, few and many in a call, at one end or
 * at both, beside starts and waits by calls of their own; null handles, requests to nobody and to
 * itself; a peer that comes late; and what is refused enqueues nothing.
 */
#include "mtest.h"

#include <unistd.h>

#include "mtest_gpu.h"

enum { MOST = 30, TAG = 10, TOKEN = 90 };

static int peer;
static MPIX_Queue queue;

/* So many messages each way: receives first in r, or each beside the send with its tag. */
struct set {
    int n;
    struct mtest_buf in[MOST], out[MOST];
    MPI_Request r[2 * MOST];
};

static void set_make(struct set *s, enum mtest_mode mode, int n, const int bytes[], bool beside)
{
    s->n = n;
    for (int i = 0; i < n; i++) {
        mtest_buf_make(&s->in[i], MPI_BYTE, bytes[i]);
        mtest_buf_make(&s->out[i], MPI_BYTE, bytes[i]);
        MTEST_OK(mtest_init(MTEST_RECV, &s->in[i], peer, TAG + i, MPI_COMM_WORLD,
                            &s->r[beside ? 2 * i : i]));
        MTEST_OK(mtest_init(mode, &s->out[i], peer, TAG + i, MPI_COMM_WORLD,
                            &s->r[beside ? 2 * i + 1 : n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, s->r));
}

static void set_fill(struct set *s, int seed)
{
    for (int i = 0; i < s->n; i++) {
        mtest_buf_clear(&s->in[i]);
        mtest_buf_fill(&s->out[i], seed + 100 * mtest_rank + i);
    }
}

static void set_expect(struct set *s, int seed)
{
    for (int i = 0; i < s->n; i++) {
        MTEST_FULL(&s->in[i], seed + 100 * peer + i);
        MTEST_FULL(&s->out[i], seed + 100 * mtest_rank + i);
    }
}

static void set_free(struct set *s)
{
    for (int i = 0; i < 2 * s->n; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
    }
    for (int i = 0; i < s->n; i++) {
        mtest_buf_free(&s->in[i]);
        mtest_buf_free(&s->out[i]);
    }
}

/* By one call, or by two. */
static void exchange(struct set *s, bool at_once)
{
    if (at_once) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2 * s->n, s->r));
    } else {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * s->n, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * s->n, s->r));
    }
}

/* A ready send needs a receive that may be written: each end hears from the other first. */
static void test_exchanges(enum mtest_mode mode, int n, const int bytes[], bool beside)
{
    enum { ROUNDS = 6 };
    static const int nothing[] = {0};
    static struct set s, token;

    set_make(&s, mode, n, bytes, beside);
    set_make(&token, MTEST_SEND, 1, nothing, true);
    for (int round = 0; round < ROUNDS; round++) {
        set_fill(&s, 1000 * round);
        exchange(&token, round % 2 == 0);
        exchange(&s, mtest_rank == 0 ? round % 2 == 0 : round % 3 == 0);
        MTEST_OK(MPIX_Queue_wait(queue));
        set_expect(&s, 1000 * round);
    }
    set_free(&token);
    set_free(&s);
}

/* Without a wait of the host between them: the last one tells whether the order was kept. */
static void test_many_times(int bytes, int times)
{
    static struct set s;

    set_make(&s, MTEST_SEND, 1, &bytes, true);
    set_fill(&s, 7);
    for (int i = 0; i < times; i++) {
        exchange(&s, i % 5 != mtest_rank);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    set_expect(&s, 7);
    set_free(&s);
}

/* One end by itself: what the other one sends is received by two calls there, and so back. */
static void test_one_way(const int *bytes)
{
    static struct set s;
    MPI_Request *in = &s.r[0], *out = &s.r[1];

    set_make(&s, MTEST_SEND, 1, bytes, true);
    for (int round = 0; round < 4; round++) {
        set_fill(&s, round);
        if (mtest_rank == round % 2) {
            MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, out));
            MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, in));
        } else {
            MTEST_OK(MPIX_Enqueue_start(queue, in));
            MTEST_OK(MPIX_Enqueue_wait(queue, in));
            MTEST_OK(MPIX_Enqueue_start(queue, out));
            MTEST_OK(MPIX_Enqueue_wait(queue, out));
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        set_expect(&s, round);
    }
    set_free(&s);
}

/* The other end is not there when this one waits; and the host does not wait with it. */
static void test_late(const int *bytes)
{
    static struct set s;
    int flag = -1;

    set_make(&s, MTEST_SSEND, 1, bytes, true);
    for (int late = 0; late < 2; late++) {
        set_fill(&s, late);
        if (mtest_rank != late) {
            exchange(&s, true);
            MTEST_OK(MPIX_Queue_test(queue, &flag));
            MTEST_EQ(flag, 0);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (mtest_rank == late) {
            (void)usleep(20000);
            exchange(&s, true);
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        set_expect(&s, late);
    }
    set_free(&s);
}

/* Null handles, none at all, nobody, and the process itself, with one for the peer among them. */
static void test_others(void)
{
    int *in = mtest_gpu_mirror(3 * sizeof(*in)), *out = mtest_gpu_mirror(3 * sizeof(*out));
    int with[3] = {MPI_PROC_NULL, mtest_rank, peer};
    MPI_Request r[7];

    for (int i = 0; i < 3; i++) {
        in[i] = -1;
        out[i] = 40 + 10 * mtest_rank + i;
        MTEST_OK(
            MPI_Recv_init(mtest_gpu_at(&in[i]), 1, MPI_INT, with[i], i, MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(MPI_Send_init(mtest_gpu_at(&out[i]), 1, MPI_INT, with[i], i, MPI_COMM_WORLD,
                               &r[2 * i + 1]));
    }
    r[6] = MPI_REQUEST_NULL;
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    MTEST_OK(MPIX_Matchall(7, r));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 0, NULL));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &r[6]));
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 7, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(in);
    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[1], 41 + 10 * mtest_rank);
    MTEST_EQ(in[2], 42 + 10 * peer);
    MTEST_CHECK(r[6] == MPI_REQUEST_NULL);
    for (int i = 0; i < 6; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* What is refused has started nothing: the same elements can be started afterwards. */
static void test_refused(void)
{
    static const int bytes[] = {8, 70000, 8};
    static struct set s;
    MPI_Request unmatched, r[3];
    int number = 0;

    set_make(&s, MTEST_SEND, 3, bytes, true);
    set_fill(&s, 5);
    MTEST_OK(MPI_Recv_init(&number, 1, MPI_INT, peer, TOKEN, MPI_COMM_WORLD, &unmatched));
    r[0] = s.r[0];
    r[1] = s.r[1];
    r[2] = unmatched;
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 3, r), MPIXQ_ERR_STATE);
    r[2] = r[0];
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 3, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, -1, r), MPIXQ_ERR_ARG);
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, MPIX_ALL_STARTED, r), MPIXQ_ERR_ARG);
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 3, NULL), MPIXQ_ERR_ARG);
    MTEST_KIND(MPIX_Enqueue_startwaitall(MPIX_QUEUE_NULL, 2, r), MPIXQ_ERR_ARG);
    MTEST_OK(MPIX_Enqueue_start(queue, &s.r[2]));
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 6, s.r), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_start(queue, &s.r[3]));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2, s.r));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2, s.r + 4));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    set_expect(&s, 5);
    MTEST_OK(MPI_Request_free(&unmatched));
    set_free(&s);
}

int main(int argc, char **argv)
{
    static const enum mtest_mode modes[] = {MTEST_SEND, MTEST_SSEND, MTEST_RSEND};
    static const int sizes[] = {0, 1, 16, 1000, 8192, 8195, 70001, 1 << 20};
    int small[MOST], mixed[MOST];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < MOST; i++) {
        small[i] = 16 + i % 3;
        mixed[i] = sizes[i % 8] / (i < 8 ? 1 : 16);
    }
    for (int m = 0; m < 3; m++) {
        for (int i = 0; i < 8; i++) {
            test_exchanges(modes[m], 1, &sizes[i], true);
        }
        test_exchanges(modes[m], 8, small, m == 0);
        test_exchanges(modes[m], MOST, mixed, m == 0);
    }
    test_many_times(16, 100);
    test_many_times(70000, 20);
    test_one_way(&sizes[2]);
    test_one_way(&sizes[6]);
    test_late(&sizes[2]);
    test_late(&sizes[6]);
    test_others();
    test_refused();
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
