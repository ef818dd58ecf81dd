/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Either end of a pair is started on one of two queues or by the host, in every combination and
 * with every change from one start to the next; and many starts in a row that each end chooses by
 * itself.
 */
#include "mtest.h"

enum { TAG = 4, SMALL = 17, BIG = 200000, WAYS = 3, PAIRS = 3, RUNS = 40 };

static MPIX_Host_stream streams[2];
static MPIX_Queue queues[2];
static int from, to; /* whose data comes here, where ours go */

struct pair {
    struct mtest_buf in, out;
    MPI_Request receive, send;
    int ready;
};

static void pair_make(struct pair *p, enum mtest_mode mode, int count)
{
    MPI_Request both[2];

    p->ready = mode == MTEST_RSEND;
    mtest_buf_make(&p->in, MPI_INT, count);
    mtest_buf_make(&p->out, MPI_INT, count);
    MTEST_OK(mtest_init(MTEST_RECV, &p->in, from, TAG, MPI_COMM_WORLD, &p->receive));
    MTEST_OK(mtest_init(mode, &p->out, to, TAG, MPI_COMM_WORLD, &p->send));
    both[0] = p->receive;
    both[1] = p->send;
    MTEST_OK(MPIX_Matchall(2, both));
}

static void pair_free(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->receive));
    MTEST_OK(MPI_Request_free(&p->send));
    mtest_buf_free(&p->in);
    mtest_buf_free(&p->out);
}

/* Way 0: by the host; 1 and 2: on a queue. */
static void start(int way, MPI_Request *r)
{
    if (way == 0) {
        MTEST_OK(MPI_Start(r));
    } else {
        MTEST_OK(MPIX_Enqueue_start(queues[way - 1], r));
    }
}

static void note(void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

/* A start on a queue is made when its stream has come to it. */
static void start_now(int way, MPI_Request *r)
{
    atomic_int is_made = way == 0;
    unsigned tries = 0;

    start(way, r);
    if (way > 0) {
        MTEST_OK(MPIX_Host_stream_launch(streams[way - 1], note, &is_made));
    }
    while (!atomic_load(&is_made)) {
        mtest_backoff(&tries);
    }
}

/* Each way tells of the message, before or by the completion. */
static void complete(int way, MPI_Request *r, MPI_Status *status)
{
    int flag = 0;

    if (way == 0) {
        MTEST_OK(MPI_Wait(r, status));
        return;
    }
    MTEST_OK(MPIX_Enqueue_wait(queues[way - 1], r));
    MTEST_OK(MPIX_Queue_wait(queues[way - 1]));
    MTEST_OK(MPI_Request_get_status(*r, &flag, status));
    MTEST_EQ(flag, 1);
}

static void run(struct pair *p, int receive_way, int send_way, int seed, int receive_first)
{
    MPI_Status status;
    int count = -1;

    mtest_buf_clear(&p->in);
    mtest_buf_fill(&p->out, seed + mtest_rank);
    if (p->ready) {
        start_now(receive_way, &p->receive);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        start(send_way, &p->send);
    } else if (receive_first) {
        start(receive_way, &p->receive);
        start(send_way, &p->send);
    } else {
        start(send_way, &p->send);
        start(receive_way, &p->receive);
    }
    complete(receive_way, &p->receive, &status);
    MTEST_EQ(status.MPI_SOURCE, from);
    MTEST_EQ(status.MPI_TAG, TAG);
    MTEST_OK(MPI_Get_count(&status, MPI_INT, &count));
    MTEST_EQ(count, p->in.count);
    MTEST_FULL(&p->in, seed + from);
    complete(send_way, &p->send, &status);
}

/* All ranks do the same, so these are the ways of the two ends of each pair. */
static void run_all_changes(struct pair *p, int *seed)
{
    enum { COMBINATIONS = WAYS * WAYS };

    for (int before = 0; before < COMBINATIONS; before++) {
        for (int after = 0; after < COMBINATIONS; after++) {
            run(p, before / WAYS, before % WAYS, ++*seed, before % 2);
            run(p, after / WAYS, after % WAYS, ++*seed, after % 2);
        }
    }
}

/* Each rank chooses for itself, and lets several pairs run at once. */
static void run_random(struct pair p[PAIRS], int *seed)
{
    unsigned long long state = 99 + (unsigned)mtest_rank;

    for (int i = 0; i < RUNS; i++) {
        int ways[2 * PAIRS];

        ++*seed;
        for (int k = 0; k < PAIRS; k++) {
            mtest_buf_clear(&p[k].in);
            mtest_buf_fill(&p[k].out, *seed + 7 * k + mtest_rank);
        }
        for (int k = 0; k < 2 * PAIRS; k++) {
            ways[k] = (int)(mtest_random(&state) % WAYS);
            start(ways[k], k % 2 == 0 ? &p[k / 2].send : &p[k / 2].receive);
        }
        for (int k = 0; k < 2 * PAIRS; k++) {
            MPI_Status status;

            complete(ways[k], k % 2 == 0 ? &p[k / 2].send : &p[k / 2].receive, &status);
        }
        for (int k = 0; k < PAIRS; k++) {
            MTEST_FULL(&p[k].in, *seed + 7 * k + from);
        }
    }
}

int main(int argc, char **argv)
{
    struct pair p[PAIRS];
    int seed = 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_bsend_attach(4U * (BIG * sizeof(int) + MPI_BSEND_OVERHEAD));
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Host_stream_create(&streams[i]));
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, &streams[i]));
    }
    for (enum mtest_mode mode = MTEST_SEND; mode < MTEST_RECV; mode++) {
        pair_make(&p[0], mode, SMALL);
        run_all_changes(&p[0], &seed);
        pair_free(&p[0]);
    }
    pair_make(&p[0], MTEST_SEND, BIG);
    pair_make(&p[1], MTEST_SSEND, SMALL);
    pair_make(&p[2], MTEST_BSEND, BIG);
    run_random(p, &seed);
    for (int k = 0; k < PAIRS; k++) {
        pair_free(&p[k]);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        MTEST_OK(MPIX_Host_stream_destroy(&streams[i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_bsend_detach();
    return mtest_end();
}
