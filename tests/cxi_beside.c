/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages of the channel cxi that kernels copy out of their slots, waited for in one call with
 * messages that the host moves, since their datatype has gaps. Two ranks, on a stream of a GPU.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { ROUNDS = 30, TAG = 40, COUNT = 50, PAIRS = 3 };

static struct mtest_buf in[PAIRS], out[PAIRS];
static MPI_Request r[2 * PAIRS];

static void make(MPI_Datatype gaps, int peer)
{
    for (int i = 0; i < PAIRS; i++) {
        MPI_Datatype type = i == 1 ? gaps : MPI_INT;

        mtest_buf_make(&in[i], type, COUNT);
        mtest_buf_make(&out[i], type, COUNT);
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], peer, TAG + i, MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(mtest_init(MTEST_SEND, &out[i], peer, TAG + i, MPI_COMM_WORLD, &r[2 * i + 1]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
}

static void run(MPIX_Queue queue, void *stream, int peer)
{
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < PAIRS; i++) {
            mtest_buf_fill(&out[i], PAIRS * round + i + mtest_rank);
            mtest_buf_clear(&in[i]);
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < PAIRS; i++) {
            MTEST_FULL(&in[i], PAIRS * round + i + peer);
        }
    }
}

static void end(void)
{
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&r[2 * i]));
        MTEST_OK(MPI_Request_free(&r[2 * i + 1]));
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype gaps;
    MPIX_Queue queue;
    void *stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Type_vector(2, 1, 3, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_commit(&gaps));
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    make(gaps, 1 - mtest_rank);
    run(queue, stream, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    end();
    mtest_gpu_stream_end(stream);
    MPI_Type_free(&gaps);
    return mtest_end();
}
