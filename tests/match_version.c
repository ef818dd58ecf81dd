/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Processes whose libraries have different versions: what ranks 0 and 1 send to each other is
 * marked so. Matches between them end in an error at both ends, at once or when they are begun, and
 * all other pairs match and move data.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, TAG = 4 };

/* The control messages of the library come here. */
int PMPI_Issend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    typedef int (*function)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static function next;
    uint32_t version;

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "PMPI_Issend");

        memcpy(&next, &symbol, sizeof(next));
    }
    memcpy(&version, buffer, sizeof(version));
    if (mtest_rank < 2 && peer == 1 - mtest_rank) {
        version++;
        memcpy((void *)buffer, &version, sizeof(version));
    }
    return next(buffer, count, type, peer, tag, comm, request);
}

/* All requests between two ranks, in both directions. */
static void make(int peer, int in[N], int out[N], MPI_Request r[2 * N])
{
    for (int i = 0; i < N; i++) {
        in[i] = -1;
        out[i] = 10 * mtest_rank + i;
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[N + i]));
    }
}

static void release(MPI_Request r[2 * N])
{
    for (int i = 0; i < 2 * N; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

static void with_stranger(int peer, int n_first, int first)
{
    int in[N], out[N], matched = 0;
    MPI_Request r[2 * N];

    make(peer, in, out, r);
    MTEST_KIND(MPIX_Matchall(n_first, r + first), MPIXQ_ERR_MATCH);
    for (int i = 0; i < 2 * N; i++) {
        MTEST_OK(MPIX_Is_matched(r[i], &matched));
        MTEST_EQ(matched, 0);
    }
    /* They are ordinary requests, as they were. */
    MTEST_OK(MPI_Startall(2 * N, r));
    MTEST_OK(MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(in[i], 10 * peer + i);
    }
    release(r);
}

static void with_others(int peer, MPIX_Queue queue)
{
    int in[N], out[N];
    MPI_Request r[2 * N];

    make(peer, in, out, r);
    MTEST_OK(MPIX_Matchall(2 * N, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * N, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * N, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(in[i], 10 * peer + i);
    }
    release(r);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int sender = argc > 1 ? atoi(argv[1]) : 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    mtest_count_errors(MPI_COMM_WORLD);
    if (mtest_rank < 2) {
        /* At first one of them only receives, and so says nothing by itself. */
        int first = mtest_rank == sender ? N : 0;

        with_stranger(1 - mtest_rank, N, first);
        with_stranger(1 - mtest_rank, 2 * N, 0);
    }
    if (mtest_rank != 1) {
        with_others(mtest_rank == 0 ? 2 : 0, queue);
    }
    with_others(mtest_rank, queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
