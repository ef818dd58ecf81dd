/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Null pointers, negative counts and null handles given to interposed functions are answered by
 * MPI, with an error, also while something is being matched.
 */
#include "mtest.h"

enum { TAG = 1 };

static void complete_nothing(void)
{
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int flag = 0, index = 0, n = 0, indices[2];
    struct mtest_errors before;

    MTEST_CLASS(MPI_Wait(NULL, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Waitall(-1, none, MPI_STATUSES_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Testall(-1, none, &flag, MPI_STATUSES_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Testall(2, none, NULL, MPI_STATUSES_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Waitany(2, NULL, &index, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Waitany(2, none, NULL, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Testany(2, none, NULL, &flag, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
    /* Open MPI invokes no handler for these. */
    before = mtest_errors();
    MTEST_CHECK(MPI_Waitsome(-1, none, &n, indices, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    MTEST_CHECK(MPI_Waitsome(2, none, NULL, indices, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    MTEST_CHECK(MPI_Testsome(2, NULL, &n, indices, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    mtest_forgive(mtest_errors().in_thread - before.in_thread);
}

static void start_nothing(void)
{
    MPI_Request none = MPI_REQUEST_NULL;

    MTEST_CLASS(MPI_Start(NULL), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Startall(2, NULL), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Startall(-1, &none), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Request_free(NULL), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Cancel(NULL), MTEST_ANY_CLASS);
    MTEST_CLASS(MPI_Request_get_status(none, NULL, MPI_STATUS_IGNORE), MTEST_ANY_CLASS);
}

/* At most one handler, whatever the MPI thinks of a null group. */
static void create_from_nothing(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    struct mtest_errors before = mtest_errors();
    int rc = MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, TAG, &comm);
    int calls = mtest_errors().in_thread - before.in_thread;

    MTEST_EQ(calls, rc != MPI_SUCCESS);
    mtest_forgive(calls);
}

int main(int argc, char **argv)
{
    MPI_Request r[2], match = MPI_REQUEST_NULL;
    int data[2] = {0, 0};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    complete_nothing();
    start_nothing();
    create_from_nothing();
    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Imatch(&r[0], &match));
    complete_nothing();
    start_nothing();
    MTEST_OK(MPIX_Match(&r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    return mtest_end();
}
