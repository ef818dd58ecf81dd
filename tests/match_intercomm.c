/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Intercommunicators: the peer is a rank of the other group. Two of them between the same groups, a
 * duplicate, and the merged ones, matched in opposite orders by the two groups.
 */
#include "mtest.h"

enum { COMMS = 5, TAG = 2 };

struct side {
    MPI_Comm comm[COMMS];
    int peer[COMMS];
    int group; /* 0: even world ranks, 1: odd ones */
    int in_group;
};

static void make(struct side *s)
{
    MPI_Comm half = MPI_COMM_NULL;
    int leader;

    s->group = mtest_rank % 2;
    s->in_group = mtest_rank / 2;
    leader = 1 - s->group;
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, s->group, mtest_rank, &half));
    MTEST_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 10, &s->comm[0]));
    MTEST_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 10, &s->comm[1]));
    MTEST_OK(MPI_Comm_dup(s->comm[0], &s->comm[2]));
    MTEST_OK(MPI_Intercomm_merge(s->comm[0], s->group, &s->comm[3]));
    MTEST_OK(MPI_Intercomm_merge(s->comm[0], 1 - s->group, &s->comm[4]));
    MTEST_OK(MPI_Comm_free(&half));
    for (int i = 0; i < COMMS; i++) {
        int high = i == 3 ? s->group : 1 - s->group;

        mtest_count_errors(s->comm[i]);
        /* In a merged communicator the low group comes first; the peer is in the other group. */
        s->peer[i] = i < 3 ? s->in_group : s->in_group + (high ? 0 : mtest_size / 2);
    }
}

static void exchange(struct side *s, MPIX_Queue queue)
{
    MPI_Request r[2 * COMMS];
    MPI_Status status;
    int in[COMMS];
    int out[COMMS];
    int flag = 0;

    for (int k = 0; k < COMMS; k++) {
        int i = s->group == 0 ? k : COMMS - 1 - k;

        in[i] = -1;
        out[i] = 1000 * i + mtest_rank;
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, s->peer[i], TAG, s->comm[i], &r[k]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, s->peer[i], TAG, s->comm[i], &r[COMMS + k]));
    }
    MTEST_OK(MPIX_Matchall(2 * COMMS, r));
    for (int t = 0; t < 3; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * COMMS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * COMMS, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int k = 0; k < COMMS; k++) {
        int i = s->group == 0 ? k : COMMS - 1 - k;

        MTEST_EQ(in[i], 1000 * i + (s->group == 0 ? mtest_rank + 1 : mtest_rank - 1));
        MTEST_OK(MPI_Request_get_status(r[k], &flag, &status));
        MTEST_EQ(flag, 1);
        MTEST_EQ(status.MPI_SOURCE, s->peer[i]);
    }
    for (int k = 0; k < 2 * COMMS; k++) {
        MTEST_OK(MPI_Request_free(&r[k]));
    }
}

/* A receive from any source binds to a rank of the other group and says which. */
static void any_source(struct side *s, MPIX_Queue queue)
{
    MPI_Request r[2];
    MPI_Status status;
    int flag = 0;
    int in = -1;
    int out = 500 + s->in_group;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, TAG, s->comm[1], &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, s->in_group, TAG, s->comm[1], &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_get_status(r[0], &flag, &status));
    MTEST_EQ(in, 500 + s->in_group);
    MTEST_EQ(status.MPI_SOURCE, s->in_group);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    struct side s;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_CHECK(mtest_size % 2 == 0);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(&s);
    exchange(&s, queue);
    any_source(&s, queue);
    for (int i = 0; i < COMMS; i++) {
        MTEST_OK(MPI_Comm_free(&s.comm[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
