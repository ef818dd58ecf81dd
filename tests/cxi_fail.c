/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Operations of the channel cxi that fail end the waits of their queue with an error that names
 * operation and peer, on the side that finds it, and nothing else is disturbed. Argument 1: write
 * (the receive was freed), cts (the send was freed), eager (either was, with a message in the
 * slot), flight (queue freed with work in flight), churn (pairs come and go).
 */
#include "mtest.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 1 };

/* The queue of rank 0 has failed, and its end is freed. Another queue works. */
static void expect_new_queue(MPIX_Queue queue, MPI_Request r)
{
    MTEST_OK(MPIX_Queue_free(&queue));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* Rank 0 is the side that fails; it starts what the other end has freed. */
static void test_freed_peer(bool is_write)
{
    int data[2] = {1, 2}, peer = 1 - mtest_rank;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    if ((mtest_rank == 0) == is_write) {
        MTEST_OK(mtest_init_raw(is_write ? MTEST_RSEND : MTEST_SEND, data, sizeof data, MPI_BYTE,
                                peer, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(MPI_Recv_init(data, sizeof data, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank != 0) {
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        /* By now nothing is left to do at rank 1, whose fabric has to answer nevertheless. */
        (void)usleep(200000);
        MTEST_KIND_TEXT(mtest_transfer(queue, &r), MPIXQ_ERR_COMM,
                        is_write ? "bytes: write failed (rank 1"
                                 : "bytes: clear-to-send failed (rank 1");
        MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_COMM, "rank 1");
    }
    expect_new_queue(queue, r);
}

/* Rank 1 frees its end of an eager pair while a message lies in the slot. That is received if the
 * receive is there yet; what its peer does not take part in fails. */
static void test_eager(bool frees_send)
{
    int data[2] = {0, 0}, peer = 1 - mtest_rank;
    bool is_sender = (mtest_rank == 1) == frees_send;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    if (is_sender) {
        MTEST_OK(
            mtest_init_raw(MTEST_SEND, data, sizeof data, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(MPI_Recv_init(data, sizeof data, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    if (is_sender) {
        data[0] = 17;
        data[1] = 18;
        MTEST_OK(mtest_transfer(queue, &r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        if (frees_send) {
            MTEST_OK(mtest_transfer(queue, &r));
            MTEST_EQ(data[0], 17);
            MTEST_EQ(data[1], 18);
        }
        MTEST_KIND_TEXT(mtest_transfer(queue, &r), MPIXQ_ERR_COMM, "the peer has freed its end");
        MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_COMM, "rank 1");
    }
    expect_new_queue(queue, r);
}

/* The stream is held while many starts are posted behind; then one of them fails, the others are
 * dropped, and their entries and counters stay with the fabric. New pairs work. */
static void test_flight(void)
{
    enum { PAIRS = 20 };
    static int in[PAIRS], out[PAIRS];
    int peer = 1 - mtest_rank;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2 * PAIRS];

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[PAIRS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
    /* Rank 1 frees the first receive; rank 0 waits for a clear-to-send that never comes, and for
     * the rest, of which rank 1 starts nothing either. Then rank 1's clear-to-send to nobody... */
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&r[PAIRS]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        /* ... is what fails here: the send that this receive belongs to is gone. */
        struct mtest_gate gate = {.reached = 0};

        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        for (int k = 0; k < 3; k++) {
            MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
            MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        }
        mtest_gate_open(&gate);
        MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_COMM, "clear-to-send");
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < 2 * PAIRS; i++) {
        if (r[i] != MPI_REQUEST_NULL) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    for (int k = 0; k < 20; k++) {
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* More pairs than a provider has counters, one after the other. */
static void test_churn(void)
{
    enum { TIMES = 1500 };
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    for (int k = 0; k < TIMES; k++) {
        if (k % 100 == 0) {
            MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
        }
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
        if (k % 100 == 99) {
            MTEST_OK(MPIX_Queue_free(&queue));
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (strcmp(what, "flight") == 0) {
        test_flight();
    } else if (strcmp(what, "churn") == 0) {
        test_churn();
    } else if (strcmp(what, "eager") == 0) {
        test_eager(true);
        test_eager(false);
    } else {
        MTEST_CHECK(strcmp(what, "write") == 0 || strcmp(what, "cts") == 0);
        test_freed_peer(what[0] == 'w');
    }
    return mtest_end();
}
