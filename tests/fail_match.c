/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A match that fails is reported once: to the handler of MPI_COMM_WORLD when its communicator was
 * freed meanwhile, and together with an ordinary request that has failed.
 */
#include "mtest.h"

enum { TAG = 3 };

/* The receive is too short for the send. */
static void make_bad(MPI_Comm comm, MPI_Request *r, MPI_Request *match)
{
    static int data[4];

    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, data,
                            mtest_rank == 0 ? 4 : 1, MPI_INT, 1 - mtest_rank, TAG, comm, r));
    MTEST_OK(MPIX_Imatch(r, match));
}

static void wait_for(MPI_Request request)
{
    unsigned tries = 0;
    int flag = 0;

    while (!flag) {
        MTEST_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        mtest_backoff(&tries);
    }
}

static void test_freed_comm(void)
{
    int class = MPI_SUCCESS;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request r, match = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    make_bad(comm, &r, &match);
    wait_for(match);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Comm_free(&comm));
    MTEST_CLASS(MPI_Wait(&match, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    MTEST_OK(MPI_Error_class(mtest_errors().code, &class));
    MTEST_EQ(class, MPI_ERR_TRUNCATE);
    MTEST_CHECK(mtest_errors().comm == MPI_COMM_WORLD);
}

/* other_only: the match is pending and not waited for. */
static void test_with_other(int other_only)
{
    int peer = 1 - mtest_rank, out[4] = {0}, in = 0, class = -1, rc;
    MPI_Request r, all[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    struct mtest_errors before;
    MPI_Status statuses[2];

    MTEST_OK(MPI_Irecv(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &all[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Send(out, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD));
    make_bad(MPI_COMM_WORLD, &r, &all[1]);
    if (!other_only) {
        wait_for(all[1]);
    }
    before = mtest_errors();
    rc = MPI_Waitall(other_only ? 1 : 2, all, statuses);
    (void)MPI_Error_class(rc, &class);
    MTEST_EQ(class, MPI_ERR_IN_STATUS);
    /* Once; Open MPI gives the handler another code than the one it returns. */
    MTEST_EQ(mtest_errors().in_thread - before.in_thread, 1);
    mtest_forgive(1);
    for (int i = 0; i < (other_only ? 1 : 2); i++) {
        MTEST_OK(MPI_Error_class(statuses[i].MPI_ERROR, &class));
        MTEST_EQ(class, MPI_ERR_TRUNCATE);
        MTEST_CHECK(all[i] == MPI_REQUEST_NULL);
    }
    if (other_only) {
        MTEST_CLASS(MPI_Wait(&all[1], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    }
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_freed_comm();
    test_with_other(0);
    test_with_other(1);
    return mtest_end();
}
