/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The library keeps the datatype of a request without copying its attributes. When the type goes
 * with the last request on it, the user's callback may use MPI, and the library.
 */
#include "mtest.h"

enum { TAG = 1 };

static int copies;
static int deletes;
static MPI_Request other[2]; /* to be freed by the callback */

static int copy(MPI_Datatype type, int key, void *extra, void *value, void *new_value, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    copies++;
    *(void **)new_value = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    if (deletes++ == 0) {
        MTEST_OK(MPI_Request_free(&other[0]));
        MTEST_OK(MPI_Request_free(&other[1]));
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key = MPI_KEYVAL_INVALID, out[2] = {3, 4}, in[2] = {0, 0};
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Datatype type;
    MPI_Request r[2];
    unsigned tries = 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPI_Type_create_keyval(copy, delete, &key, NULL));
    MTEST_OK(MPI_Type_contiguous(2, MPI_INT, &type));
    MTEST_OK(MPI_Type_commit(&type));
    MTEST_OK(MPI_Type_set_attr(type, key, &copies));
    MTEST_OK(MPI_Recv_init(in, 1, type, mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, 1, type, mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &other[0]));
    MTEST_OK(MPI_Send_init(out, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &other[1]));
    MTEST_EQ(copies, 0);
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Matchall(2, other));
    MTEST_OK(MPI_Type_free(&type));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_EQ(in[1], 4);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_EQ(copies, 0);
    /* The release of the send comes by a message to this process. */
    for (int i = 0; i < 100 && deletes == 0; i++) {
        mtest_backoff(&tries);
        MTEST_OK(MPIX_Match(&(MPI_Request){MPI_REQUEST_NULL}));
    }
    MTEST_EQ(deletes, 1);
    MTEST_OK(MPI_Type_free_keyval(&key));
    return mtest_end();
}
