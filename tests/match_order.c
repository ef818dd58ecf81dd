/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which receive gets which send: with equal communicator, peer and tag, in the order in which their
 * matching was begun; in an array by index. Also with oneself as the peer.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { N = 4, TAG = 1 };

struct set {
    int *in, *out;
    MPI_Request recv[N];
    MPI_Request send[N];
    int peer;
};

static void set_make(struct set *s, int peer, const int *recv_tag, const int *send_tag)
{
    s->peer = peer;
    s->in = mtest_gpu_mirror(N * sizeof(*s->in));
    s->out = mtest_gpu_mirror(N * sizeof(*s->out));
    for (int i = 0; i < N; i++) {
        s->in[i] = -1;
        s->out[i] = 10 * mtest_rank + i;
        MTEST_OK(MPI_Recv_init(mtest_gpu_at(&s->in[i]), 1, MPI_INT, peer,
                               recv_tag ? recv_tag[i] : TAG, MPI_COMM_WORLD, &s->recv[i]));
        MTEST_OK(MPI_Send_init(mtest_gpu_at(&s->out[i]), 1, MPI_INT, peer,
                               send_tag ? send_tag[i] : TAG, MPI_COMM_WORLD, &s->send[i]));
    }
    mtest_gpu_put(s->in);
    mtest_gpu_put(s->out);
}

/* Run everything; receive i must hold the peer's message from[i]. */
static void set_check(struct set *s, MPIX_Queue queue, const int *from, int line)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, N, s->send));
    MTEST_OK(MPIX_Enqueue_startall(queue, N, s->recv));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(s->in);
    for (int i = 0; i < N; i++) {
        if (s->in[i] != 10 * s->peer + from[i]) {
            mtest_fail(__FILE__, line, "receive %d got %d, expected %d", i, s->in[i],
                       10 * s->peer + from[i]);
        }
        MTEST_OK(MPI_Request_free(&s->recv[i]));
        MTEST_OK(MPI_Request_free(&s->send[i]));
    }
}

static void test_arrays(MPIX_Queue queue, int peer)
{
    static const int straight[N] = {0, 1, 2, 3};
    static const int turned[N] = {3, 2, 1, 0};
    struct set s;
    MPI_Request all[2 * N];

    set_make(&s, peer, NULL, NULL);
    for (int i = 0; i < N; i++) {
        all[2 * i] = s.send[i];
        all[2 * i + 1] = s.recv[i];
    }
    MTEST_OK(MPIX_Matchall(2 * N, all));
    set_check(&s, queue, straight, __LINE__);

    set_make(&s, peer, NULL, NULL);
    for (int i = 0; i < N; i++) {
        all[i] = s.send[i];
        all[N + i] = s.recv[N - 1 - i];
    }
    MTEST_OK(MPIX_Matchall(2 * N, all));
    set_check(&s, queue, turned, __LINE__);
}

/* Begun one by one: sends 2 0 3 1, receives 0 1 2 3; completed in yet another order. */
static void test_begun_one_by_one(MPIX_Queue queue, int peer)
{
    static const int order[N] = {2, 0, 3, 1};
    struct set s;
    MPI_Request m[2 * N];

    set_make(&s, peer, NULL, NULL);
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPIX_Imatch(&s.recv[i], &m[i]));
        MTEST_OK(MPIX_Imatch(&s.send[order[i]], &m[N + i]));
    }
    for (int i = 2 * N - 1; i >= 0; i--) {
        MTEST_OK(MPI_Wait(&m[i], MPI_STATUS_IGNORE));
        MTEST_CHECK(m[i] == MPI_REQUEST_NULL);
    }
    set_check(&s, queue, order, __LINE__);
}

/* Arrays and single calls, blocking and not, mixed: 1 and 2 first, then 3, then 0. */
static void test_mixed_calls(MPIX_Queue queue, int peer)
{
    static const int from[N] = {3, 0, 1, 2};
    struct set s;
    MPI_Request m[3];
    MPI_Request last[2];

    set_make(&s, peer, NULL, NULL);
    MTEST_OK(MPIX_Imatchall(2, &s.recv[1], &m[0]));
    MTEST_OK(MPIX_Imatchall(3, &s.send[0], &m[1]));
    MTEST_OK(MPIX_Imatch(&s.recv[3], &m[2]));
    last[0] = s.recv[0];
    last[1] = s.send[3];
    MTEST_OK(MPIX_Matchall(2, last));
    MTEST_OK(MPI_Waitall(3, m, MPI_STATUSES_IGNORE));
    set_check(&s, queue, from, __LINE__);
}

/* Tags separate: order counts within a tag only. */
static void test_tags(MPIX_Queue queue, int peer)
{
    static const int recv_tag[N] = {8, 9, 8, 9};
    static const int send_tag[N] = {9, 9, 8, 8};
    static const int from[N] = {2, 0, 3, 1};
    struct set s;
    MPI_Request all[2 * N];

    set_make(&s, peer, recv_tag, send_tag);
    for (int i = 0; i < N; i++) {
        all[i] = s.recv[i];
        all[N + i] = s.send[i];
    }
    MTEST_OK(MPIX_Matchall(2 * N, all));
    set_check(&s, queue, from, __LINE__);
}

/* Two ranks on a ring are each other's left and right neighbour: what comes from the left is what
 * the peer sent to its right, its second send. */
static void test_periodic_halo(MPIX_Queue queue)
{
    int left = (mtest_rank + mtest_size - 1) % mtest_size;
    int right = (mtest_rank + 1) % mtest_size;
    int *in = mtest_gpu_mirror(2 * sizeof(*in));
    int *out = mtest_gpu_mirror(2 * sizeof(*out)); /* to the left, to the right */
    MPI_Request r[4];

    in[0] = in[1] = -1;
    out[0] = 10 * mtest_rank;
    out[1] = 10 * mtest_rank + 1;
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[1]), 1, MPI_INT, right, 0, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[0]), 1, MPI_INT, left, 0, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(&out[0]), 1, MPI_INT, left, 0, MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(&out[1]), 1, MPI_INT, right, 0, MPI_COMM_WORLD, &r[3]));
    MTEST_OK(MPIX_Matchall(4, r));
    for (int t = 0; t < 4; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 4, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 4, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(in);
    MTEST_EQ(in[0], 10 * left + 1);
    MTEST_EQ(in[1], 10 * right);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

static void test_empty(void)
{
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request match = MPI_REQUEST_NULL;

    MTEST_OK(MPIX_Matchall(0, NULL));
    MTEST_OK(MPIX_Matchall(0, none));
    MTEST_OK(MPIX_Matchall(2, none));
    MTEST_OK(MPIX_Match(&none[0]));
    MTEST_OK(MPIX_Imatchall(0, NULL, &match));
    MTEST_CHECK(match != MPI_REQUEST_NULL);
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Imatch(&none[1], &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_CHECK(match == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int round = 0; round < 2; round++) {
        int peer = round == 0 ? mtest_size - 1 - mtest_rank : mtest_rank;

        test_arrays(queue, peer);
        test_begun_one_by_one(queue, peer);
        test_mixed_calls(queue, peer);
        test_tags(queue, peer);
    }
    test_periodic_halo(queue);
    test_empty();
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
