/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A thread that enqueues further ahead than the stream holds waits for room. Meanwhile no other
 * thread waits for it: calls that do not block ask the same queue, and requests whose wait on it
 * has completed can be looked at, started by the host or on another queue, and freed. In the end
 * the stream goes on only when that other thread has sent what its peer waits for. The last part:
 * a function on the stream completes requests while the program enqueues others.
 */
#include "mtest.h"

#include <pthread.h>

#include "mtest_gpu.h"

enum { TAG_AHEAD = 100, TAG_TOKEN = 200, CALLS = 8, ROUNDS = 250, OTHERS = 32 };

/* Pairs that have completed on the queue, by what is done with them. */
enum { TEST, WAIT, TESTSOME, TESTALL, WAITALL, STATUS, HOST, OTHER, FREE, PAIRS };

struct ahead {
    MPIX_Queue queue;
    MPI_Request r[2];
    int in, out;
    int n; /* iterations */
    atomic_int enqueued, wrong;
};

static int from, to;
static MPIX_Host_stream stream, other_stream;
static MPIX_Queue queue, idle_queue, other_queue; /* the first two are on the same stream */
static int in[PAIRS], out[PAIRS];
static MPI_Request r[PAIRS][2]; /* receive, send */

static int value(int rank, int round, int pair)
{
    return rank * 10000 + round * 100 + pair;
}

static void fill(int round)
{
    for (int p = 0; p < PAIRS; p++) {
        in[p] = -1;
        out[p] = value(mtest_rank, round, p);
    }
}

static void make_pair(MPI_Request pair[2], int *in_at, int *out_at, int tag)
{
    MTEST_OK(MPI_Recv_init(in_at, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &pair[0]));
    MTEST_OK(MPI_Send_init(out_at, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &pair[1]));
}

static void make_ahead(struct ahead *a)
{
    a->queue = queue;
    a->in = -1;
    a->out = mtest_rank;
    make_pair(a->r, &a->in, &a->out, TAG_AHEAD);
    MTEST_OK(MPIX_Matchall(2, a->r));
}

static void free_pair(MPI_Request pair[2])
{
    MTEST_OK(MPI_Request_free(&pair[0]));
    MTEST_OK(MPI_Request_free(&pair[1]));
}

/* Start all pairs and wait for them on the queue: they have completed, and are still its own. */
static void complete_all(int round)
{
    fill(round);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, &r[0][0]));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, &r[0][0]));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int p = 0; p < PAIRS; p++) {
        MTEST_EQ(in[p], value(from, round, p));
    }
}

static void *run_ahead(void *arg)
{
    struct ahead *a = arg;

    for (int i = 0; i < a->n; i++) {
        a->wrong += MPIX_Enqueue_startall(a->queue, 2, a->r) != MPI_SUCCESS;
        a->wrong += MPIX_Enqueue_waitall(a->queue, 2, a->r) != MPI_SUCCESS;
        atomic_fetch_add(&a->enqueued, 1);
    }
    return NULL;
}

/* Until it has enqueued nothing for a while: then it waits for room, as the stream stands still. */
static void await_stuck(struct ahead *a)
{
    int last = -1, same = 0;
    unsigned tries = 0;

    while (same < 40) {
        int now = atomic_load(&a->enqueued);

        same = now == last && now > 0 ? same + 1 : 0;
        last = now;
        mtest_backoff(&tries);
    }
    MTEST_CHECK(last < a->n);
}

static void ask_queues(void)
{
    MPI_Info info;
    int flag = -1;

    for (int i = 0; i < 100; i++) {
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(MPIX_Queue_get_info(queue, &info));
    MTEST_OK(MPI_Info_free(&info));
    MTEST_OK(MPIX_Queue_test(idle_queue, &flag));
    MTEST_EQ(flag, 1);
}

static void look_at_requests(void)
{
    MPI_Status s[2];
    int flag = 0, n = 0, indices[2], count = 0;

    MTEST_OK(MPI_Request_get_status(r[STATUS][0], &flag, s));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Get_count(s, MPI_INT, &count));
    MTEST_EQ(count, 1);
    flag = 0;
    MTEST_OK(MPI_Test(&r[TEST][0], &flag, s));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Wait(&r[WAIT][0], s));
    MTEST_OK(MPI_Testsome(2, r[TESTSOME], &n, indices, s));
    MTEST_EQ(n, MPI_UNDEFINED);
    flag = 0;
    MTEST_OK(MPI_Testall(2, r[TESTALL], &flag, s));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Waitall(2, r[WAITALL], s));
    free_pair(r[FREE]);
}

static void start_elsewhere(void)
{
    fill(2);
    MTEST_OK(MPI_Startall(2, r[HOST]));
    MTEST_OK(MPI_Waitall(2, r[HOST], MPI_STATUSES_IGNORE));
    MTEST_EQ(in[HOST], value(from, 2, HOST));
    if (mtest_gpu_kind() != NULL) {
        return; /* a launch in another stream of a GPU may have to wait for the first as well */
    }
    MTEST_OK(MPIX_Enqueue_startall(other_queue, 2, r[OTHER]));
    MTEST_OK(MPIX_Enqueue_waitall(other_queue, 2, r[OTHER]));
    MTEST_OK(MPIX_Queue_wait(other_queue));
    MTEST_EQ(in[OTHER], value(from, 2, OTHER));
}

static void await_token(void)
{
    int token = -1;

    MTEST_OK(MPI_Sendrecv(&to, 1, MPI_INT, to, TAG_TOKEN, &token, 1, MPI_INT, from, TAG_TOKEN,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MTEST_EQ(token, mtest_rank);
}

static void ask_while_another_waits_for_room(void)
{
    static struct ahead a;
    struct mtest_gate gate = {0};
    pthread_t thread;

    make_ahead(&a);
    a.n = (int)mtest_queue_count(queue, "mpixq_stream_depth"); /* several places each */
    complete_all(1);
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    mtest_gate_wait_reached(&gate);
    MTEST_EQ(pthread_create(&thread, NULL, run_ahead, &a), 0);
    await_stuck(&a);
    ask_queues();
    look_at_requests();
    start_elsewhere();
    await_token();
    mtest_gate_open(&gate);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(a.wrong, 0);
    MTEST_EQ(a.in, from);
    free_pair(a.r);
}

/* A function on the stream that completes a request. */
struct inside {
    MPI_Request *request;
    atomic_int *errors;
};

static void wait_inside(void *arg)
{
    struct inside *inside = arg;

    if (MPI_Wait(inside->request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        atomic_fetch_add(inside->errors, 1);
        mtest_forgive(1);
    }
}

/* Each request has completed when the function is reached, whatever the program enqueues meanwhile:
 * so much that it waits for room. */
static void complete_on_the_stream(void)
{
    struct inside inside[CALLS];
    struct ahead a = {.n = OTHERS};
    atomic_int errors = 0;

    make_ahead(&a);
    for (int round = 0; round < ROUNDS; round++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, CALLS, &r[0][0]));
        MTEST_OK(MPIX_Enqueue_waitall(queue, CALLS, &r[0][0]));
        for (int i = 0; i < CALLS; i++) {
            inside[i] = (struct inside){&r[i / 2][i % 2], &errors};
            MTEST_OK(MPIX_Host_stream_launch(stream, wait_inside, &inside[i]));
        }
        (void)run_ahead(&a);
        MTEST_OK(MPIX_Host_stream_synchronize(stream));
    }
    MTEST_EQ(errors, 0);
    MTEST_EQ(a.wrong, 0);
    free_pair(a.r);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Host_stream_create(&other_stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&idle_queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&other_queue, MPIX_QUEUE_AUTO, &other_stream));
    for (int p = 0; p < PAIRS; p++) {
        make_pair(r[p], &in[p], &out[p], p);
    }
    MTEST_OK(MPIX_Matchall(2 * PAIRS, &r[0][0]));
    ask_while_another_waits_for_room();
    if (mtest_gpu_kind() == NULL) { /* functions on a stream of a GPU ask nothing of the GPU */
        complete_on_the_stream();
    }
    for (int p = 0; p < FREE; p++) {
        free_pair(r[p]);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_free(&idle_queue));
    MTEST_OK(MPIX_Queue_free(&other_queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_OK(MPIX_Host_stream_destroy(&other_stream));
    return mtest_end();
}
