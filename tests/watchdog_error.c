/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_WATCHDOG_ACTION=error: a wait that lasts fails its queue, whose waits end; the peer hears
 * of it; all that took part can be freed, and new requests between the same two work.
 */
#include "capture.h"
#include "mtest.h"

#include "mtest_gpu.h"

enum { TAG = 7, BIG = 400000 };

static int *out, *in;
static int peer;

/* New requests and a new queue work; so does everything that rank 1 does meanwhile. */
static void test_after(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* The error of a queue that the watchdog has failed, at every call but the free. */
static void expect_timeout(MPIX_Queue queue, MPI_Request *r)
{
    int flag = -1;

    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT, "waited longer than 1 s (rank ");
    MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT);
    MTEST_KIND(MPIX_Queue_test(queue, &flag), MPIXQ_ERR_TIMEOUT);
    MTEST_EQ(flag, -1);
    MTEST_KIND(MPIX_Enqueue_start(queue, r), MPIXQ_ERR_TIMEOUT);
    MTEST_KIND(MPIX_Enqueue_wait(queue, r), MPIXQ_ERR_TIMEOUT);
}

/* Start and wait once. */
static int start_once(MPIX_Queue queue, MPI_Request *r, struct mtest_errors *before)
{
    int rc;

    *before = mtest_errors();
    rc = MPIX_Enqueue_start(queue, r);
    if (rc == MPI_SUCCESS) {
        *before = mtest_errors();
        rc = MPIX_Enqueue_wait(queue, r);
    }
    if (rc == MPI_SUCCESS) {
        *before = mtest_errors();
        rc = MPIX_Queue_wait(queue);
    }
    return rc;
}

/* The peer's starts fail, at once or when the news arrives. A message that MPI takes before that
 * may go through. */
static void expect_peer_failed(MPIX_Queue queue, MPI_Request *r)
{
    double begun = MPI_Wtime();
    struct mtest_errors before;
    int rc;

    do {
        rc = start_once(queue, r, &before);
    } while (rc == MPI_SUCCESS && MPI_Wtime() - begun < 30);
    mtest_kind(__FILE__, __LINE__, "a start whose peer has failed", rc, MPIXQ_ERR_COMM, NULL,
               before);
}

/* Rank 0 starts one request and waits; rank 1 starts only after that has failed. */
static void test_peer(enum mtest_mode mode, int count, int with_wait)
{
    int is_send = (mode != MTEST_RECV) == (mtest_rank == 0);
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_init_raw(!is_send             ? MTEST_RECV
                            : mode == MTEST_RECV ? MTEST_SEND
                                                 : mode,
                            is_send ? out : in, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(mtest_init_raw(is_send ? MTEST_SEND : MTEST_RECV, is_send ? out : in, 1, MPI_INT, peer,
                            TAG + 1, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        if (with_wait) {
            MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
            /* This start is not reached, and dropped. */
            MTEST_OK(MPIX_Enqueue_start(queue, &r[1]));
        }
        expect_timeout(queue, &r[0]);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        expect_peer_failed(queue, &r[0]);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    test_after();
}

/* The peer has enqueued its start already, behind a function that runs on its stream. */
static void test_peer_behind(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_gate gate = {0};
    MPI_Request r;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SSEND, in, 1, MPI_INT, peer,
                            TAG + 2, MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    if (mtest_rank == 0) {
        expect_timeout(queue, &r);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        CAPTURE_WAIT(1, 1, "queue failed: peer of synchronous send to 0 tag 9 ");
        mtest_gate_open(&gate);
        MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    test_after();
}

/* Two queues on a stream: the first fails, so that the second gets its turn. */
static void test_behind(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue first = MPIX_QUEUE_NULL, second = MPIX_QUEUE_NULL;
    MPI_Request r[2];

    *in = 0;
    *out = 5;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&first, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&second, MPIX_QUEUE_AUTO, &stream));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND,
                                mtest_rank == 0 ? in : out, 1, MPI_INT, peer, TAG + i,
                                MPI_COMM_WORLD, &r[i]));
    }
    MTEST_OK(MPIX_Matchall(2, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(first, &r[0]));
        MTEST_OK(MPIX_Enqueue_wait(first, &r[0]));
    }
    MTEST_OK(MPIX_Enqueue_start(second, &r[1]));
    MTEST_OK(MPIX_Enqueue_wait(second, &r[1]));
    MTEST_OK(MPIX_Queue_wait(second));
    if (mtest_rank == 0) {
        MTEST_EQ(*in, 5);
        MTEST_KIND(MPIX_Queue_wait(first), MPIXQ_ERR_TIMEOUT);
    }
    /* Had rank 1 freed its ends before, that might be the error. */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_free(&second));
    MTEST_OK(MPIX_Queue_free(&first));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    test_after();
}

/* Both ends in this process: the partner fails as well. */
static void test_self(int send_waits)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL, other = MPIX_QUEUE_NULL;
    MPI_Request r[2], match = MPI_REQUEST_NULL;
    int mine = send_waits ? 0 : 1;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&other, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_init_raw(MTEST_SEND, out, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[0]));
    MTEST_OK(mtest_init_raw(MTEST_RECV, in, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[1]));
    MTEST_OK(MPIX_Imatch(&r[0], &match));
    MTEST_OK(MPIX_Match(&r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Enqueue_start(queue, &r[mine]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[mine]));
    expect_timeout(queue, &r[mine]);
    expect_peer_failed(other, &r[1 - mine]);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_free(&other));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    capture_begin();
    out = mtest_gpu_array(BIG * sizeof(*out));
    in = mtest_gpu_array(BIG * sizeof(*in));
    peer = mtest_size - 1 - mtest_rank;
    if (mtest_size == 1) {
        test_self(0);
        test_self(1);
    } else {
        test_peer(MTEST_RECV, 1, 1);
        test_peer(MTEST_RECV, BIG, 0);
        test_peer(MTEST_SSEND, 1, 1);
        test_peer(MTEST_SEND, BIG, 1);
        test_peer_behind();
        test_behind();
        /* What nobody frees does not keep MPI_Finalize from ending. */
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND, in, 1, MPI_INT, peer,
                                TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        if (mtest_rank == 0) {
            MTEST_OK(MPIX_Enqueue_start(queue, &r));
            MTEST_OK(MPIX_Enqueue_wait(queue, &r));
            MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT);
        }
    }
    capture_end();
    return mtest_end();
}
