/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Calls with more operations than the host stream that follows a GPU has room for
 * (MPIXQ_HOST_STREAM_DEPTH=64), also while that is full. Two ranks, on a stream of a GPU.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { ROUNDS = 6, AHEAD = 3, TAG = 40, PAIRS = 100 };

static struct mtest_buf in, out;
static MPI_Request r[2 * PAIRS];

static void make(int peer)
{
    mtest_buf_make(&in, MPI_INT, PAIRS);
    mtest_buf_make(&out, MPI_INT, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(mtest_init_raw(MTEST_RECV, (int *)in.buf + i, 1, MPI_INT, peer, TAG + i,
                                MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(mtest_init_raw(MTEST_SEND, (int *)out.buf + i, 1, MPI_INT, peer, TAG + i,
                                MPI_COMM_WORLD, &r[2 * i + 1]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
}

static void run(MPIX_Queue queue, void *stream, int peer)
{
    for (int round = 1; round <= ROUNDS; round++) {
        mtest_buf_fill(&out, round + mtest_rank);
        mtest_buf_clear(&in);
        for (int i = 0; i < AHEAD; i++) {
            MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
            MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        }
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_FULL(&in, round + peer);
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue;
    void *stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    make(1 - mtest_rank);
    run(queue, stream, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < 2 * PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    mtest_buf_free(&in);
    mtest_buf_free(&out);
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
