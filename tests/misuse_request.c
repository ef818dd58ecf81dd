/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every rule of a request's life: in each state the calls that it forbids fail with the right kind
 * and change nothing, so the exchange under way still gives the right data.
 * Argument 1: peer or self.
 */
#include "mtest.h"

#include <string.h>

enum { TAG = 12 };

struct ends {
    int in;
    int out;
    MPI_Request r[2]; /* receive, send */
};

static int peer;

static void ends_make(struct ends *e)
{
    e->in = -1;
    e->out = 900 + mtest_rank;
    MTEST_OK(MPI_Recv_init(&e->in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &e->r[0]));
    MTEST_OK(MPI_Send_init(&e->out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &e->r[1]));
}

static void ends_free(struct ends *e)
{
    MTEST_EQ(e->in, 900 + peer);
    MTEST_OK(MPI_Request_free(&e->r[0]));
    MTEST_OK(MPI_Request_free(&e->r[1]));
}

/* Calls of the library that need an unmatched or inactive request. */
static void refuse_matching(MPI_Request *r)
{
    MPI_Request keep = *r;
    MPI_Request match = MPI_REQUEST_NULL;

    MTEST_KIND(MPIX_Match(r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Matchall(1, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Imatch(r, &match), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Imatchall(1, r, &match), MPIXQ_ERR_STATE);
    MTEST_CHECK(match == MPI_REQUEST_NULL);
    MTEST_CHECK(*r == keep);
}

static void refuse_enqueue(MPIX_Queue queue, MPI_Request *r)
{
    MTEST_KIND(MPIX_Enqueue_start(queue, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_startall(queue, 1, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_startwaitall(queue, 1, r), MPIXQ_ERR_STATE);
}

static void refuse_enqueue_wait(MPIX_Queue queue, MPI_Request *r)
{
    MTEST_KIND(MPIX_Enqueue_wait(queue, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_waitall(queue, 1, r), MPIXQ_ERR_STATE);
}

/* Calls of MPI on a request that the library is using; waits: what tests it finds it incomplete, as
 * its wait is enqueued. */
static void refuse_host(MPI_Request *r, int waits)
{
    MPI_Request keep = *r;
    MPI_Status status[1];
    int index = -1;
    int flag = -1;

    MTEST_KIND(MPI_Start(r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Startall(1, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Wait(r, status), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitany(1, r, &index, status), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitsome(1, r, &index, &flag, status), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitall(1, r, status), MPIXQ_ERR_STATE);
    if (waits) {
        MTEST_OK(MPI_Test(r, &flag, status));
        MTEST_EQ(flag, 0);
    } else {
        MTEST_KIND(MPI_Test(r, &flag, status), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testany(1, r, &index, &flag, status), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testsome(1, r, &index, &flag, status), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Testall(1, r, &flag, status), MPIXQ_ERR_STATE);
    }
    MTEST_KIND(MPI_Cancel(r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Request_free(r), MPIXQ_ERR_STATE);
    MTEST_CHECK(*r == keep);
}

static void expect_matched(MPI_Request r, int expected)
{
    int flag = -1;

    MTEST_OK(MPIX_Is_matched(r, &flag));
    MTEST_EQ(flag, expected);
}

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void test_unmatched(MPIX_Queue queue)
{
    struct ends e;

    ends_make(&e);
    for (int i = 0; i < 2; i++) {
        expect_matched(e.r[i], 0);
        refuse_enqueue(queue, &e.r[i]);
        refuse_enqueue_wait(queue, &e.r[i]);
    }
    /* Active: started by the host. */
    MTEST_OK(MPI_Start(&e.r[0]));
    refuse_matching(&e.r[0]);
    refuse_enqueue(queue, &e.r[0]);
    barrier();
    MTEST_OK(MPI_Start(&e.r[1]));
    MTEST_OK(MPI_Waitall(2, e.r, MPI_STATUSES_IGNORE));
    /* Complete, so inactive again. */
    MTEST_OK(MPIX_Matchall(2, e.r));
    ends_free(&e);
}

/* Nobody begins a send before the barrier, so the receives are being matched until then. */
static void test_matching(MPIX_Queue queue)
{
    struct ends e;
    MPI_Request match = MPI_REQUEST_NULL;

    ends_make(&e);
    MTEST_OK(MPIX_Imatch(&e.r[0], &match));
    expect_matched(e.r[0], 0);
    refuse_matching(&e.r[0]);
    refuse_enqueue(queue, &e.r[0]);
    refuse_enqueue_wait(queue, &e.r[0]);
    refuse_host(&e.r[0], 0);
    MTEST_KIND(MPIX_Matchall(2, e.r), MPIXQ_ERR_STATE);
    barrier();
    MTEST_OK(MPIX_Match(&e.r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    expect_matched(e.r[0], 1);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, e.r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, e.r));
    MTEST_OK(MPIX_Queue_wait(queue));
    ends_free(&e);
}

/* Waiting for what is not active returns at once. */
static void inactive(MPI_Request *r)
{
    MPI_Request keep = *r;
    int flag = -1;

    refuse_matching(r);
    MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Test(r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Waitall(1, r, MPI_STATUSES_IGNORE));
    MTEST_OK(MPI_Request_get_status(*r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 1);
    MTEST_CHECK(*r == keep);
}

static void test_started(MPIX_Queue queue, MPIX_Queue other, MPIX_Host_stream stream)
{
    struct ends e;
    struct mtest_gate gate = {0};
    MPIX_Queue copy = queue;

    ends_make(&e);
    MTEST_OK(MPIX_Matchall(2, e.r));
    inactive(&e.r[0]);
    inactive(&e.r[1]);
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, e.r));
    for (int i = 0; i < 2; i++) {
        refuse_matching(&e.r[i]);
        refuse_enqueue(queue, &e.r[i]);
        refuse_enqueue(other, &e.r[i]);
        refuse_enqueue_wait(other, &e.r[i]);
        refuse_host(&e.r[i], 0);
    }
    MTEST_KIND(MPIX_Queue_free(&copy), MPIXQ_ERR_STATE);
    MTEST_CHECK(copy == queue);
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, e.r));
    /* The wait is enqueued but cannot have completed: the stream is held. */
    for (int i = 0; i < 2; i++) {
        refuse_matching(&e.r[i]);
        refuse_enqueue(other, &e.r[i]);
        refuse_enqueue_wait(other, &e.r[i]);
        refuse_host(&e.r[i], 1);
        MTEST_OK(MPIX_Enqueue_wait(queue, &e.r[i]));
    }
    MTEST_KIND(MPIX_Queue_free(&copy), MPIXQ_ERR_STATE);
    /* On its own queue it may be started again at once. */
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, e.r));
    refuse_host(&e.r[0], 0);
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, e.r));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2, e.r));
    for (int i = 0; i < 2; i++) {
        refuse_enqueue(other, &e.r[i]);
        refuse_host(&e.r[i], 1);
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(e.in, 900 + peer);
    inactive(&e.r[0]);
    inactive(&e.r[1]);
    e.in = -1;
    MTEST_OK(MPIX_Enqueue_startwaitall(other, 2, e.r));
    MTEST_OK(MPIX_Queue_wait(other));
    ends_free(&e);
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue other = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = argc > 1 && strcmp(argv[1], "self") == 0 ? mtest_rank : mtest_size - 1 - mtest_rank;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&other, MPIX_QUEUE_AUTO, NULL));
    test_unmatched(queue);
    test_matching(queue);
    test_started(queue, other, stream);
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_free(&other));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
