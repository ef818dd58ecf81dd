/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests whose wait a queue has not come to, in MPI's arrays: what tests finds them incomplete,
 * what waits for any or some completes the others, and refuses to wait for them alone. Once the
 * wait has completed they are inactive. MTEST_BUFFER says where the data is, which the host has to
 * access.
 */
#include "mtest.h"

#include "mtest_gpu.h"

/* Pairs: on the queue, by the host, and of MPI alone; each a receive and a send. */
enum { QUEUED, HOST, PLAIN, PAIRS, OTHERS = 4, N = 2 * PAIRS + 2, TAG = 3, ROUNDS = 5 };

static int from, to;
static int *in, *out;
static MPI_Request all[N]; /* receives, null, sends, null */
static MPIX_Host_stream stream;
static MPIX_Queue queue;

static MPI_Request *receive(int pair)
{
    return &all[pair];
}

static MPI_Request *send(int pair)
{
    return &all[PAIRS + 1 + pair];
}

static void make(void)
{
    MPI_Request matched[4];

    all[PAIRS] = all[N - 1] = MPI_REQUEST_NULL;
    for (int p = 0; p < PAIRS; p++) {
        MTEST_OK(MPI_Recv_init(&in[p], 1, MPI_INT, from, TAG + p, MPI_COMM_WORLD, receive(p)));
        MTEST_OK(MPI_Send_init(&out[p], 1, MPI_INT, to, TAG + p, MPI_COMM_WORLD, send(p)));
    }
    for (int p = 0; p < PLAIN; p++) {
        matched[2 * p] = *receive(p);
        matched[2 * p + 1] = *send(p);
    }
    MTEST_OK(MPIX_Matchall(4, matched));
}

static void start_all(int round, struct mtest_gate *gate)
{
    MPI_Request queued[2], others[OTHERS];

    for (int p = 0; p < PAIRS; p++) {
        in[p] = -1;
        out[p] = 100 * round + 10 * p + mtest_rank;
    }
    queued[0] = *receive(QUEUED);
    queued[1] = *send(QUEUED);
    others[0] = *receive(HOST);
    others[1] = *send(HOST);
    others[2] = *receive(PLAIN);
    others[3] = *send(PLAIN);
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, gate));
    mtest_gate_wait_reached(gate);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, queued));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, queued));
    MTEST_OK(MPI_Startall(OTHERS, others));
}

static void check_data(int first, int round)
{
    for (int p = first; p < PAIRS; p++) {
        MTEST_EQ(in[p], 100 * round + 10 * p + from);
    }
}

static int is_queued(int index)
{
    return index == QUEUED || index == PAIRS + 1 + QUEUED;
}

/* All but those that the queue waits for, each once, by one of the functions. */
static void complete_others(int round)
{
    int seen[N] = {0}, left = OTHERS, n, indices[N], flag;
    MPI_Status s[N];

    while (left > 0) {
        n = 1;
        flag = 1;
        switch (round % 4) {
        case 0:
            MTEST_OK(MPI_Waitany(N, all, indices, s));
            break;
        case 1:
            MTEST_OK(MPI_Testany(N, all, indices, &flag, s));
            break;
        case 2:
            MTEST_OK(MPI_Waitsome(N, all, &n, indices, s));
            MTEST_CHECK(n > 0);
            break;
        default:
            MTEST_OK(MPI_Testsome(N, all, &n, indices, s));
        }
        for (int i = 0; flag && i < n; i++) {
            MTEST_CHECK(indices[i] >= 0 && indices[i] < N && !is_queued(indices[i]));
            MTEST_EQ(seen[indices[i]]++, 0);
            left--;
        }
        MTEST_OK(MPI_Testall(N, all, &flag, s));
        MTEST_EQ(flag, 0);
    }
}

/* Nothing but what the queue waits for is active. */
static void expect_only_queued(void)
{
    MPI_Request keep[N];
    MPI_Status s[N];
    int flag = -1, index = -1, n = -1, indices[N];

    for (int i = 0; i < N; i++) {
        keep[i] = all[i];
    }
    MTEST_OK(MPI_Test(receive(QUEUED), &flag, s));
    MTEST_EQ(flag, 0);
    flag = -1;
    MTEST_OK(MPI_Testany(N, all, &index, &flag, s));
    MTEST_EQ(flag, 0);
    MTEST_EQ(index, MPI_UNDEFINED);
    flag = -1;
    MTEST_OK(MPI_Testall(N, all, &flag, s));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPI_Testsome(N, all, &n, indices, s));
    MTEST_EQ(n, 0);
    MTEST_KIND(MPI_Wait(send(QUEUED), s), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitall(N, all, s), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitany(N, all, &index, s), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Waitsome(N, all, &n, indices, s), MPIXQ_ERR_STATE);
    for (int i = 0; i < N; i++) {
        MTEST_CHECK(all[i] == keep[i]);
    }
}

static void expect_inactive(void)
{
    MPI_Status s[N];
    int flag = -1, index = -1, n = -1, indices[N];

    MTEST_OK(MPI_Testany(N, all, &index, &flag, s));
    MTEST_EQ(flag, 1);
    MTEST_EQ(index, MPI_UNDEFINED);
    MTEST_OK(MPI_Testsome(N, all, &n, indices, s));
    MTEST_EQ(n, MPI_UNDEFINED);
    MTEST_OK(MPI_Waitany(N, all, &index, s));
    MTEST_EQ(index, MPI_UNDEFINED);
    MTEST_OK(MPI_Waitsome(N, all, &n, indices, s));
    MTEST_EQ(n, MPI_UNDEFINED);
    MTEST_OK(MPI_Waitall(N, all, s));
    MTEST_OK(MPI_Wait(receive(QUEUED), s));
}

static void run_round(int round)
{
    struct mtest_gate gate = {0};
    unsigned tries = 0;
    MPI_Status s[N];
    int flag = 0;

    start_all(round, &gate);
    complete_others(round);
    check_data(HOST, round);
    expect_only_queued();
    mtest_gate_open(&gate);
    while (!flag) {
        MTEST_OK(MPI_Testall(N, all, &flag, s));
        mtest_backoff(&tries);
    }
    check_data(QUEUED, round);
    expect_inactive();
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    in = mtest_gpu_array(PAIRS * sizeof(*in));
    out = mtest_gpu_array(PAIRS * sizeof(*out));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    make();
    for (int round = 0; round < ROUNDS; round++) {
        run_round(round);
    }
    for (int p = 0; p < PAIRS; p++) {
        MTEST_OK(MPI_Request_free(receive(p)));
        MTEST_OK(MPI_Request_free(send(p)));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
