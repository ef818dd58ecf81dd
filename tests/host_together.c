/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Two threads that start matched requests by the host at the same moment, again and again: what
 * starts share inside a channel (a counter that both ring, say) is then touched by both at once.
 */
#include "mtest.h"

#include <pthread.h>

#include "mtest_gpu.h"

enum { THREADS = 2, ROUNDS = 300, COUNT = 10, TAG = 7 };

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm; /* of this thread alone, so that its matching has an order */
    int *in, *out;
};

static pthread_barrier_t line;

static void *run(void *arg)
{
    struct worker *w = arg;
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(w->in, COUNT, MPI_INT, 1 - mtest_rank, TAG, w->comm, &r[0]));
    MTEST_OK(MPI_Send_init(w->out, COUNT, MPI_INT, 1 - mtest_rank, TAG, w->comm, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) {
            w->in[i] = -1;
            w->out[i] = 1000 * round + 100 * w->number + 50 * mtest_rank + i;
        }
        (void)pthread_barrier_wait(&line);
        MTEST_OK(MPI_Startall(2, r));
        MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++) {
            MTEST_EQ(w->in[i], 1000 * round + 100 * w->number + 50 * (1 - mtest_rank) + i);
        }
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_EQ(pthread_barrier_init(&line, NULL, THREADS), 0);
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        workers[t].in = mtest_gpu_array(COUNT * sizeof(int));
        workers[t].out = mtest_gpu_array(COUNT * sizeof(int));
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm));
    }
    for (int t = 0; t < THREADS; t++) {
        MTEST_EQ(pthread_create(&workers[t].thread, NULL, run, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        MTEST_EQ(pthread_join(workers[t].thread, NULL), 0);
        MTEST_OK(MPI_Comm_free(&workers[t].comm));
    }
    MTEST_EQ(pthread_barrier_destroy(&line), 0);
    return mtest_end();
}
