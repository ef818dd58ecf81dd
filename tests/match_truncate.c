/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A receive that is smaller than its send: MPI_ERR_TRUNCATE on both sides, those two requests are
 * unmatched again, the rest of the array is matched and the order of what follows holds.
 */
#include "mtest.h"

enum { PAIRS = 4, BAD = 1, LONG_INTS = 10, SHORT_INTS = 9, TAG = 1 };

struct set {
    int peer;
    struct mtest_buf in[PAIRS];
    struct mtest_buf out[PAIRS];
    MPI_Request r[2 * PAIRS]; /* receives first */
};

static void set_make(struct set *s, int peer)
{
    s->peer = peer;
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_make(&s->in[i], MPI_INT, i == BAD ? SHORT_INTS : LONG_INTS + i);
        mtest_buf_make(&s->out[i], MPI_INT, LONG_INTS);
        mtest_buf_fill(&s->out[i], 30 + mtest_rank * 10 + i);
        MTEST_OK(mtest_init(MTEST_RECV, &s->in[i], peer, TAG, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(mtest_init(MTEST_SEND, &s->out[i], peer, TAG, MPI_COMM_WORLD, &s->r[PAIRS + i]));
    }
}

static int is_bad(int i)
{
    return i % PAIRS == BAD;
}

/* The good pairs are matched and work; the bad two are as if never matched. */
static void set_expect(struct set *s, MPIX_Queue queue)
{
    MPI_Request good[2 * PAIRS];
    int n = 0;

    for (int i = 0; i < 2 * PAIRS; i++) {
        int flag = -1;

        MTEST_OK(MPIX_Is_matched(s->r[i], &flag));
        MTEST_EQ(flag, !is_bad(i));
        if (!is_bad(i)) {
            good[n++] = s->r[i];
        }
    }
    MTEST_KIND(MPIX_Enqueue_start(queue, &s->r[BAD]), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_startall(queue, 2 * PAIRS, s->r), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_startall(queue, n, good));
    MTEST_OK(MPIX_Enqueue_waitall(queue, n, good));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < PAIRS; i++) {
        if (i == BAD) {
            MTEST_UNTOUCHED(&s->in[i]);
        } else {
            MTEST_PART(&s->in[i], LONG_INTS, 30 + s->peer * 10 + i);
        }
    }
}

/* The bad send is still good for a receive that is long enough. */
static void set_repair(struct set *s, MPIX_Queue queue)
{
    MPI_Request pair[2];

    MTEST_OK(MPI_Request_free(&s->r[BAD]));
    mtest_buf_free(&s->in[BAD]);
    mtest_buf_make(&s->in[BAD], MPI_INT, LONG_INTS);
    MTEST_OK(mtest_init(MTEST_RECV, &s->in[BAD], s->peer, TAG, MPI_COMM_WORLD, &s->r[BAD]));
    pair[0] = s->r[BAD];
    pair[1] = s->r[PAIRS + BAD];
    MTEST_OK(MPIX_Matchall(2, pair));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, pair));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, pair));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_FULL(&s->in[BAD], 30 + s->peer * 10 + BAD);
}

static void set_free(struct set *s)
{
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
        MTEST_OK(MPI_Request_free(&s->r[PAIRS + i]));
        mtest_buf_free(&s->in[i]);
        mtest_buf_free(&s->out[i]);
    }
}

static void test_array(MPIX_Queue queue, int peer)
{
    struct set s;

    set_make(&s, peer);
    MTEST_CLASS(MPIX_Matchall(2 * PAIRS, s.r), MPI_ERR_TRUNCATE);
    set_expect(&s, queue);
    set_repair(&s, queue);
    set_free(&s);
}

static void test_single(MPIX_Queue queue, int peer)
{
    struct set s;
    MPI_Request m[PAIRS];

    set_make(&s, peer);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPIX_Imatch(&s.r[i], &m[i]));
    }
    for (int i = 0; i < PAIRS; i++) {
        if (i == BAD) {
            MTEST_CLASS(MPIX_Match(&s.r[PAIRS + i]), MPI_ERR_TRUNCATE);
            MTEST_CLASS(MPI_Wait(&m[i], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        } else {
            MTEST_OK(MPIX_Match(&s.r[PAIRS + i]));
            MTEST_OK(MPI_Wait(&m[i], MPI_STATUS_IGNORE));
        }
    }
    set_expect(&s, queue);
    set_repair(&s, queue);
    set_free(&s);
}

/* Truncation is about bytes, not counts: a longer count of a smaller type is too short. */
static void test_bytes(int peer)
{
    double out[2] = {1, 2};
    float in[3] = {0};
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(in, 3, MPI_FLOAT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, 2, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_CLASS(MPIX_Matchall(2, r), MPI_ERR_TRUNCATE);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* The error handler is that of the failing request's communicator; the caller's code says so. */
static void test_handler(int peer)
{
    MPI_Comm one = MPI_COMM_NULL;
    MPI_Comm two = MPI_COMM_NULL;
    MPI_Comm freed;
    int in[2];
    int out[2] = {0};
    MPI_Request r[4];

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &one));
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &two));
    MTEST_OK(MPI_Recv_init(in, 2, MPI_INT, peer, TAG, one, &r[0]));
    MTEST_OK(MPI_Send_init(out, 2, MPI_INT, peer, TAG, one, &r[1]));
    MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG, two, &r[2]));
    MTEST_OK(MPI_Send_init(out, 2, MPI_INT, peer, TAG, two, &r[3]));
    MTEST_CLASS(MPIX_Matchall(4, r), MPI_ERR_TRUNCATE);
    MTEST_CHECK(mtest_errors().comm == two);
    /* Freed: the handler of MPI_COMM_WORLD, or still its own, as MPI may keep a communicator alive
     * for its requests. */
    freed = two;
    MTEST_OK(MPI_Comm_free(&two));
    MTEST_CLASS(MPIX_Matchall(2, r + 2), MPI_ERR_TRUNCATE);
    MTEST_CHECK(mtest_errors().comm == MPI_COMM_WORLD || mtest_errors().comm == freed);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Comm_free(&one));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int round = 0; round < 2; round++) {
        int peer = round == 0 ? mtest_size - 1 - mtest_rank : mtest_rank;

        test_array(queue, peer);
        test_single(queue, peer);
        test_bytes(peer);
        test_handler(peer);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
