/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * With MPIXQ_CHANNELS=ipc,cxi and no fabric a pair has no channel: its match fails on both ends,
 * which stay ordinary requests. MPIX_QUEUE_CXI is refused. A pair within the process is matched.
 */
#include "mtest.h"

int main(int argc, char **argv)
{
    int in = -1, out = 0, peer;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL), MPIXQ_ERR_UNSUPPORTED, "type");
    MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    out = 7 + mtest_rank;
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r[1]));
    MTEST_KIND_TEXT(MPIX_Matchall(2, r), MPIXQ_ERR_RESOURCES, "no channel");
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MTEST_EQ(in, 7 + peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_EXCHANGE(queue, MPI_COMM_SELF, 0);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
