/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs of a process with itself: while the data of one moves, and that takes long, others move
 * theirs, and requests are matched and freed. The program stands still if they are not.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { N = 1000 };

static int slow_out[N + 2];
static struct mtest_gate gate; /* in the way of the data of slow_out */

/* The library's transfers come here. */
int PMPI_Sendrecv(const void *out, int n_out, MPI_Datatype type_out, int dest, int tag_out,
                  void *in, int n_in, MPI_Datatype type_in, int source, int tag_in, MPI_Comm comm,
                  MPI_Status *status)
{
    typedef int (*function)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype,
                            int, int, MPI_Comm, MPI_Status *);
    static function next;

    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "PMPI_Sendrecv");

        memcpy(&next, &symbol, sizeof(next));
    }
    if (out == &slow_out[1]) {
        mtest_gate_fn(&gate);
    }
    return next(out, n_out, type_out, dest, tag_out, in, n_in, type_in, source, tag_in, comm,
                status);
}

static void make_pair(const int *out, int *in, int tag, MPI_Request r[2])
{
    MTEST_OK(MPI_Recv_init(in + 1, N, MPI_INT, mtest_rank, tag, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out + 1, N, MPI_INT, mtest_rank, tag, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
}

static void fill(int *out, int *in, int seed)
{
    for (int i = 0; i < N + 2; i++) {
        out[i] = seed + i;
        in[i] = -1;
    }
}

static void compare(const int *in, int seed)
{
    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[N + 1], -1);
    for (int i = 1; i <= N; i++) {
        MTEST_EQ(in[i], seed + i);
    }
}

static void start(MPIX_Queue queue, MPI_Request r[2])
{
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
}

static void release(MPI_Request r[2])
{
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    static int slow_in[N + 2], out[N + 2], in[N + 2];
    MPIX_Queue slow = MPIX_QUEUE_NULL, queue = MPIX_QUEUE_NULL;
    MPI_Request slow_r[2], r[2], idle[2];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&slow, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    fill(slow_out, slow_in, 1000 * mtest_rank);
    make_pair(slow_out, slow_in, 1, slow_r);
    make_pair(out, in, 2, idle);
    start(slow, slow_r);
    mtest_gate_wait_reached(&gate);
    release(idle);
    make_pair(out, in, 3, r);
    for (int i = 0; i < 10; i++) {
        fill(out, in, 5000 + i);
        start(queue, r);
        MTEST_OK(MPIX_Queue_wait(queue));
        compare(in, 5000 + i);
    }
    release(r);
    MTEST_EQ(slow_in[1], -1);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(slow));
    compare(slow_in, 1000 * mtest_rank);
    release(slow_r);
    MTEST_OK(MPIX_Queue_free(&slow));
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
