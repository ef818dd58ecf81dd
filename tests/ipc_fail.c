/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: one end gives up, is freed and its memory used for something else; the start of
 * the other end, which was enqueued before, is reached by its stream only then. It moves nothing:
 * neither out of that memory nor into it. With MPIXQ_WATCHDOG_ACTION=error, MTEST_STREAM and
 * MTEST_BUFFER=device.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { TAG = 40, BYTES = 150000, OURS = 7, THEIRS = 8 };

static int peer;

struct pair {
    struct mtest_buf buf[2];
    MPI_Request r[2]; /* the first with a wait, or not; the second always with one */
};

static void make(struct pair *p, int is_send)
{
    for (int i = 0; i < 2; i++) {
        mtest_buf_make(&p->buf[i], MPI_BYTE, i == 0 ? BYTES : 100);
        if (is_send) {
            mtest_buf_fill(&p->buf[i], THEIRS);
        }
        MTEST_OK(mtest_init(is_send ? MTEST_SSEND : MTEST_RECV, &p->buf[i], peer, TAG + i,
                            MPI_COMM_WORLD, &p->r[i]));
    }
    MTEST_OK(MPIX_Matchall(2, p->r));
}

static void free_both(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
}

/* The end that gives up; its memory holds something else from then on: once the stream has passed
 * the waits, or, without a wait, the request is freed. */
static void give_up(struct pair *p, int with_wait)
{
    static int times;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    if (with_wait && times++ % 2 == 1) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2, p->r));
    } else {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, with_wait ? 2 : 1, &p->r[with_wait ? 0 : 1]));
    }
    MTEST_KIND(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 2);
    MTEST_OK(MPIX_Queue_free(&queue));
    if (!with_wait) {
        free_both(p);
    }
    mtest_buf_fill(&p->buf[0], OURS);
    mtest_buf_fill(&p->buf[1], OURS);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* now the other end may go on */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* and has */
    for (int i = 0; i < 2; i++) {
        MTEST_FULL(&p->buf[i], OURS);
    }
    if (with_wait) {
        free_both(p);
    }
}

/* The same with starts by the host: from its error on no GPU has to do with the buffer. */
static void give_up_by_host(struct pair *p)
{
    int rc;

    MTEST_OK(MPI_Startall(2, p->r));
    MTEST_KIND(MPI_Wait(&p->r[0], MPI_STATUS_IGNORE), MPIXQ_ERR_TIMEOUT);
    mtest_buf_fill(&p->buf[0], OURS);
    rc =
        MPI_Wait(&p->r[1], MPI_STATUS_IGNORE); /* the peer's queue has failed by then, or not yet */
    mtest_forgive(1);
    MTEST_CHECK(mtest_kind_of(rc) == MPIXQ_ERR_COMM || mtest_kind_of(rc) == MPIXQ_ERR_TIMEOUT);
    mtest_buf_fill(&p->buf[1], OURS);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) {
        MTEST_FULL(&p->buf[i], OURS);
    }
    free_both(p);
}

/* The end whose starts stand behind a function in its stream. */
static void come_late(struct pair *p, int is_send)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_gate gate = {0};
    int rc;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    mtest_gate_wait_reached(&gate);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_gate_open(&gate);
    rc = MPIX_Queue_wait(queue); /* it has heard of the failure, or its own watchdog has found it */
    mtest_forgive(1);
    MTEST_CHECK(mtest_kind_of(rc) == MPIXQ_ERR_COMM || mtest_kind_of(rc) == MPIXQ_ERR_TIMEOUT);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) {
        if (is_send) {
            MTEST_FULL(&p->buf[i], THEIRS);
        } else {
            MTEST_UNTOUCHED(&p->buf[i]);
        }
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    free_both(p);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* New pairs of the same two work. */
static void test_after(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_buf in, out;
    MPI_Request r[2];

    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_make(&in, MPI_BYTE, BYTES);
    mtest_buf_make(&out, MPI_BYTE, BYTES);
    mtest_buf_fill(&out, mtest_rank);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_init(MTEST_RECV, &in, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(mtest_init(MTEST_SEND, &out, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    for (int i = 0; i < 3; i++) {
        mtest_buf_clear(&in);
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_FULL(&in, peer);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 6);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

int main(int argc, char **argv)
{
    struct pair p;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (mtest_gpu_memory() != MTEST_DEVICE) {
        mtest_skip("MTEST_BUFFER is not device");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    for (int i = 0; i < 6; i++) {
        int gives_up = (i % 2 == 0) == (mtest_rank == 0), is_send = mtest_rank == 0;

        make(&p, is_send);
        if (gives_up && i >= 4) {
            give_up_by_host(&p);
        } else if (gives_up) {
            give_up(&p, i < 2);
        } else {
            come_late(&p, is_send);
        }
        mtest_buf_free(&p.buf[0]);
        mtest_buf_free(&p.buf[1]);
        test_after();
    }
    return mtest_end();
}
