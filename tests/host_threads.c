/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Threads that start and complete matched requests of their own at the same time, by the host and
 * on a queue, alone and in arrays with ordinary requests, while another matches and frees pairs.
 * MTEST_BUFFER says where the data is, which the host has to access.
 */
#include "mtest.h"

#include <pthread.h>

#include "mtest_gpu.h"

enum { THREADS = 3, PAIRS = 3, ROUNDS = 60, COUNT = 50, TAG = 100 };

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm; /* of this thread alone, so that its matching has an order */
    int (*in)[COUNT], (*out)[COUNT];
    MPI_Request r[2 * PAIRS];
};

static int from, to;

/* What a pair sends. Of that of a send that is freed while it is active only the peer can tell that
 * it was read, which no checker of threads sees: so each round has another one. */
static int *sent(const struct worker *w, int round, int p)
{
    return w->out[p == 0 && w->number == THREADS ? PAIRS + round : p];
}

static void fill(struct worker *w, int round)
{
    for (int p = 0; p < PAIRS; p++) {
        for (int i = 0; i < COUNT; i++) {
            w->in[p][i] = -1;
            sent(w, round, p)[i] = 1000 * round + 100 * w->number + 10 * p + mtest_rank + i;
        }
    }
}

static void check(const struct worker *w, int round)
{
    for (int p = 0; p < PAIRS; p++) {
        for (int i = 0; i < COUNT; i++) {
            MTEST_EQ(w->in[p][i], 1000 * round + 100 * w->number + 10 * p + from + i);
        }
    }
}

static void make(struct worker *w, int round)
{
    for (int p = 0; p < PAIRS; p++) {
        MTEST_OK(MPI_Recv_init(w->in[p], COUNT, MPI_INT, from, TAG + p, w->comm, &w->r[2 * p]));
        MTEST_OK(MPI_Send_init(sent(w, round, p), COUNT, MPI_INT, to, TAG + p, w->comm,
                               &w->r[2 * p + 1]));
    }
    /* The last pair stays MPI's. */
    MTEST_OK(MPIX_Matchall(2 * (PAIRS - 1), w->r));
}

static void complete(struct worker *w, int way)
{
    MPI_Status s[2 * PAIRS];
    int indices[2 * PAIRS], n, left = 2 * PAIRS;

    switch (way) {
    case 0:
        MTEST_OK(MPI_Waitall(2 * PAIRS, w->r, s));
        break;
    case 1:
        for (int i = 0; i < 2 * PAIRS; i++) {
            MTEST_OK(MPI_Wait(&w->r[i], s));
        }
        break;
    default:
        for (; left > 0; left -= n) {
            n = 1;
            if (way == 2) {
                MTEST_OK(MPI_Waitsome(2 * PAIRS, w->r, &n, indices, s));
            } else {
                MTEST_OK(MPI_Waitany(2 * PAIRS, w->r, indices, s));
            }
        }
    }
}

static void *run(void *arg)
{
    struct worker *w = arg;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(w, 0);
    for (int round = 0; round < ROUNDS; round++) {
        fill(w, round);
        if (round % 5 == 4) {
            MTEST_OK(MPIX_Enqueue_startall(queue, 2 * (PAIRS - 1), w->r));
            MTEST_OK(MPI_Startall(2, &w->r[2 * (PAIRS - 1)]));
            MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
            MTEST_OK(MPIX_Queue_wait(queue));
            MTEST_OK(MPI_Waitall(2, &w->r[2 * (PAIRS - 1)], MPI_STATUSES_IGNORE));
        } else {
            MTEST_OK(MPI_Startall(2 * PAIRS, w->r));
            complete(w, round % 5);
        }
        check(w, round);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&w->r[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return NULL;
}

/* Pairs that come and go, one of them freed while it is active. */
static void *churn(void *arg)
{
    struct worker *w = arg;

    for (int round = 0; round < ROUNDS; round++) {
        fill(w, round);
        make(w, round);
        MTEST_OK(MPI_Startall(2 * PAIRS, w->r));
        MTEST_OK(MPI_Request_free(&w->r[1]));
        MTEST_OK(MPI_Waitall(2 * PAIRS, w->r, MPI_STATUSES_IGNORE));
        check(w, round);
        for (int i = 0; i < 2 * PAIRS; i++) {
            if (w->r[i] != MPI_REQUEST_NULL) {
                MTEST_OK(MPI_Request_free(&w->r[i]));
            }
        }
    }
    /* Buffers are given back once all has been received everywhere. */
    MTEST_OK(MPI_Barrier(w->comm));
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS + 1];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    for (int t = 0; t <= THREADS; t++) {
        workers[t].number = t;
        workers[t].in = mtest_gpu_alloc(mtest_gpu_memory(), sizeof(int[PAIRS][COUNT]));
        workers[t].out = mtest_gpu_alloc(mtest_gpu_memory(), sizeof(int[PAIRS + ROUNDS][COUNT]));
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm));
    }
    for (int t = 0; t <= THREADS; t++) {
        MTEST_EQ(pthread_create(&workers[t].thread, NULL, t < THREADS ? run : churn, &workers[t]),
                 0);
    }
    for (int t = 0; t <= THREADS; t++) {
        MTEST_EQ(pthread_join(workers[t].thread, NULL), 0);
        MTEST_OK(MPI_Comm_free(&workers[t].comm));
        mtest_gpu_free(mtest_gpu_memory(), workers[t].in);
        mtest_gpu_free(mtest_gpu_memory(), workers[t].out);
    }
    return mtest_end();
}
