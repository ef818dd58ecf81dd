/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * An array call that fails does nothing at all: one bad element at every place of the array, then
 * the good elements are used and the counts and data tell what had happened before.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { N = 5, TAG = 20 };

struct set {
    int in[N];
    int out[N];
    MPI_Request r[2 * N]; /* receives first */
};

static int peer;

static void set_make(struct set *s)
{
    for (int i = 0; i < N; i++) {
        s->in[i] = -1;
        s->out[i] = 10 * mtest_rank + i;
        MTEST_OK(MPI_Recv_init(&s->in[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(MPI_Send_init(&s->out[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &s->r[N + i]));
    }
}

static void set_use(struct set *s, MPIX_Queue queue)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * N, s->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * N, s->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(s->in[i], 10 * peer + i);
        s->in[i] = -1;
    }
}

static void set_free(struct set *s)
{
    for (int i = 0; i < 2 * N; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
    }
}

/* A copy of the set's array with another request at one place. */
static void with(MPI_Request copy[2 * N], const struct set *s, int at, MPI_Request bad)
{
    for (int i = 0; i < 2 * N; i++) {
        copy[i] = i == at ? bad : s->r[i];
    }
}

/* Matching begins for none, so the order of the later matching is that of the array. */
static void test_match(MPIX_Queue queue)
{
    struct set *s = mtest_gpu_array(sizeof(*s));
    MPI_Request copy[2 * N];
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Request ordinary = MPI_REQUEST_NULL;
    int flag = -1;
    int word;

    set_make(s);
    MTEST_OK(MPI_Irecv(&word, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &ordinary));
    for (int at = 2 * N - 1; at >= 0; at--) {
        with(copy, s, at, ordinary);
        MTEST_KIND(MPIX_Matchall(2 * N, copy), MPIXQ_ERR_REQUEST);
        MTEST_KIND(MPIX_Imatchall(2 * N, copy, &match), MPIXQ_ERR_REQUEST);
        MTEST_CHECK(match == MPI_REQUEST_NULL);
        /* The same request twice. */
        with(copy, s, at, s->r[(at + 3) % (2 * N)]);
        MTEST_KIND(MPIX_Matchall(2 * N, copy), MPIXQ_ERR_STATE);
    }
    MTEST_KIND_TEXT(MPIX_Matchall(-1, s->r), MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(MPIX_Matchall(1, NULL), MPIXQ_ERR_ARG, "requests");
    MTEST_KIND_TEXT(MPIX_Match(NULL), MPIXQ_ERR_ARG, "request");
    MTEST_KIND_TEXT(MPIX_Imatch(&s->r[0], NULL), MPIXQ_ERR_ARG, "match");
    MTEST_KIND_TEXT(MPIX_Imatchall(2, s->r, NULL), MPIXQ_ERR_ARG, "match");
    MTEST_KIND_TEXT(MPIX_Is_matched(s->r[0], NULL), MPIXQ_ERR_ARG, "flag");
    for (int i = 0; i < 2 * N; i++) {
        MTEST_OK(MPIX_Is_matched(s->r[i], &flag));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(MPI_Cancel(&ordinary));
    MTEST_OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Matchall(2 * N, s->r));
    set_use(s, queue);
    set_free(s);
}

static void refuse(MPIX_Queue queue, MPI_Request copy[2 * N], int kind)
{
    long starts = mtest_queue_count(queue, "mpixq_starts");
    long waits = mtest_queue_count(queue, "mpixq_waits");
    long launches = mtest_queue_count(queue, "mpixq_launches");

    MTEST_KIND(MPIX_Enqueue_startall(queue, 2 * N, copy), kind);
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 2 * N, copy), kind);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts"), starts);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_waits"), waits);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_launches"), launches);
}

static void test_start(MPIX_Queue queue, MPIX_Queue other)
{
    struct set *s = mtest_gpu_array(sizeof(*s));
    struct set *foreign = mtest_gpu_array(sizeof(*foreign));
    MPI_Request copy[2 * N];
    MPI_Request unmatched = MPI_REQUEST_NULL;
    MPI_Request ordinary = MPI_REQUEST_NULL;
    int word = 0;
    int flag = -1;

    set_make(s);
    set_make(foreign);
    MTEST_OK(MPIX_Matchall(2 * N, s->r));
    MTEST_OK(MPIX_Matchall(2 * N, foreign->r));
    MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &unmatched));
    MTEST_OK(MPI_Irecv(&word, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &ordinary));
    MTEST_OK(MPIX_Enqueue_startall(other, 2 * N, foreign->r));
    for (int at = 0; at < 2 * N; at++) {
        with(copy, s, at, unmatched);
        refuse(queue, copy, MPIXQ_ERR_STATE);
        with(copy, s, at, ordinary);
        refuse(queue, copy, MPIXQ_ERR_REQUEST);
        with(copy, s, at, s->r[(at + 1) % (2 * N)]);
        refuse(queue, copy, MPIXQ_ERR_STATE);
        with(copy, s, at, foreign->r[at]);
        refuse(queue, copy, MPIXQ_ERR_STATE);
        MTEST_KIND(MPIX_Enqueue_waitall(queue, 2 * N, copy), MPIXQ_ERR_STATE);
        with(copy, s, at, ordinary);
        MTEST_KIND(MPIX_Enqueue_waitall(queue, 2 * N, copy), MPIXQ_ERR_REQUEST);
    }
    /* Had anything started, the data would be here already and a second start refused. */
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_get_status(s->r[i], &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 1);
        MTEST_EQ(s->in[i], -1);
    }
    set_use(s, queue);
    MTEST_OK(MPIX_Enqueue_waitall(other, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(other));
    MTEST_OK(MPI_Cancel(&ordinary));
    MTEST_OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&unmatched));
    set_free(s);
    set_free(foreign);
}

/* MPI's array calls: one element that a queue owns, and nothing is started, waited for or freed. */
static void test_host_arrays(MPIX_Queue queue)
{
    struct set *owned = mtest_gpu_array(sizeof(*owned));
    MPI_Request mine[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request mixed[3];
    MPI_Status statuses[3];
    int *word = mtest_gpu_array(2 * sizeof(*word));
    int flag = -1;

    word[0] = -1;
    word[1] = 40 + mtest_rank;
    set_make(owned);
    MTEST_OK(MPIX_Matchall(2 * N, owned->r));
    MTEST_OK(MPI_Recv_init(&word[0], 1, MPI_INT, peer, TAG + 2, MPI_COMM_WORLD, &mine[0]));
    MTEST_OK(MPI_Send_init(&word[1], 1, MPI_INT, peer, TAG + 2, MPI_COMM_WORLD, &mine[1]));
    mixed[0] = mine[0];
    mixed[1] = mine[1];
    mixed[2] = owned->r[0];
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * N, owned->r));
    MTEST_KIND(MPI_Startall(3, mixed), MPIXQ_ERR_STATE);
    /* Not started by those: both are inactive, and starting them now works. */
    MTEST_OK(MPI_Testall(2, mine, &flag, MPI_STATUSES_IGNORE));
    MTEST_EQ(flag, 1);
    MTEST_EQ(word[0], -1);
    MTEST_OK(MPI_Startall(2, mine));
    MTEST_KIND(MPI_Waitall(3, mixed, statuses), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Testall(3, mixed, &flag, statuses), MPIXQ_ERR_STATE);
    MTEST_CHECK(mixed[0] == mine[0] && mixed[1] == mine[1] && mixed[2] == owned->r[0]);
    MTEST_OK(MPI_Waitall(2, mine, statuses));
    MTEST_EQ(word[0], 40 + peer);
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_free(&mine[0]));
    MTEST_OK(MPI_Request_free(&mine[1]));
    set_use(owned, queue);
    set_free(owned);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue other = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = mtest_size - 1 - mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&other, MPIX_QUEUE_AUTO, NULL));
    test_match(queue);
    test_start(queue, other);
    test_host_arrays(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_free(&other));
    return mtest_end();
}
