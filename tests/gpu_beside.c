/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs do in a wait, of messages and of a sum, in one call with the wait for messages that the
 * host moves, as their datatype has gaps. Two ranks, on a stream of a GPU.
 */
#include "mtest.h"

#include "collective_names.h"
#include "mtest_gpu.h"

enum { ROUNDS = 30, TAG = 40, COUNT = 50, PAIRS = 3, ALL = 2 * PAIRS + HAVE_COLLECTIVES };

static struct mtest_buf in[PAIRS], out[PAIRS];
static int *addend, *sum, *copy; /* in memory of the GPU, and of the host */
static MPI_Request r[ALL];
static void *stream;

static void make(MPI_Datatype gaps, int peer)
{
    size_t bytes = COUNT * sizeof(int);

    for (int i = 0; i < PAIRS; i++) {
        MPI_Datatype type = i == 1 ? gaps : MPI_INT;

        mtest_buf_make(&in[i], type, COUNT);
        mtest_buf_make(&out[i], type, COUNT);
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], peer, TAG + i, MPI_COMM_WORLD, &r[2 * i]));
        MTEST_OK(mtest_init(MTEST_SEND, &out[i], peer, TAG + i, MPI_COMM_WORLD, &r[2 * i + 1]));
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
    addend = mtest_gpu_alloc(MTEST_DEVICE, bytes);
    sum = mtest_gpu_alloc(MTEST_DEVICE, bytes);
    copy = mtest_gpu_alloc(MTEST_PINNED, bytes);
    if (HAVE_COLLECTIVES) {
        MTEST_OK(COLLECTIVE(Allreduce_init)(addend, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, &r[2 * PAIRS]));
        MTEST_OK(MPIX_Match(&r[2 * PAIRS]));
    }
}

static void fill(int round)
{
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_fill(&out[i], PAIRS * round + i + mtest_rank);
        mtest_buf_clear(&in[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        copy[i] = 1000 * round + 10 * i + mtest_rank;
    }
    mtest_gpu_copy(stream, addend, copy, COUNT * sizeof(int));
}

static void check(int round, int peer)
{
    for (int i = 0; i < PAIRS; i++) {
        MTEST_FULL(&in[i], PAIRS * round + i + peer);
    }
    mtest_gpu_copy_now(copy, sum, COUNT * sizeof(int));
    for (int i = 0; HAVE_COLLECTIVES && i < COUNT; i++) {
        MTEST_EQ(copy[i], 2000 * round + 20 * i + 1);
    }
}

static void run(MPIX_Queue queue, int peer)
{
    for (int round = 1; round <= ROUNDS; round++) {
        fill(round);
        MTEST_OK(MPIX_Enqueue_startall(queue, ALL, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, ALL, r));
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        check(round, peer);
    }
}

static void end(void)
{
    for (int i = 0; i < ALL; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
    mtest_gpu_free(MTEST_DEVICE, addend);
    mtest_gpu_free(MTEST_DEVICE, sum);
    mtest_gpu_free(MTEST_PINNED, copy);
}

int main(int argc, char **argv)
{
    MPI_Datatype gaps;
    MPIX_Queue queue;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Type_vector(2, 1, 3, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_commit(&gaps));
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    make(gaps, 1 - mtest_rank);
    run(queue, 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    end();
    mtest_gpu_stream_end(stream);
    MPI_Type_free(&gaps);
    return mtest_end();
}
