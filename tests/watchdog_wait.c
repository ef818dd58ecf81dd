/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog reports a wait on a queue that lasts: which request, of which peer, on which queue
 * and channel, and what it waits for. The report changes nothing: once the peer starts, all is
 * well.
 */
#include "capture.h"
#include "mtest.h"

#include <stdio.h>

#include "mtest_gpu.h"

enum { TAG = 7, COUNT = 3, BIG = 400000, WORD = 64 };

static MPI_Comm comm = MPI_COMM_NULL; /* the ranks of MPI_COMM_WORLD in reverse */
static MPIX_Queue queue;
static char this_queue[WORD]; /* as reports name it */
static int *out, *in;
static char by_channel[WORD] = "by channel fallback";

static MPIX_Queue make_queue(MPIX_Host_stream *stream, char name[WORD])
{
    MPIX_Queue made = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&made, MPIX_QUEUE_AUTO, stream));
    (void)snprintf(name, WORD, "watchdog: queue %ld ",
                   mtest_queue_count(made, "mpixq_queue_number"));
    return made;
}

static void begin(void)
{
    queue = make_queue(NULL, this_queue);
}

static void end(int n, MPI_Request r[])
{
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 waits for a start of this mode, and rank 1 makes its own only when that was reported. */
static void test_peer(enum mtest_mode mode, int count, const char *what, const char *why)
{
    int is_send = (mode != MTEST_RECV) == (mtest_rank == 0), tag = TAG + (int)mode;
    char text[WORD], bytes[WORD];
    MPI_Request r;

    begin();
    (void)snprintf(text, sizeof(text), "start 1 of %s %d tag %d (", what, mtest_rank, tag);
    (void)snprintf(bytes, sizeof(bytes), "(rank 1 of MPI_COMM_WORLD, %d bytes)", count * 4);
    MTEST_OK(mtest_init_raw(!is_send             ? MTEST_RECV
                            : mode == MTEST_RECV ? MTEST_SEND
                                                 : mode,
                            is_send ? out : in, count, MPI_INT, mtest_rank, tag, comm, &r));
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        CAPTURE_WAIT(0, 1, "error: ", this_queue, text, bytes, by_channel, why);
        /* Once more when it is twice as old. */
        CAPTURE_WAIT(0, 2, this_queue, text, bytes);
        MTEST_EQ(CAPTURE_COUNT(0, this_queue), 2);
    } else {
        CAPTURE_WAIT(0, 2, "start 1 of ", what, bytes, by_channel, why);
        MTEST_OK(MPIX_Enqueue_start(queue, &r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    }
    end(1, &r);
}

/* Two starts of an array are stuck, and one is not. */
static void test_array(void)
{
    MPI_Request r[COUNT];
    int tag = TAG + 20;

    begin();
    for (int i = 0; i < COUNT; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND, &in[i], 1, MPI_INT,
                                mtest_rank, tag + i, comm, &r[i]));
    }
    MTEST_OK(MPIX_Matchall(COUNT, r));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_startall(queue, COUNT, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, COUNT, r));
        CAPTURE_WAIT(0, 1, this_queue, "receive from 0 tag 27 (");
        CAPTURE_WAIT(0, 1, this_queue, "receive from 0 tag 29 (");
        MTEST_EQ(CAPTURE_COUNT(0, this_queue, "tag 28 ("), 0);
    } else {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[1]));
        CAPTURE_WAIT(0, 1, "receive from 0 tag 27 (");
        CAPTURE_WAIT(0, 1, "receive from 0 tag 29 (");
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_start(queue, &r[2]));
        MTEST_OK(MPIX_Enqueue_waitall(queue, COUNT, r));
    }
    end(COUNT, r);
}

/* The host waits for a start that no wait was enqueued for. */
static void test_host(void)
{
    MPI_Request r;

    begin();
    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND, in, 1, MPI_INT, mtest_rank,
                            TAG + 30, comm, &r));
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 1) {
        CAPTURE_WAIT(0, 1, "start 1 of receive from 0 tag 37 (", by_channel);
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Queue_wait(queue));
    if (mtest_rank == 0) {
        MTEST_CHECK(CAPTURE_COUNT(0, this_queue, "start 1 of receive from 0 tag 37 (") > 0);
    }
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    end(1, &r);
}

/* A queue stands behind the wait of another one, on the same stream. */
static void test_behind(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue behind;
    char name[WORD];
    MPI_Request r[COUNT];

    MTEST_OK(MPIX_Host_stream_create(&stream));
    queue = make_queue(&stream, this_queue);
    behind = make_queue(&stream, name);
    for (int i = 0; i < COUNT; i++) {
        MTEST_OK(mtest_init_raw((mtest_rank == 0) == (i == 0) ? MTEST_RECV : MTEST_SEND, &in[i], 1,
                                MPI_INT, mtest_rank, TAG + 40 + i, comm, &r[i]));
    }
    MTEST_OK(MPIX_Matchall(COUNT, r));
    if (mtest_rank == 1) {
        CAPTURE_WAIT(0, 1, "2 starts that its stream has not reached", "send to 0 tag 48 (");
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    MTEST_OK(MPIX_Enqueue_startall(behind, 2, &r[1]));
    MTEST_OK(MPIX_Enqueue_waitall(behind, 2, &r[1]));
    if (mtest_rank == 0) {
        CAPTURE_WAIT(0, 1, this_queue, "receive from 0 tag 47 (");
        CAPTURE_WAIT(0, 1, name, "2 starts that its stream has not reached", "send to 0 tag 48 (");
    }
    MTEST_OK(MPIX_Queue_wait(behind));
    MTEST_OK(MPIX_Queue_free(&behind));
    end(COUNT, r);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* Both ends in this process: the partner is not started, or its stream does not get to it. */
static void test_self(int send_waits, int gated)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue other;
    struct mtest_gate gate = {0};
    char name[WORD];
    MPI_Request r[2], match = MPI_REQUEST_NULL;
    int mine = send_waits ? 0 : 1, tag = TAG + 50 + 2 * gated + send_waits, sent = tag, got = -1;

    begin();
    MTEST_OK(MPIX_Host_stream_create(&stream));
    other = make_queue(&stream, name);
    MTEST_OK(mtest_init_raw(MTEST_SEND, &sent, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &r[0]));
    MTEST_OK(mtest_init_raw(MTEST_RECV, &got, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_SELF, &r[1]));
    MTEST_OK(MPIX_Imatch(&r[0], &match));
    MTEST_OK(MPIX_Match(&r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    if (gated) {
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_start(other, &r[1 - mine]));
    }
    MTEST_OK(MPIX_Enqueue_start(queue, &r[mine]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[mine]));
    (void)snprintf(name, sizeof(name), "%s 0 tag %d (rank %d",
                   send_waits ? "send to" : "receive from", tag, mtest_rank);
    CAPTURE_WAIT(mtest_rank, 1, this_queue, name, "4 bytes", "by channel self",
                 gated ? "its stream has not reached it" : "is not started");
    if (gated) {
        mtest_gate_open(&gate);
    } else {
        MTEST_OK(MPIX_Enqueue_start(other, &r[1 - mine]));
    }
    MTEST_OK(MPIX_Enqueue_wait(other, &r[1 - mine]));
    MTEST_OK(MPIX_Queue_wait(other));
    MTEST_EQ(got, tag);
    MTEST_OK(MPIX_Queue_free(&other));
    end(2, r);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    capture_begin();
    out = mtest_gpu_array(BIG * sizeof(*out));
    in = mtest_gpu_array(BIG * sizeof(*in));
    if (argc > 1) {
        (void)snprintf(by_channel, sizeof(by_channel), "by channel %s", argv[1]);
    }
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mtest_rank, &comm));
    if (mtest_size == 1) {
        for (int gated = 0; gated < 2; gated++) {
            test_self(0, gated);
            test_self(1, gated);
        }
    } else {
        const char *no_send =
            argc > 1 ? "the peer has not started its end" : "the peer has not started its send";
        const char *no_receive = argc > 1 ? no_send : "the peer has not started its receive";

        test_peer(MTEST_RECV, COUNT, "receive from", no_send);
        test_peer(MTEST_SSEND, COUNT, "synchronous send to", no_receive);
        test_peer(MTEST_SEND, BIG, "send to", no_receive);
        test_array();
        test_host();
        test_behind();
    }
    MTEST_OK(MPI_Comm_free(&comm));
    capture_end();
    return mtest_end();
}
