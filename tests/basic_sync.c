/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * When sends complete: a synchronous send not before the receiver's start, a buffered send without
 * it, and no start blocks the stream. The receiver holds its start back until the sender has said
 * what it sees, so nothing here depends on time.
 */
#include "mtest.h"

enum { TAG = 5, TAG_SAID = 6 };

static void note(void *arg)
{
    atomic_store((atomic_int *)arg, 1);
}

/* Rank 0 sends; rank 1 starts its receive only after rank 0 has told it to. */
static void sender(enum mtest_mode mode, struct mtest_buf *b, MPIX_Queue queue,
                   MPIX_Host_stream stream)
{
    MPI_Request r = MPI_REQUEST_NULL;
    atomic_int after_start = 0;
    atomic_int after_wait = 0;
    unsigned tries = 0;
    int flag = -1;

    mtest_buf_fill(b, 11);
    MTEST_OK(mtest_init(mode, b, 1, TAG, MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Host_stream_launch(stream, note, &after_start));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    MTEST_OK(MPIX_Host_stream_launch(stream, note, &after_wait));
    while (!atomic_load(&after_start)) {
        mtest_backoff(&tries);
    }
    if (mode == MTEST_BSEND) {
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        /* Some time for a wrong completion to show; a right one cannot come. */
        for (int i = 0; i < 20; i++) {
            mtest_backoff(&tries);
            MTEST_EQ(atomic_load(&after_wait), 0);
        }
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(MPI_Send(NULL, 0, MPI_INT, 1, TAG_SAID, MPI_COMM_WORLD));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(atomic_load(&after_wait), 1);
    MTEST_OK(MPI_Request_free(&r));
}

static void receiver(struct mtest_buf *b, MPIX_Queue queue)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_init(MTEST_RECV, b, 0, TAG, MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPI_Recv(NULL, 0, MPI_INT, 0, TAG_SAID, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MTEST_UNTOUCHED(b);
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_FULL(b, 11);
    MTEST_OK(MPI_Request_free(&r));
}

static void run(enum mtest_mode mode, int bytes, MPIX_Queue queue, MPIX_Host_stream stream)
{
    struct mtest_buf b;

    mtest_buf_make(&b, MPI_BYTE, bytes);
    if (mtest_rank == 0) {
        sender(mode, &b, queue, stream);
    } else {
        receiver(&b, queue);
    }
    mtest_buf_free(&b);
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_bsend_attach((4U << 20) + 100 * MPI_BSEND_OVERHEAD);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    run(MTEST_SSEND, 0, queue, stream);
    run(MTEST_SSEND, 8, queue, stream);
    run(MTEST_SSEND, 1 << 20, queue, stream);
    run(MTEST_BSEND, 0, queue, stream);
    run(MTEST_BSEND, 8, queue, stream);
    run(MTEST_BSEND, 1 << 20, queue, stream);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    mtest_bsend_detach();
    return mtest_end();
}
