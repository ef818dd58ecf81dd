/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: a ready send, too large for slots, that the host has started and that fails
 * before it is seen to have moved its data; a kernel could have started it as well, as it has a
 * handle, or not. The call that says so, or MPI_Finalize, waits until the GPU does not touch the
 * buffer any more, and for nothing else. With MTEST_STREAM, MTEST_BUFFER=device, a watchdog of
 * some seconds that ends waits, and HIP_DOUBLE_QUEUES=1, so that the stream of the test holds that
 * of the library. With the argument "finalize", and without a watchdog, the send is under way in
 * MPI_Finalize.
 */
#include <mpix_queue_device.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mtest.h"
#include "mtest_gpu.h"

enum { TAG = 31, BYTES = 8 << 20, OURS = 5, OTHER = 6, NEWS = 99, A_WHILE_S = 1 };

static int peer;
static void *stream;

struct ready {
    struct mtest_buf buf;
    MPI_Request r;
    MPIX_Queue queue;
    MPIX_Device_request handle;
    int counted;
};

/* A send of rank 0 to rank 1. */
static void make(struct ready *s, int counted)
{
    int rc;

    s->counted = counted;
    s->queue = MPIX_QUEUE_NULL;
    mtest_buf_make(&s->buf, MPI_BYTE, BYTES);
    if (mtest_rank == 0) {
        mtest_buf_fill(&s->buf, OURS);
    } else {
        mtest_buf_clear(&s->buf);
    }
    MTEST_OK(mtest_init(mtest_rank == 0 ? MTEST_RSEND : MTEST_RECV, &s->buf, peer, TAG,
                        MPI_COMM_WORLD, &s->r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* so that neither fills buffers while the other waits */
    rc = MPIX_Match(&s->r);
    if (rc != MPI_SUCCESS) { /* what follows would wait for what never comes */
        MTEST_OK(rc);
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MTEST_OK(MPIX_Queue_init(&s->queue, MPIX_QUEUE_AUTO, NULL));
    if (mtest_rank == 0 && counted) {
        MTEST_OK(MPIX_Device_request_create(1, &s->r, s->queue, &s->handle));
    }
}

static void end(struct ready *s)
{
    if (s->r != MPI_REQUEST_NULL) {
        MTEST_OK(MPI_Request_free(&s->r));
    }
    if (mtest_rank == 0 && s->counted) {
        MTEST_OK(MPIX_Device_request_free(1, &s->handle));
    }
    MTEST_OK(MPIX_Queue_free(&s->queue));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&s->buf);
}

/* In the stream, by a thread of the runtime: until the peer has heard of the failure. */
static void hold(void *arg)
{
    int news = 0;

    (void)arg;
    (void)MPI_Recv(&news, 1, MPI_INT, peer, NEWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void hear_failure(MPI_Request *r)
{
    int rc, flag = 0, news = 1;

    do { /* nobody waits here, or the watchdog would end it at this end */
        rc = MPI_Test(r, &flag, MPI_STATUS_IGNORE);
    } while (rc == MPI_SUCCESS && !flag);
    mtest_forgive(1);
    MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
    MTEST_OK(MPI_Send(&news, 1, MPI_INT, peer, NEWS, MPI_COMM_WORLD));
}

/* The watchdog ends the wait while the launch is held, and the peer takes its start back before it
 * is not held any more: nothing is moved. */
static void test_given_up(int counted)
{
    struct ready s;

    make(&s, counted);
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        mtest_gpu_launch(stream, hold, NULL);
        MTEST_OK(MPI_Start(&s.r));
        MTEST_KIND(MPI_Wait(&s.r, MPI_STATUS_IGNORE), MPIXQ_ERR_TIMEOUT);
        mtest_buf_fill(&s.buf, OTHER);
    } else {
        MTEST_OK(MPI_Start(&s.r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        hear_failure(&s.r);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_UNTOUCHED(&s.buf);
    }
    end(&s);
}

/* The peer is gone, which is known before the data has moved, if the GPU is slow enough. */
static void test_freed(int counted)
{
    struct ready s;
    int rc;

    make(&s, counted);
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&s.r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Start(&s.r));
        rc = MPI_Wait(&s.r, MPI_STATUS_IGNORE);
        mtest_forgive(rc != MPI_SUCCESS);
        MTEST_CHECK(rc == MPI_SUCCESS || mtest_kind_of(rc) == MPIXQ_ERR_COMM);
        mtest_buf_fill(&s.buf, OTHER);
    }
    end(&s);
}

static void sleep_a_while(void *arg)
{
    (void)arg;
    (void)sleep(A_WHILE_S);
}

/* A request that is freed while it is active, as MPI allows; the handle is not given back. */
static void leave(void)
{
    static struct ready s; /* until the program ends, as its buffer */

    make(&s, 1);
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Start(&s.r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_free(&s.queue));
    if (mtest_rank == 0) {
        mtest_gpu_launch(stream, sleep_a_while, NULL);
        MTEST_OK(MPI_Start(&s.r));
    }
    MTEST_OK(MPI_Request_free(&s.r));
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "fail", *queues = getenv("HIP_DOUBLE_QUEUES");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (mtest_gpu_memory() != MTEST_DEVICE || queues == NULL || strcmp(queues, "1") != 0) {
        mtest_skip("MTEST_BUFFER is not device, or HIP_DOUBLE_QUEUES not 1");
        return mtest_end();
    }
    mtest_gpu_set_device(0);
    stream = mtest_gpu_stream();
    if (strcmp(which, "finalize") == 0) {
        leave();
        return mtest_end();
    }
    for (int counted = 0; counted < 2; counted++) {
        test_given_up(counted);
        test_freed(counted);
    }
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
