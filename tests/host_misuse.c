/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What may not be done to a request that the host has started, and to arrays in which one element
 * may not be started or completed: an error, and nothing has changed. Arrays of many elements,
 * whose calls need memory: without it they change nothing either.
 */
#include "mtest.h"

#include <stdlib.h>

#include "mtest_gpu.h"

enum { TAG = 6, MANY = 200 };

static MPIX_Queue queue;
static int from, to;

struct ends {
    int in, out;
    MPI_Request r[2]; /* receive, send */
};

static void ends_make(struct ends *e, int match)
{
    e->in = -1;
    e->out = 500 + mtest_rank;
    MTEST_OK(MPI_Recv_init(&e->in, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &e->r[0]));
    MTEST_OK(MPI_Send_init(&e->out, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &e->r[1]));
    if (match) {
        MTEST_OK(MPIX_Matchall(2, e->r));
    }
}

static void ends_free(struct ends *e)
{
    MTEST_EQ(e->in, 500 + from);
    MTEST_OK(MPI_Request_free(&e->r[0]));
    MTEST_OK(MPI_Request_free(&e->r[1]));
}

/* Active, by the host: queues and a second start refuse it, with texts of their own. */
static void test_active(void)
{
    struct ends *e = mtest_gpu_array(sizeof(*e));
    MPI_Request match = MPI_REQUEST_NULL, twice[2];

    ends_make(e, 1);
    MTEST_OK(MPI_Start(&e->r[0]));
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &e->r[0]), MPIXQ_ERR_STATE, "the host started it");
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(queue, 2, e->r), MPIXQ_ERR_STATE, "the host started it");
    MTEST_KIND_TEXT(MPIX_Enqueue_startwaitall(queue, 2, e->r), MPIXQ_ERR_STATE,
                    "the host started it");
    MTEST_KIND_TEXT(MPIX_Enqueue_wait(queue, &e->r[0]), MPIXQ_ERR_STATE, "the host started it");
    MTEST_KIND_TEXT(MPI_Start(&e->r[0]), MPIXQ_ERR_STATE, "before the next start");
    MTEST_KIND_TEXT(MPI_Startall(2, e->r), MPIXQ_ERR_STATE, "before the next start");
    MTEST_KIND(MPIX_Match(&e->r[0]), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Imatch(&e->r[0], &match), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Cancel(&e->r[0]), MPIXQ_ERR_UNSUPPORTED);
    twice[0] = twice[1] = e->r[1];
    MTEST_KIND(MPI_Startall(2, twice), MPIXQ_ERR_STATE);
    /* The send was not started by any of those: it may be enqueued. */
    MTEST_OK(MPIX_Enqueue_start(queue, &e->r[1]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &e->r[1]));
    MTEST_OK(MPI_Wait(&e->r[0], MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_KIND(MPI_Cancel(&e->r[0]), MPIXQ_ERR_UNSUPPORTED);
    ends_free(e);
}

/* One element that a queue owns, or that is being matched, among all that may be started. */
static void test_arrays(void)
{
    struct ends *all = mtest_gpu_array(4 * sizeof(*all));
    struct ends *mine = all, *owned = all + 1, *plain = all + 2, *open = all + 3;
    MPI_Request r[5], keep[5], match = MPI_REQUEST_NULL;
    MPI_Status s[5];
    int index = -1, flag = -1, n = -1, indices[5];

    ends_make(mine, 1);
    ends_make(owned, 1);
    ends_make(plain, 0);
    MTEST_OK(MPIX_Enqueue_start(queue, &owned->r[0]));
    for (int round = 0; round < 2; round++) {
        r[0] = keep[0] = mine->r[0];
        r[1] = keep[1] = plain->r[0];
        r[2] = keep[2] = MPI_REQUEST_NULL;
        r[3] = keep[3] = mine->r[1];
        r[4] = keep[4] = owned->r[0];
        if (round == 0) {
            r[2] = keep[2] = plain->r[1];
            MTEST_KIND(MPI_Startall(5, r), MPIXQ_ERR_STATE);
            /* Nothing was: all of them start now. */
            MTEST_OK(MPI_Startall(4, r));
        }
        MTEST_KIND(MPI_Waitall(5, r, s), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testall(5, r, &flag, s), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Waitany(5, r, &index, s), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testany(5, r, &index, &flag, s), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Waitsome(5, r, &n, indices, s), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testsome(5, r, &n, indices, s), MPIXQ_ERR_STATE);
        for (int i = 0; i < 5; i++) {
            MTEST_CHECK(r[i] == keep[i]);
        }
    }
    MTEST_OK(MPI_Waitall(4, r, s));
    MTEST_OK(MPI_Wait(&plain->r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Enqueue_startall(queue, 1, &owned->r[1]));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    /* The same with one that is being matched. */
    ends_make(open, 0);
    MTEST_OK(MPIX_Imatch(&open->r[0], &match));
    mine->in = -1;
    r[0] = mine->r[0];
    r[1] = open->r[0];
    MTEST_KIND(MPI_Startall(2, r), MPIXQ_ERR_STATE);
    MTEST_OK(MPI_Startall(2, mine->r));
    MTEST_KIND(MPI_Waitall(2, r, s), MPIXQ_ERR_STATE);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Match(&open->r[1]));
    r[1] = match;
    MTEST_OK(MPI_Waitall(2, r, s));
    MTEST_OK(MPI_Wait(&mine->r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Startall(2, open->r));
    MTEST_OK(MPI_Waitall(2, open->r, s));
    ends_free(open);
    ends_free(mine);
    ends_free(owned);
    ends_free(plain);
}

/* More elements than the calls have room for by themselves, of all kinds. */
static void test_many(void)
{
    int *in = mtest_gpu_array(MANY * sizeof(*in)), *out = mtest_gpu_array(MANY * sizeof(*out));
    static MPI_Request r[4 * MANY];
    static MPI_Status s[4 * MANY];
    static int indices[4 * MANY];
    int n = 0, left = 2 * MANY, flag = 0;

    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[2 * i + 1]));
        r[2 * MANY + i] = r[3 * MANY + i] = MPI_REQUEST_NULL;
    }
    /* A third is not matched. */
    for (int i = 0; i < MANY; i++) {
        if (i % 3 != 0) {
            MTEST_OK(MPIX_Matchall(2, &r[2 * i]));
        }
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MANY; i++) {
            in[i] = -1;
            out[i] = 1000 * round + i + mtest_rank;
        }
        MTEST_OK(MPI_Startall(2 * MANY, r));
        if (round == 0) {
            MTEST_OK(MPI_Waitall(4 * MANY, r, s));
        } else if (round == 1) {
            for (flag = 0; !flag;) {
                MTEST_OK(MPI_Testall(4 * MANY, r, &flag, s));
            }
        } else {
            for (left = 2 * MANY; left > 0; left -= n) {
                n = 1;
                if (round == 2) {
                    MTEST_OK(MPI_Waitany(4 * MANY, r, &indices[0], s));
                } else if (round == 3) {
                    MTEST_OK(MPI_Waitsome(4 * MANY, r, &n, indices, s));
                } else {
                    MTEST_OK(MPI_Testsome(4 * MANY, r, &n, indices, s));
                }
                MTEST_CHECK(n >= 0 && n <= left);
            }
        }
        for (int i = 0; i < MANY; i++) {
            MTEST_EQ(in[i], 1000 * round + i + from);
        }
        MTEST_OK(MPI_Waitsome(4 * MANY, r, &n, indices, s));
        MTEST_EQ(n, MPI_UNDEFINED);
    }
    for (int i = 0; i < 2 * MANY; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_active();
    test_arrays();
    test_many();
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
