/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Arrays that mix requests of the channels cxi, fallback and self with ordinary ones, of two
 * threads with a queue each at the same time: started and completed by one call for all, or in part
 * by the host and in part on the queue.
 */
#include "mtest.h"

#include <pthread.h>

enum { THREADS = 2, ROUNDS = 60, TAG = 7, COUNT = 30 };

/* Two of each of the channels cxi and fallback, and the ordinary pair last. */
enum { CXI, GAPS, SELF, SYNCHRONOUS, SWAPPED, ORDINARY, PAIRS, MATCHED = 2 * ORDINARY, ALL = 12 };

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm; /* of this thread alone, so that its matching has an order */
    struct mtest_buf in[PAIRS], out[PAIRS];
    MPI_Request r[ALL]; /* receive, send, receive, ... */
};

static MPIX_Queue queues[THREADS];
static MPI_Datatype gaps, swapped;

static int peer_of(int pair)
{
    return pair == SELF ? mtest_rank : 1 - mtest_rank;
}

static int seed_of(const struct worker *w, int pair, int round, int rank)
{
    return 97 * round + 13 * pair + 5 * w->number + rank;
}

static void make(struct worker *w)
{
    for (int p = 0; p < PAIRS; p++) {
        MPI_Datatype type = p == GAPS ? gaps : p == SWAPPED ? swapped : MPI_INT;
        enum mtest_mode mode = p == SYNCHRONOUS ? MTEST_SSEND : MTEST_SEND;

        mtest_buf_make(&w->in[p], type, COUNT);
        mtest_buf_make(&w->out[p], type, COUNT);
        MTEST_OK(mtest_init(MTEST_RECV, &w->in[p], peer_of(p), TAG + p, w->comm, &w->r[2 * p]));
        MTEST_OK(mtest_init(mode, &w->out[p], peer_of(p), TAG + p, w->comm, &w->r[2 * p + 1]));
    }
    MTEST_OK(MPIX_Matchall(MATCHED, w->r));
}

static void destroy(struct worker *w)
{
    for (int i = 0; i < ALL; i++) {
        MTEST_OK(MPI_Request_free(&w->r[i]));
    }
    for (int p = 0; p < PAIRS; p++) {
        mtest_buf_free(&w->in[p]);
        mtest_buf_free(&w->out[p]);
    }
}

/* By the host, all in one array. */
static void by_host(struct worker *w, int way)
{
    int indices[ALL], n = 0;

    MTEST_OK(MPI_Startall(ALL, w->r));
    if (way == 0) {
        MTEST_OK(MPI_Waitall(ALL, w->r, MPI_STATUSES_IGNORE));
        return;
    }
    for (int left = ALL; left > 0; left -= n) {
        n = 1;
        if (way == 1) {
            MTEST_OK(MPI_Waitsome(ALL, w->r, &n, indices, MPI_STATUSES_IGNORE));
        } else {
            MTEST_OK(MPI_Waitany(ALL, w->r, indices, MPI_STATUS_IGNORE));
        }
        if (n < 1) {
            mtest_fail(__FILE__, __LINE__, "%d left, and none is active", left);
            return;
        }
    }
}

/* All that are matched on the queue, in so many at a time. */
static void on_queue(struct worker *w, MPIX_Queue queue, int at_once)
{
    for (int i = 0; i < MATCHED; i += at_once) {
        MTEST_OK(MPIX_Enqueue_startall(queue, at_once, &w->r[i]));
    }
    MTEST_OK(MPI_Startall(ALL - MATCHED, &w->r[MATCHED]));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MATCHED, w->r));
    MTEST_OK(MPI_Waitall(ALL - MATCHED, &w->r[MATCHED], MPI_STATUSES_IGNORE));
    MTEST_OK(MPIX_Queue_wait(queue));
}

/* A part by the host with the ordinary ones, the rest on a queue. */
static void by_both(struct worker *w, MPIX_Queue queue)
{
    enum { PART = 2 * (GAPS + 1) };

    MTEST_OK(MPIX_Enqueue_startall(queue, PART, w->r));
    MTEST_OK(MPI_Startall(ALL - PART, &w->r[PART]));
    MTEST_OK(MPI_Waitall(ALL - PART, &w->r[PART], MPI_STATUSES_IGNORE));
    MTEST_OK(MPIX_Enqueue_waitall(queue, PART, w->r));
    MTEST_OK(MPIX_Queue_wait(queue));
}

static void *run(void *arg)
{
    struct worker *w = arg;

    make(w);
    for (int round = 0; round < ROUNDS; round++) {
        for (int p = 0; p < PAIRS; p++) {
            mtest_buf_clear(&w->in[p]);
            mtest_buf_fill(&w->out[p], seed_of(w, p, round, mtest_rank));
        }
        if (round % 6 < 3) {
            by_host(w, round % 6);
        } else if (round % 6 == 3) {
            on_queue(w, queues[w->number], MATCHED);
        } else if (round % 6 == 4) {
            on_queue(w, queues[w->number], 5);
        } else {
            by_both(w, queues[w->number]);
        }
        for (int p = 0; p < PAIRS; p++) {
            MTEST_FULL(&w->in[p], seed_of(w, p, round, peer_of(p)));
        }
    }
    destroy(w);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];
    int ones[2] = {1, 1}, backwards[2] = {1, 0};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_indexed(2, ones, backwards, MPI_INT, &swapped));
    MTEST_OK(MPI_Type_commit(&gaps));
    MTEST_OK(MPI_Type_commit(&swapped));
    for (int i = 0; i < THREADS; i++) {
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, NULL));
    }
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm));
    }
    for (int t = 0; t < THREADS; t++) {
        MTEST_EQ(pthread_create(&workers[t].thread, NULL, run, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        MTEST_EQ(pthread_join(workers[t].thread, NULL), 0);
        MTEST_OK(MPI_Comm_free(&workers[t].comm));
    }
    for (int i = 0; i < THREADS; i++) {
        MTEST_CHECK(mtest_queue_count(queues[i], "mpixq_starts_cxi") > 0);
        MTEST_CHECK(mtest_queue_count(queues[i], "mpixq_starts_fallback") > 0);
        MTEST_CHECK(mtest_queue_count(queues[i], "mpixq_starts_self") > 0);
        MTEST_OK(MPIX_Queue_free(&queues[i]));
    }
    MTEST_OK(MPI_Type_free(&gaps));
    MTEST_OK(MPI_Type_free(&swapped));
    return mtest_end();
}
