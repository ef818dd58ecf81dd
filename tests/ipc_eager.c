/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: small messages, which go to slots of the receive while it is not there. Two
 * sends complete without their receives, and a third does not; no synchronous one does, nor one
 * that is too large, nor one beyond the memory for slots. What is in a slot when its receive is
 * freed goes nowhere else. Rank 0 sends, rank 1 receives; with MTEST_STREAM and
 * MTEST_BUFFER=device, and the number of bytes that MPIXQ_EAGER lets go as an argument.
 */
#include "eager.h"

#include <stdlib.h>

#include "mtest_gpu.h"

enum { SLOTTED = 2, MANY = 700 };

static void make(struct pair *p, enum mtest_mode mode, int bytes)
{
    p->bytes = bytes;
    mtest_buf_make(&p->buf, MPI_BYTE, bytes);
    MTEST_OK(mtest_init(is_sender ? mode : MTEST_RECV, &p->buf, peer, TAG, MPI_COMM_WORLD, &p->r));
    MTEST_OK(MPIX_Match(&p->r));
}

/* The receive is there long before the send. */
static void test_late(int bytes)
{
    struct pair p;

    make(&p, MTEST_SEND, bytes);
    for (int seed = 0; seed < 4; seed++) {
        if (is_sender) {
            mtest_buf_fill(&p.buf, seed);
            barrier();
            start_and_wait(&p);
        } else {
            mtest_buf_clear(&p.buf);
            start_and_wait(&p);
            barrier();
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_FULL(&p.buf, seed);
        barrier();
    }
    end(&p);
}

/* What the receiver sends back by MPI depends on what a stream has sent and nobody has received. */
static void test_answer(void)
{
    struct pair p;
    int word = is_sender;

    make(&p, MTEST_SEND, limit > 64 ? 64 : limit);
    if (is_sender) {
        mtest_buf_fill(&p.buf, 3);
        start_and_wait(&p);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPI_Send(&word, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Recv(&word, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_EQ(word, 1);
        receive(&p, 3);
    }
    barrier();
    end(&p);
}

/* More receives than there is memory for slots: those that have none wait for each other. */
static void test_many(void)
{
    static struct pair p[MANY];
    static MPI_Request all[MANY];

    make_many(p, all, MANY);
    if (!is_sender) {
        barrier();
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, MANY, all));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MANY, all));
    if (is_sender) {
        expect_stuck();
        barrier();
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    end_many(p, all, MANY);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    is_sender = mtest_rank == 0;
    limit = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    if (mtest_gpu_memory() != MTEST_DEVICE) {
        mtest_skip("MTEST_BUFFER is not device");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_ahead(MTEST_SEND, limit + 1, 0);
    test_ahead(MTEST_SSEND, 8, 0);
    test_late(5);
    if (limit > 0) {
        test_ahead(MTEST_SEND, 1, SLOTTED);
        test_ahead(MTEST_SEND, limit, SLOTTED);
        test_ahead(MTEST_SEND, limit - 3, SLOTTED);
        test_answer();
        test_left(limit, SLOTTED);
        test_left(7, SLOTTED);
    }
    if (limit >= 8192) {
        test_many();
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"),
             mtest_queue_count(queue, "mpixq_starts"));
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
