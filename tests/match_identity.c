/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Rank 0 has an intercommunicator with each of ranks 1 and 2, all sides made of MPI_COMM_SELF, and
 * rank 1 has made a communicator of it before: what is matched on one does not meet the other.
 */
#include "mtest.h"

enum { TAG = 7, FIRST = 3 };

static void receive_both(MPI_Comm inter[2])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2], first;
    int data[2] = {-1, -1}, dummy;

    MTEST_OK(MPI_Recv_init(&dummy, 1, MPI_INT, 2, FIRST, MPI_COMM_WORLD, &first));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Recv_init(&data[i], 1, MPI_INT, 0, TAG, inter[i], &r[i]));
    }
    MTEST_OK(MPIX_Match(&first)); /* rank 2's offer on its intercommunicator has come, too */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < 2; i++) {
        MTEST_EQ(data[i], i + 1);
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Request_free(&first));
}

static void send_one(MPI_Comm inter)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r, match = MPI_REQUEST_NULL, first = MPI_REQUEST_NULL;
    int data = mtest_rank, dummy = 0;

    MTEST_OK(MPI_Send_init(&data, 1, MPI_INT, 0, TAG, inter, &r));
    if (mtest_rank == 2) {
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Send_init(&dummy, 1, MPI_INT, 0, FIRST, MPI_COMM_WORLD, &first));
        MTEST_OK(MPIX_Match(&first));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Match(&r));
    }
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r));
    if (first != MPI_REQUEST_NULL) {
        MTEST_OK(MPI_Request_free(&first));
    }
}

int main(int argc, char **argv)
{
    MPI_Comm inter[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, child = MPI_COMM_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Comm_split(MPI_COMM_SELF, 0, 0, &child));
        MTEST_OK(MPI_Comm_free(&child));
    }
    for (int other = 1; other <= 2; other++) {
        if (mtest_rank == 0 || mtest_rank == other) {
            MTEST_OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD,
                                          mtest_rank == 0 ? other : 0, TAG, &inter[other - 1]));
        }
    }
    if (mtest_rank == 0) {
        receive_both(inter);
    } else {
        send_one(inter[mtest_rank - 1]);
    }
    for (int i = 0; i < 2; i++) {
        if (inter[i] != MPI_COMM_NULL) {
            MTEST_OK(MPI_Comm_free(&inter[i]));
        }
    }
    return mtest_end();
}
