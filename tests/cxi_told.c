/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Receives of ready sends where the sender tells when the data is in place (MPIXQ_CXI_DATA is
 * delivered): their starts have no operation, so no budget is too small for them and the host
 * takes none of them over, which MPIXQ_INFO says at the end.
 */
#include "mtest.h"

#include <string.h>

enum { ROUNDS = 200, TAG = 2 };

static void run(MPIX_Queue queue)
{
    int in = -1, out = -1;
    MPI_Request r;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Rsend_init(&out, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    for (int round = 0; round < ROUNDS; round++) {
        out = round;
        if (mtest_rank == 1) {
            MTEST_OK(MPIX_Enqueue_start(queue, &r));
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (mtest_rank == 0) {
            MTEST_OK(MPIX_Enqueue_start(queue, &r));
        }
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_EQ(mtest_rank == 1 ? in : round, round);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"), ROUNDS);
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    static char text[16384];
    int code;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    run(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    code = mtest_verdict();
    mtest_capture();
    MPI_Finalize();
    mtest_captured(text, sizeof text);
    if (mtest_rank == 1 && strstr(text, " 0 taken over") == NULL) {
        mtest_fail(__FILE__, __LINE__, "starts were taken over, or nothing says that none was");
    }
    return mtest_failures() > 0 ? 1 : code;
}
