/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Receives with wildcards bind to the first send that fits, for good. Every rank but 0 sends to
 * rank 0. Where the order in which sends are begun matters, messages between the ranks fix it.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { TAG = 4, GO = 50 };

static void run_and_free(MPIX_Queue queue, int n, MPI_Request *r)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, n, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, n, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

static void expect_status(MPI_Request r, int source, int tag)
{
    MPI_Status status;
    int flag = 0;

    MTEST_OK(MPI_Request_get_status(r, &flag, &status));
    MTEST_EQ(flag, 1);
    MTEST_EQ(status.MPI_SOURCE, source);
    MTEST_EQ(status.MPI_TAG, tag);
}

/* As many receives from anywhere as senders: each gets another sender and keeps it. */
static void test_any_source(MPIX_Queue queue)
{
    enum { TIMES = 20 };
    MPI_Request r[8];
    int *in = mtest_gpu_mirror(8 * sizeof(*in));
    int bound[8];
    int seen[8] = {0};
    int n = mtest_rank == 0 ? mtest_size - 1 : 1;
    int *out = mtest_gpu_mirror(sizeof(*out));

    if (mtest_rank == 0) {
        for (int i = 0; i < n; i++) {
            MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[i]), 1, MPI_INT, MPI_ANY_SOURCE, TAG,
                                   MPI_COMM_WORLD, &r[i]));
        }
    } else {
        MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r[0]));
    }
    MTEST_OK(MPIX_Matchall(n, r));
    for (int t = 0; t < TIMES; t++) {
        *out = 100 * t + mtest_rank;
        mtest_gpu_put(out);
        MTEST_OK(MPIX_Enqueue_startall(queue, n, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, n, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        mtest_gpu_get(in);
        for (int i = 0; mtest_rank == 0 && i < n; i++) {
            int source = in[i] % 100;

            MTEST_EQ(in[i] / 100, t);
            if (t == 0) {
                bound[i] = source;
                seen[source]++;
            }
            MTEST_EQ(source, bound[i]);
            expect_status(r[i], bound[i], TAG);
        }
    }
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    for (int source = 1; mtest_rank == 0 && source < mtest_size; source++) {
        MTEST_EQ(seen[source], 1);
    }
}

/* Tags: the receive begun first takes the first send that fits, the exact one the next. */
static void test_any_tag(MPIX_Queue queue)
{
    static const int send_tags[] = {5, 5, 6, 5};
    static const int recv_tags[] = {MPI_ANY_TAG, 6, MPI_ANY_TAG, 5};
    static const int from[] = {0, 2, 1, 3};
    MPI_Request r[4];
    int *data = mtest_gpu_mirror(4 * sizeof(*data));

    if (mtest_rank > 1) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        int *at = mtest_gpu_at(&data[i]);

        data[i] = mtest_rank == 1 ? 70 + i : -1;
        if (mtest_rank == 1) {
            MTEST_OK(MPI_Send_init(at, 1, MPI_INT, 0, send_tags[i], MPI_COMM_WORLD, &r[i]));
        } else {
            MTEST_OK(MPI_Recv_init(at, 1, MPI_INT, i < 2 ? 1 : MPI_ANY_SOURCE, recv_tags[i],
                                   MPI_COMM_WORLD, &r[i]));
        }
    }
    mtest_gpu_put(data);
    MTEST_OK(MPIX_Matchall(4, r));
    MTEST_OK(MPIX_Enqueue_startall(queue, 4, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 4, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(data);
    for (int i = 0; mtest_rank == 0 && i < 4; i++) {
        MTEST_EQ(data[i], 70 + from[i]);
        expect_status(r[i], 1, send_tags[from[i]]);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* A wildcard receive that was begun early takes the first sender there is. Messages see to it that
 * this is the last rank, and that rank 1 begins after the receive is matched. */
static void test_first_begun(MPIX_Queue queue)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request match = MPI_REQUEST_NULL;
    int *in = mtest_gpu_mirror(2 * sizeof(*in));
    int *out = mtest_gpu_mirror(sizeof(*out));
    int flag = 0;

    in[0] = in[1] = -1;
    *out = mtest_rank;
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[0]), 1, MPI_INT, MPI_ANY_SOURCE, TAG,
                               MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[1]), 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[1]));
        MTEST_OK(MPIX_Imatch(&r[0], &match));
        MTEST_OK(MPI_Send(NULL, 0, MPI_INT, mtest_size - 1, GO, MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
        MTEST_OK(MPI_Send(NULL, 0, MPI_INT, 1, GO, MPI_COMM_WORLD));
        MTEST_OK(MPIX_Match(&r[1]));
        MTEST_OK(MPIX_Is_matched(r[0], &flag));
        MTEST_EQ(flag, 1);
        run_and_free(queue, 2, r);
        mtest_gpu_get(in);
        MTEST_EQ(in[0], mtest_size - 1);
        MTEST_EQ(in[1], 1);
    } else if (mtest_rank == 1 || mtest_rank == mtest_size - 1) {
        MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPI_Recv(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_OK(MPIX_Match(&r[0]));
        run_and_free(queue, 1, r);
    }
}

/* A wildcard receive does not look into other communicators, nor at itself by mistake. */
static void test_other_communicator(MPIX_Queue queue)
{
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Request r[4];
    int *in = mtest_gpu_mirror(2 * sizeof(*in));
    int *out = mtest_gpu_mirror(2 * sizeof(*out));
    int next = (mtest_rank + 1) % mtest_size;
    int last = (mtest_rank + mtest_size - 1) % mtest_size;

    for (int i = 0; i < 2; i++) {
        in[i] = -1;
        out[i] = 300 + 100 * i + mtest_rank;
    }
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    MTEST_OK(
        MPI_Recv_init(mtest_gpu_at(&in[0]), 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &r[0]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(&out[1]), 1, MPI_INT, next, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Recv_init(mtest_gpu_at(&in[1]), 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                           MPI_COMM_WORLD, &r[2]));
    MTEST_OK(MPI_Send_init(mtest_gpu_at(&out[0]), 1, MPI_INT, next, TAG, other, &r[3]));
    MTEST_OK(MPIX_Matchall(4, r));
    run_and_free(queue, 4, r);
    mtest_gpu_get(in);
    MTEST_EQ(in[0], 300 + last);
    MTEST_EQ(in[1], 400 + last);
    MTEST_OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_CHECK(mtest_size >= 3 && mtest_size <= 8);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_any_source(queue);
    test_any_tag(queue);
    test_first_begun(queue);
    test_other_communicator(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
