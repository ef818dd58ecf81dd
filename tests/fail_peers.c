/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * One start of a queue fails, by a buffered send without a buffer. The peers of everything that the
 * queue drops hear of it, whether or not this process makes another call: nobody waits for ever.
 */
#include "mtest.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "mtest_gpu.h"

enum { BIG = 100000, BAD = 0, N = 3, TAG = 1 };

struct sender {
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    MPI_Request r[N];
};

static int *out, *in; /* never looked at */

static void make_sends(struct sender *s, int peer)
{
    for (int i = 0; i < N; i++) {
        MTEST_OK(mtest_init_raw(i == BAD ? MTEST_BSEND : MTEST_SSEND, out, BIG, MPI_INT, peer, TAG,
                                MPI_COMM_WORLD, &s->r[i]));
    }
}

static void make_receives(MPI_Request receive[N], int peer)
{
    for (int i = 0; i < N; i++) {
        MTEST_OK(
            mtest_init_raw(MTEST_RECV, in, BIG, MPI_INT, peer, TAG, MPI_COMM_WORLD, &receive[i]));
    }
}

/* Each receive on a queue of its own. */
static void start_receives(MPIX_Queue queues[N], MPI_Request receive[N])
{
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Enqueue_start(queues[i], &receive[i]));
        MTEST_OK(MPIX_Enqueue_wait(queues[i], &receive[i]));
    }
}

/* Of a channel that the library was built without there is no count. */
static long starts(MPIX_Queue queue, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];

    return mtest_queue_info(queue, key, value) ? mtest_queue_count(queue, key) : 0;
}

/* A GPU that moves the data, or rings the NIC, by itself may have made the later starts before the
 * host sees that the first one failed: then their data comes, and the news after it, which only who
 * starts them again hears. */
static int hear(MPIX_Queue queue, MPI_Request *request, int i)
{
    bool by_gpu = i != BAD && mtest_gpu_kind() != NULL &&
                  starts(queue, "mpixq_starts_cxi") + starts(queue, "mpixq_starts_ipc") > 0;
    int rc = MPIX_Queue_wait(queue);

    /* The news may still be under way, so it is waited for. */
    return rc == MPI_SUCCESS && by_gpu ? mtest_transfer(queue, request) : rc;
}

static void expect_failed(MPIX_Queue queues[N], MPI_Request receive[N])
{
    for (int i = 0; i < N; i++) {
        MTEST_KIND(hear(queues[i], &receive[i], i), MPIXQ_ERR_COMM);
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        MTEST_OK(MPI_Request_free(&receive[i]));
    }
}

/* The starts are enqueued one by one before the first of them runs, and fails. */
static void start_sends(struct sender *s)
{
    struct mtest_gate gate = {0};

    MTEST_OK(MPIX_Host_stream_create(&s->stream));
    MTEST_OK(MPIX_Queue_init(&s->queue, MPIX_QUEUE_AUTO, &s->stream));
    MTEST_OK(MPIX_Host_stream_launch(s->stream, mtest_gate_fn, &gate));
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPIX_Enqueue_start(s->queue, &s->r[i]));
    }
    mtest_gate_open(&gate);
    MTEST_CLASS(MPIX_Queue_wait(s->queue), MTEST_ANY_CLASS);
}

static void free_sends(struct sender *s)
{
    MTEST_OK(MPIX_Queue_free(&s->queue));
    MTEST_OK(MPIX_Host_stream_destroy(&s->stream));
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
    }
}

/* Blocked in all threads, so that it stays until somebody asks for it. */
static sigset_t heard;

/* Without any call of ours or of MPI, which might take the news away. */
static void wait_until_heard(void)
{
    struct timespec limit = {.tv_sec = 60};

    MTEST_EQ(sigtimedwait(&heard, NULL, &limit), SIGUSR1);
}

/* Both ends in different processes. */
static void run_apart(void)
{
    MPIX_Queue queues[N];
    MPI_Request receive[N];
    struct sender s;
    long pid = getpid();

    MTEST_OK(MPI_Bcast(&pid, 1, MPI_LONG, 1, MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        make_sends(&s, 0);
        MTEST_OK(MPIX_Matchall(N, s.r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        start_sends(&s);
        wait_until_heard();
        free_sends(&s);
    } else {
        make_receives(receive, 1);
        MTEST_OK(MPIX_Matchall(N, receive));
        start_receives(queues, receive);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < N; i++) {
            MTEST_KIND(hear(queues[i], &receive[i], i), MPIXQ_ERR_COMM);
        }
        MTEST_EQ(kill((pid_t)pid, SIGUSR1), 0);
        expect_failed(queues, receive);
    }
}

/* Both in this process. */
static void run_alone(void)
{
    MPIX_Queue queues[N];
    MPI_Request receive[N], match = MPI_REQUEST_NULL;
    struct sender s;

    make_sends(&s, mtest_rank);
    make_receives(receive, mtest_rank);
    MTEST_OK(MPIX_Imatchall(N, receive, &match));
    MTEST_OK(MPIX_Matchall(N, s.r));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    start_receives(queues, receive);
    start_sends(&s);
    expect_failed(queues, receive);
    free_sends(&s);
}

int main(int argc, char **argv)
{
    (void)sigemptyset(&heard);
    (void)sigaddset(&heard, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &heard, NULL);
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    out = mtest_gpu_at(mtest_gpu_mirror(BIG * sizeof(*out)));
    in = mtest_gpu_at(mtest_gpu_mirror(BIG * sizeof(*in)));
    run_alone();
    if (mtest_size > 1) {
        run_apart();
    }
    return mtest_end();
}
