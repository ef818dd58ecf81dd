/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Neither matching nor enqueued communication touches the application's own messages with the same
 * communicator, peer and tag, or is touched by them.
 */
#include "mtest.h"

enum { TAG = 1, ROUNDS = 25, USER = 6 };

struct user {
    int peer;
    int in[USER];
    int out[USER];
    MPI_Request r[2 * USER];
};

/* Receives that would take anything, and sends with the envelope of the matched pair. */
static void user_begin(struct user *u, int peer, int round)
{
    u->peer = peer;
    for (int i = 0; i < USER; i++) {
        int any = i % 2;

        u->in[i] = -1;
        u->out[i] = 100000 + 100 * round + 10 * mtest_rank + i;
        MTEST_OK(MPI_Irecv(&u->in[i], 1, MPI_INT, any ? MPI_ANY_SOURCE : peer,
                           any ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &u->r[i]));
    }
}

static void user_send(struct user *u)
{
    for (int i = 0; i < USER; i++) {
        MTEST_OK(MPI_Isend(&u->out[i], 1, MPI_INT, u->peer, TAG, MPI_COMM_WORLD, &u->r[USER + i]));
    }
}

static void user_end(struct user *u, int round)
{
    MTEST_OK(MPI_Waitall(2 * USER, u->r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < USER; i++) {
        MTEST_EQ(u->in[i], 100000 + 100 * round + 10 * u->peer + i);
    }
}

/* The application's messages are posted before, between and after every step of ours. */
static void test_in_flight(MPIX_Queue queue, int peer)
{
    struct user u;
    MPI_Request r[2];
    int in = 0;
    int out = 0;

    for (int round = 0; round < ROUNDS; round++) {
        in = -1;
        out = 10 * round + mtest_rank;
        user_begin(&u, peer, round);
        if (round % 3 == 0) {
            user_send(&u);
        }
        MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
        MTEST_OK(MPIX_Matchall(2, r));
        if (round % 3 == 1) {
            user_send(&u);
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        if (round % 3 == 2) {
            user_send(&u);
        }
        MTEST_EQ(in, 10 * round + peer);
        user_end(&u, round);
        MTEST_OK(MPI_Request_free(&r[0]));
        MTEST_OK(MPI_Request_free(&r[1]));
    }
}

/* Unmatched persistent requests of the same envelope go on working as MPI's. */
static void test_persistent(MPIX_Queue queue, int peer)
{
    MPI_Request ours[2];
    MPI_Request mpi[2];
    int in[2] = {-1, -1};
    int out[2] = {0, 0};

    MTEST_OK(MPI_Recv_init(&in[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &ours[0]));
    MTEST_OK(MPI_Recv_init(&in[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &mpi[0]));
    MTEST_OK(MPI_Send_init(&out[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &mpi[1]));
    MTEST_OK(MPI_Send_init(&out[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &ours[1]));
    MTEST_OK(MPIX_Matchall(2, ours));
    for (int t = 0; t < ROUNDS; t++) {
        out[0] = 1000 + t;
        out[1] = 2000 + t;
        if (t % 2 == 0) {
            MTEST_OK(MPI_Startall(2, mpi));
            MTEST_OK(MPIX_Enqueue_startall(queue, 2, ours));
        } else {
            MTEST_OK(MPIX_Enqueue_startall(queue, 2, ours));
            MTEST_OK(MPI_Start(&mpi[1]));
            MTEST_OK(MPI_Start(&mpi[0]));
        }
        MTEST_OK(MPI_Waitall(2, mpi, MPI_STATUSES_IGNORE));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, ours));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_EQ(in[0], 1000 + t);
        MTEST_EQ(in[1], 2000 + t);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&ours[i]));
        MTEST_OK(MPI_Request_free(&mpi[i]));
    }
}

/* What is under way is invisible to probes of the application. */
static void test_probe(MPIX_Queue queue, int peer)
{
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;
    int in = 0;
    int out = 0;
    int flag = 0;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Imatchall(2, r, &match));
    for (int i = 0; i < 50; i++) {
        MTEST_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    for (int i = 0; i < 50; i++) {
        MTEST_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_in_flight(queue, peer);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    test_persistent(queue, peer);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    test_probe(queue, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
