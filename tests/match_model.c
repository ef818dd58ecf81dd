/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Random orders of matching against a model. Every rank draws the same messages, then begins the
 * matching of its own ends in an order and in portions of its own. Model: for each communicator,
 * source, destination and tag the k-th send begun belongs to the k-th receive begun.
 * Argument 1: first seed; argument 2: number of seeds.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

#include "mtest_gpu.h"

enum { MESSAGES = 60, RANKS = 4, COMMS = 3, TAGS = 2, INTS = 3 };

struct end {
    int is_send;
    int comm;
    int peer;
    int tag;
    int data[INTS + 2];
    int expected;
    MPI_Request request;
};

struct plan {
    MPI_Comm comm[COMMS];
    struct end ends[2 * MESSAGES];
    MPI_Request ordered[2 * MESSAGES];
    int count;
};

static int value_of(int comm, int source, int dest, int tag, int k)
{
    return (((comm * RANKS + source) * RANKS + dest) * TAGS + tag) * 1000 + k;
}

static void draw(struct plan *p, unsigned long long *common)
{
    p->count = 0;
    for (int m = 0; m < MESSAGES; m++) {
        int source = (int)(mtest_random(common) % (unsigned)mtest_size);
        int dest = (int)(mtest_random(common) % (unsigned)mtest_size);
        int comm = (int)(mtest_random(common) % COMMS);
        int tag = (int)(mtest_random(common) % TAGS);

        if (source == mtest_rank) {
            p->ends[p->count++] =
                (struct end){.is_send = 1, .comm = comm, .peer = dest, .tag = tag};
        }
        if (dest == mtest_rank) {
            p->ends[p->count++] =
                (struct end){.is_send = 0, .comm = comm, .peer = source, .tag = tag};
        }
    }
}

static void shuffle(struct plan *p, unsigned long long *own)
{
    for (int i = p->count - 1; i > 0; i--) {
        int j = (int)(mtest_random(own) % (unsigned)(i + 1));
        struct end swap = p->ends[i];

        p->ends[i] = p->ends[j];
        p->ends[j] = swap;
    }
}

/* Requests in the order of ends, which is the order in which matching will be begun. */
static void make(struct plan *p)
{
    int k[2][COMMS][RANKS][TAGS] = {0};

    for (int i = 0; i < p->count; i++) {
        struct end *e = &p->ends[i];
        int nth = k[e->is_send][e->comm][e->peer][e->tag]++;

        for (int n = 0; n < INTS + 2; n++) {
            e->data[n] = -1;
        }
        if (e->is_send) {
            e->expected = value_of(e->comm, mtest_rank, e->peer, e->tag, nth);
            MTEST_OK(MPI_Send_init(e->data, INTS, MPI_INT, e->peer, e->tag, p->comm[e->comm],
                                   &e->request));
        } else {
            e->expected = value_of(e->comm, e->peer, mtest_rank, e->tag, nth);
            MTEST_OK(MPI_Recv_init(e->data, INTS + 1, MPI_INT, e->peer, e->tag, p->comm[e->comm],
                                   &e->request));
        }
        p->ordered[i] = e->request;
    }
}

/* Everything is begun without blocking but for the last portion. */
static void match(struct plan *p, unsigned long long *own)
{
    MPI_Request match[2 * MESSAGES];
    int n = 0;
    int at = 0;

    while (at < p->count) {
        int portion = 1 + (int)(mtest_random(own) % 5);

        if (portion > p->count - at) {
            portion = p->count - at;
        }
        if (at + portion == p->count) {
            MTEST_OK(portion == 1 ? MPIX_Match(&p->ordered[at])
                                  : MPIX_Matchall(portion, &p->ordered[at]));
        } else if (portion == 1) {
            MTEST_OK(MPIX_Imatch(&p->ordered[at], &match[n++]));
        } else {
            MTEST_OK(MPIX_Imatchall(portion, &p->ordered[at], &match[n++]));
        }
        at += portion;
    }
    if (mtest_random(own) % 2 == 0) {
        MTEST_OK(MPI_Waitall(n, match, MPI_STATUSES_IGNORE));
    }
    for (int i = n - 1; i >= 0; i--) {
        MTEST_OK(MPI_Wait(&match[i], MPI_STATUS_IGNORE));
    }
}

static void check(struct plan *p, int seed)
{
    for (int i = 0; i < p->count; i++) {
        struct end *e = &p->ends[i];

        if (!e->is_send && (e->data[0] != e->expected || e->data[INTS - 1] != e->expected ||
                            e->data[INTS] != -1)) {
            mtest_fail(__FILE__, __LINE__,
                       "seed %d: receive %d on communicator %d from %d tag %d got %d (%d), "
                       "expected %d",
                       seed, i, e->comm, e->peer, e->tag, e->data[0], e->data[INTS], e->expected);
        }
        MTEST_OK(MPI_Request_free(&e->request));
    }
}

/* From a random place on, round the array, alone or several at a time. */
static void start_in_turns(struct plan *p, MPIX_Queue queue, unsigned long long *own)
{
    int from = p->count > 0 ? (int)(mtest_random(own) % (unsigned)p->count) : 0;

    for (int i = from; i < p->count; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &p->ordered[i]));
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, from, p->ordered));
}

static void run(struct plan *p, MPIX_Queue queue, int seed)
{
    unsigned long long common = (unsigned long long)seed * 7919;
    unsigned long long own = common + 104729ULL * (unsigned)(mtest_rank + 1);

    draw(p, &common);
    shuffle(p, &own);
    make(p);
    match(p, &own);
    for (int i = 0; i < p->count; i++) {
        for (int n = 0; p->ends[i].is_send && n < INTS; n++) {
            p->ends[i].data[n] = p->ends[i].expected;
        }
    }
    start_in_turns(p, queue, &own);
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    check(p, seed);
}

int main(int argc, char **argv)
{
    struct plan *plan;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int first = argc > 1 ? atoi(argv[1]) : 1;
    int seeds = argc > 2 ? atoi(argv[2]) : 20;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_CHECK(mtest_size <= RANKS);
    plan = mtest_gpu_array(sizeof(*plan));
    plan->comm[0] = MPI_COMM_WORLD;
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &plan->comm[1]));
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mtest_rank, &plan->comm[2]));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int seed = first; seed < first + seeds; seed++) {
        run(plan, queue, seed);
    }
    MTEST_OK(MPI_Comm_free(&plan->comm[1]));
    MTEST_OK(MPI_Comm_free(&plan->comm[2]));
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
