/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Errors about a request go to the handler of its communicator, and to that of MPI_COMM_WORLD once
 * the communicator was freed, while the request lives on. With argument "disconnect" it is
 * disconnected instead; MPICH waits there for inactive requests as well, for ever.
 */
#include "mtest.h"

#include <string.h>

/* A mistake about the request, and who heard of it. */
static MPI_Comm heard_of(MPIX_Queue queue, MPI_Request *request)
{
    MTEST_OK(MPIX_Enqueue_start(queue, request));
    MTEST_KIND(MPIX_Enqueue_start(queue, request), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_wait(queue, request));
    MTEST_OK(MPIX_Queue_wait(queue));
    return mtest_errors().comm;
}

static void test_freed(MPIX_Queue queue, int (*give_up)(MPI_Comm *))
{
    int data[2] = {-1, 7};
    MPI_Comm comm, kept;
    MPI_Request r[2];

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    kept = comm;
    mtest_count_errors(comm);
    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, MPI_PROC_NULL, 0, comm, &r[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, MPI_PROC_NULL, 0, comm, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_CHECK(heard_of(queue, &r[0]) == kept);
    MTEST_OK(give_up(&comm));
    MTEST_CHECK(comm == MPI_COMM_NULL);
    MTEST_CHECK(heard_of(queue, &r[0]) == MPI_COMM_WORLD);
    MTEST_CHECK(heard_of(queue, &r[1]) == MPI_COMM_WORLD);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_EQ(data[0], -1);
}

/* One that could not be freed keeps its handler. */
static void test_not_freed(void)
{
    MPI_Comm none = MPI_COMM_NULL;

    MTEST_CLASS(MPI_Comm_free(&none), MPI_ERR_COMM);
    MTEST_CHECK(none == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    if (argc > 1 && strcmp(argv[1], "disconnect") == 0) {
        test_freed(queue, MPI_Comm_disconnect);
    } else {
        test_freed(queue, MPI_Comm_free);
    }
    test_not_freed();
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
