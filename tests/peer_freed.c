/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A start on a queue beyond those in which the peer took part before it freed its end fails with an
 * error that names it, and one in which the peer did take part completes. MTEST_BUFFER says where
 * the data is, which the host has to access.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { TAG = 7 };

/* Rank 1 frees its end after some starts; rank 0 starts once more. */
static void test_freed(int starts, int sends)
{
    int *data = mtest_gpu_alloc(mtest_gpu_memory(), sizeof(*data));
    int is_send = sends == (mtest_rank == 0);
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request request;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_init_raw(is_send ? MTEST_SSEND : MTEST_RECV, data, 1, MPI_INT, 1 - mtest_rank,
                            TAG, MPI_COMM_WORLD, &request));
    *data = is_send ? 42 : 0;
    MTEST_OK(MPIX_Match(&request));
    for (int i = 0; i < starts; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &request));
        MTEST_OK(MPIX_Enqueue_wait(queue, &request));
    }
    if (mtest_rank == 0) {
        /* Each that has a partner completes, even if that is gone when it is looked at. */
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_EQ(*data, starts > 0 || is_send ? 42 : 0);
        /* A fabric may tell by an operation that fails, before anybody has looked at the pair. */
        MTEST_KIND_TEXT(mtest_transfer(queue, &request), MPIXQ_ERR_COMM,
                        "1 tag 7 on MPI_COMM_WORLD, 4 bytes");
    } else {
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPI_Request_free(&request));
        mtest_gpu_free(mtest_gpu_memory(), data);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Request_free(&request));
        mtest_gpu_free(mtest_gpu_memory(), data);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char *argv[])
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_freed(0, 0);
    test_freed(0, 1);
    test_freed(3, 0);
    test_freed(3, 1);
    return mtest_end();
}
