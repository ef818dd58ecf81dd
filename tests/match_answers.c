/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A receiver that has matched and then does nothing but block in MPI has answered all its senders,
 * also when there are more answers than may be in flight at a time.
 */
#include "mtest.h"

enum { N = 5000, LAST = N, TAG = 7 };

int main(int argc, char **argv)
{
    static MPI_Request r[N + 1];
    MPI_Request match = MPI_REQUEST_NULL;
    int data = 0;

    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i <= LAST; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &data, 1, MPI_INT,
                                1 - mtest_rank, i < LAST ? TAG : TAG + 1, MPI_COMM_WORLD, &r[i]));
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Imatchall(N, r, &match));
        MTEST_OK(MPIX_Match(&r[LAST]));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    } else {
        /* All the offers have come when this one has: they were made before. */
        MTEST_OK(MPIX_Match(&r[LAST]));
        MTEST_OK(MPIX_Matchall(N, r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i <= LAST; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    return mtest_end();
}
