/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A start never blocks a stream: ranks that all start their sends before their receives, on one
 * queue, on two queues of one stream and on two streams, with messages far beyond any eager limit.
 */
#include "mtest.h"

enum { BIG = 3 << 20, SMALL = 16 };

struct pair {
    struct mtest_buf out;
    struct mtest_buf in;
    MPI_Request send;
    MPI_Request recv;
    int from;
};

static void pair_make(struct pair *p, enum mtest_mode mode, int bytes, int tag)
{
    int to = (mtest_rank + 1) % mtest_size;
    MPI_Request both[2];

    p->from = (mtest_rank + mtest_size - 1) % mtest_size;
    mtest_buf_make(&p->out, MPI_BYTE, bytes);
    mtest_buf_make(&p->in, MPI_BYTE, bytes);
    mtest_buf_fill(&p->out, 60 + mtest_rank);
    MTEST_OK(mtest_init(mode, &p->out, to, tag, MPI_COMM_WORLD, &p->send));
    MTEST_OK(mtest_init(MTEST_RECV, &p->in, p->from, tag, MPI_COMM_WORLD, &p->recv));
    both[0] = p->send;
    both[1] = p->recv;
    MTEST_OK(MPIX_Matchall(2, both));
}

static void pair_end(struct pair *p)
{
    MTEST_FULL(&p->in, 60 + p->from);
    MTEST_OK(MPI_Request_free(&p->send));
    MTEST_OK(MPI_Request_free(&p->recv));
    mtest_buf_free(&p->out);
    mtest_buf_free(&p->in);
}

/* Sends on one queue, receives on another (or the same); each is waited for where it started. */
static void test_sends_first(MPIX_Queue sends, MPIX_Queue recvs, enum mtest_mode mode, int bytes)
{
    struct pair p;

    pair_make(&p, mode, bytes, 1);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Enqueue_start(sends, &p.send));
        MTEST_OK(MPIX_Enqueue_start(recvs, &p.recv));
        MTEST_OK(MPIX_Enqueue_wait(sends, &p.send));
        MTEST_OK(MPIX_Enqueue_wait(recvs, &p.recv));
    }
    MTEST_OK(MPIX_Queue_wait(sends));
    MTEST_OK(MPIX_Queue_wait(recvs));
    pair_end(&p);
}

/* The wait for one pair holds the stream while the peer waits for another: only the starts that
 * were enqueued before may be needed, whatever their order. */
static void test_crossed(MPIX_Queue queue)
{
    struct pair a;
    struct pair b;

    pair_make(&a, MTEST_SSEND, BIG, 1);
    pair_make(&b, MTEST_SSEND, BIG, 2);
    for (int i = 0; i < 3; i++) {
        struct pair *first = (mtest_rank + i) % 2 == 0 ? &a : &b;
        struct pair *second = first == &a ? &b : &a;

        MTEST_OK(MPIX_Enqueue_start(queue, &first->send));
        MTEST_OK(MPIX_Enqueue_start(queue, &second->send));
        MTEST_OK(MPIX_Enqueue_start(queue, &second->recv));
        MTEST_OK(MPIX_Enqueue_start(queue, &first->recv));
        MTEST_OK(MPIX_Enqueue_wait(queue, &first->send));
        MTEST_OK(MPIX_Enqueue_wait(queue, &first->recv));
        MTEST_OK(MPIX_Enqueue_wait(queue, &second->recv));
        MTEST_OK(MPIX_Enqueue_wait(queue, &second->send));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    pair_end(&a);
    pair_end(&b);
}

/* A receive is started on a stream that then waits for something else; it must still complete. */
static void test_behind_other_wait(MPIX_Queue one, MPIX_Queue two)
{
    struct pair a;
    struct pair b;

    pair_make(&a, MTEST_SSEND, BIG, 1);
    pair_make(&b, MTEST_SSEND, SMALL, 2);
    /* On stream one: start both receives, wait for b first; b's send waits for a's data. */
    MTEST_OK(MPIX_Enqueue_start(one, &a.recv));
    MTEST_OK(MPIX_Enqueue_start(one, &b.recv));
    MTEST_OK(MPIX_Enqueue_wait(one, &b.recv));
    MTEST_OK(MPIX_Enqueue_wait(one, &a.recv));
    MTEST_OK(MPIX_Enqueue_start(two, &a.send));
    MTEST_OK(MPIX_Enqueue_wait(two, &a.send));
    MTEST_OK(MPIX_Enqueue_start(two, &b.send));
    MTEST_OK(MPIX_Enqueue_wait(two, &b.send));
    MTEST_OK(MPIX_Queue_wait(two));
    MTEST_OK(MPIX_Queue_wait(one));
    pair_end(&a);
    pair_end(&b);
}

/* The worker has left the stream: what it started must go on while the host only sleeps in MPI. */
static void test_idle_stream(MPIX_Queue queue)
{
    struct pair p;

    pair_make(&p, MTEST_SSEND, BIG, 1);
    if (mtest_rank % 2 == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &p.recv));
        MTEST_OK(MPIX_Enqueue_start(queue, &p.send));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPIX_Enqueue_start(queue, &p.recv));
        MTEST_OK(MPIX_Enqueue_start(queue, &p.send));
        MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    pair_end(&p);
}

int main(int argc, char **argv)
{
    MPIX_Host_stream shared = MPIX_HOST_STREAM_NULL;
    MPIX_Queue q[3];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Host_stream_create(&shared));
    MTEST_OK(MPIX_Queue_init(&q[0], MPIX_QUEUE_AUTO, &shared));
    MTEST_OK(MPIX_Queue_init(&q[1], MPIX_QUEUE_AUTO, &shared));
    MTEST_OK(MPIX_Queue_init(&q[2], MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < 3; i++) {
        test_sends_first(q[0], q[i], MTEST_SEND, BIG);
        test_sends_first(q[0], q[i], MTEST_SSEND, BIG);
        test_sends_first(q[0], q[i], MTEST_SSEND, SMALL);
    }
    test_crossed(q[0]);
    test_behind_other_wait(q[0], q[2]);
    test_idle_stream(q[0]);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Queue_free(&q[i]));
    }
    MTEST_OK(MPIX_Host_stream_destroy(&shared));
    return mtest_end();
}
