/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The two ends of a pair see the communicator differently: an error on both sides, and nothing else
 * is disturbed. No program can do that by itself, so rank 0 lies to the library about the size of
 * one communicator, by a PMPI_Comm_size of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mtest.h"

#include <dlfcn.h>
#include <stdlib.h>

static atomic_int lie;

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    union {
        void *object;
        int (*function)(MPI_Comm, int *);
    } next = {.object = dlsym(RTLD_NEXT, "PMPI_Comm_size")};
    int rc;

    if (next.object == NULL) {
        abort();
    }
    rc = next.function(comm, size);
    if (rc == MPI_SUCCESS && atomic_load(&lie)) {
        *size += 1;
    }
    return rc;
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request r[4];
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int in[2] = {-1, -1};
    int out[2] = {5, 6};
    int flag = -1;
    int peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    atomic_store(&lie, mtest_rank == 0);
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MTEST_OK(MPI_Recv_init(&in[0], 1, MPI_INT, peer, 1, comm, &r[0]));
    MTEST_OK(MPI_Send_init(&out[0], 1, MPI_INT, peer, 1, comm, &r[1]));
    atomic_store(&lie, 0);
    MTEST_OK(MPI_Recv_init(&in[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Send_init(&out[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[3]));
    MTEST_KIND(MPIX_Matchall(4, r), MPIXQ_ERR_MATCH);
    MTEST_CHECK(mtest_errors().comm == comm);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPIX_Is_matched(r[i], &flag));
        MTEST_EQ(flag, i >= 2);
    }
    MTEST_KIND(MPIX_Enqueue_start(queue, &r[0]), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r + 2));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r + 2));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[1], 6);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Comm_free(&comm));
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
