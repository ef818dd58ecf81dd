/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPI_Comm_create_group is called by some ranks only: its communicators are told apart by group,
 * tag and repetition, and the other ranks' identities stay in step.
 */
#include "mtest.h"

enum { TAG = 6 };

static MPI_Comm group_comm(int n, const int *ranks, int tag)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;

    MTEST_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MTEST_OK(MPI_Group_incl(world, n, ranks, &group));
    MTEST_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm));
    MTEST_OK(MPI_Group_free(&group));
    MTEST_OK(MPI_Group_free(&world));
    return comm;
}

/* One pair per communicator round each ring, matched in opposite orders on even and odd ranks. */
static void exchange(int n, MPI_Comm *comm, MPIX_Queue queue)
{
    MPI_Request r[16];
    int in[8];
    int out[8];
    int expected[8];

    for (int i = 0; i < n; i++) {
        int k = mtest_rank % 2 == 0 ? i : n - 1 - i;
        int me = -1;
        int size = 0;

        MTEST_OK(MPI_Comm_rank(comm[k], &me));
        MTEST_OK(MPI_Comm_size(comm[k], &size));
        in[k] = -1;
        out[k] = 100 * k + me;
        expected[k] = 100 * k + (me + size - 1) % size;
        MTEST_OK(
            MPI_Recv_init(&in[k], 1, MPI_INT, (me + size - 1) % size, TAG, comm[k], &r[2 * i]));
        MTEST_OK(MPI_Send_init(&out[k], 1, MPI_INT, (me + 1) % size, TAG, comm[k], &r[2 * i + 1]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * n, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * n, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < n; i++) {
        MTEST_EQ(in[i], expected[i]);
        MTEST_OK(MPI_Request_free(&r[2 * i]));
        MTEST_OK(MPI_Request_free(&r[2 * i + 1]));
    }
}

static void free_all(int n, MPI_Comm *comm)
{
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Comm_free(&comm[i]));
    }
}

/* Ranks 0, 1, 2 make four: two of the same triple, another tag, another order of the ranks. */
static void three_of_four(MPIX_Queue queue)
{
    static const int ranks[] = {0, 1, 2};
    static const int turned[] = {2, 0, 1};
    MPI_Comm comm[4];

    if (mtest_rank == 3) {
        return;
    }
    comm[0] = group_comm(3, ranks, 40);
    comm[1] = group_comm(3, ranks, 41);
    comm[2] = group_comm(3, ranks, 40);
    comm[3] = group_comm(3, turned, 40);
    exchange(4, comm, queue);
    /* Freed and made again: neither the old ones nor each other. */
    MTEST_OK(MPI_Comm_free(&comm[0]));
    comm[0] = group_comm(3, ranks, 40);
    exchange(4, comm, queue);
    free_all(4, comm);
}

/* The same number of calls by every rank, but in different groups at the same time. */
static void two_pairs(MPIX_Queue queue)
{
    static const int pairs[2][2] = {{0, 3}, {1, 2}};
    const int *mine = pairs[mtest_rank == 1 || mtest_rank == 2];
    MPI_Comm comm[3];

    comm[0] = group_comm(2, mine, 7);
    comm[1] = group_comm(2, mine, 7);
    comm[2] = group_comm(1, &mtest_rank, 7);
    exchange(3, comm, queue);
    free_all(3, comm);
}

/* Everyone together again: collective constructors after the unequal histories, and of children. */
static void together(MPIX_Queue queue)
{
    static const int ranks[] = {0, 1, 2, 3};
    MPI_Comm comm[4];

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]));
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, mtest_rank / 2, mtest_rank, &comm[1]));
    comm[2] = group_comm(4, ranks, 40);
    MTEST_OK(MPI_Comm_dup(comm[2], &comm[3]));
    exchange(4, comm, queue);
    free_all(4, comm);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_EQ(mtest_size, 4);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    three_of_four(queue);
    together(queue);
    two_pairs(queue);
    together(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
