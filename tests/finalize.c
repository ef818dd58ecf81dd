/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The callback of an attribute of MPI_COMM_SELF that the program has set, in MPI_Finalize: the
 * library works in it as before. What was begun before MPI_Finalize ends there, started by a queue
 * and by the host; new requests are made and matched; queues and streams are freed. Meanwhile a
 * receive whose send comes late is waited for on a stream, and the callback calls MPI. With the
 * argument join the callback only waits for a thread that it has made, which does most of that.
 */
#include "mtest.h"

#include <pthread.h>
#include <string.h>

enum { N = 1000, TIMES = 20, CALLS = 500, GUARD = 0x5a5a5a5a };
enum { BY_QUEUE = 1, BY_HOST, LATE, NEW };

struct pair {
    int in[N + 2], out[N];
    MPI_Request r[2]; /* receive, send */
};

static struct pair by_queue, by_host, late, fresh;
static MPIX_Queue queue, second;
static MPIX_Host_stream stream;
static int code = MTEST_HARD;
static bool joins;

static int value(int rank, int tag, int round, int i)
{
    return rank * 1000000 + tag * 100000 + round * 1000 + i;
}

static void fill(struct pair *pair, int tag, int round)
{
    for (int i = 0; i < N; i++) {
        pair->out[i] = value(mtest_rank, tag, round, i);
    }
    for (int i = 0; i < N + 2; i++) {
        pair->in[i] = GUARD;
    }
}

static void check(const struct pair *pair, int tag, int round)
{
    int wrong = pair->in[0] != GUARD || pair->in[N + 1] != GUARD;

    for (int i = 0; i < N; i++) {
        wrong += pair->in[i + 1] != value(mtest_size - 1 - mtest_rank, tag, round, i);
    }
    MTEST_EQ(wrong, 0);
}

static void make(struct pair *pair, int tag)
{
    int peer = mtest_size - 1 - mtest_rank;

    MTEST_OK(MPI_Recv_init(pair->in + 1, N, MPI_INT, peer, tag, MPI_COMM_WORLD, &pair->r[0]));
    MTEST_OK(MPI_Send_init(pair->out, N, MPI_INT, peer, tag, MPI_COMM_WORLD, &pair->r[1]));
    MTEST_OK(MPIX_Matchall(2, pair->r));
}

static void release(struct pair *pair)
{
    MTEST_OK(MPI_Request_free(&pair->r[0]));
    MTEST_OK(MPI_Request_free(&pair->r[1]));
}

static void enqueue(MPIX_Queue on, struct pair *pair)
{
    MTEST_OK(MPIX_Enqueue_startall(on, 2, pair->r));
    MTEST_OK(MPIX_Enqueue_waitall(on, 2, pair->r));
}

/* MPI itself, while a stream waits for what nobody has sent yet. */
static void call_mpi(void)
{
    for (int i = 0; i < CALLS; i++) {
        int mine = mtest_rank + i, theirs = -1, peer = mtest_size - 1 - mtest_rank;
        MPI_Comm comm;
        MPI_Request r;

        MPI_Isend(&mine, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, &r);
        MPI_Recv(&theirs, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MTEST_EQ(theirs, peer + i);
        if (i % 50 == 0) {
            MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            MTEST_OK(MPI_Comm_free(&comm));
        }
    }
}

static void finish_by_host(void)
{
    MPI_Status status;
    int count = -1;

    MTEST_OK(MPI_Start(&by_host.r[1]));
    memset(&status, 0x77, sizeof(status));
    MTEST_OK(MPI_Wait(&by_host.r[0], &status));
    MTEST_OK(MPI_Wait(&by_host.r[1], MPI_STATUS_IGNORE));
    MPI_Get_count(&status, MPI_INT, &count);
    MTEST_EQ(status.MPI_SOURCE, mtest_size - 1 - mtest_rank);
    MTEST_EQ(status.MPI_TAG, BY_HOST);
    MTEST_EQ(count, N);
    check(&by_host, BY_HOST, 0);
}

static void work(void)
{
    MPI_Request match;
    MPI_Info info;
    int done = 0;

    call_mpi();
    /* What stands behind a wait that was enqueued before MPI_Finalize. */
    MTEST_OK(MPIX_Queue_test(second, &done));
    MTEST_EQ(done, 0);
    MTEST_OK(MPIX_Enqueue_start(queue, &late.r[1]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &late.r[1]));
    MTEST_OK(MPIX_Queue_wait(second));
    MTEST_OK(MPIX_Queue_wait(queue));
    check(&late, LATE, 0);
    check(&by_queue, BY_QUEUE, 0);
    finish_by_host();
    for (int round = 1; round <= TIMES; round++) {
        fill(&by_queue, BY_QUEUE, round);
        enqueue(queue, &by_queue);
        MTEST_OK(round % 2 == 0 ? MPIX_Queue_wait(queue) : MPIX_Host_stream_synchronize(stream));
        check(&by_queue, BY_QUEUE, round);
    }
    make(&fresh, NEW);
    fill(&fresh, NEW, 0);
    enqueue(second, &fresh);
    MTEST_OK(MPIX_Queue_wait(second));
    check(&fresh, NEW, 0);
    release(&fresh);
    MTEST_OK(MPI_Recv_init(fresh.in + 1, N, MPI_INT, mtest_size - 1 - mtest_rank, NEW,
                           MPI_COMM_WORLD, &fresh.r[0]));
    MTEST_OK(MPI_Send_init(fresh.out, N, MPI_INT, mtest_size - 1 - mtest_rank, NEW, MPI_COMM_WORLD,
                           &fresh.r[1]));
    MTEST_OK(MPIX_Imatchall(2, fresh.r, &match));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_get_info(queue, &info));
    MTEST_OK(MPI_Info_free(&info));
}

/* In a thread of the callback's own. */
static void *work_apart(void *arg)
{
    (void)arg;
    MTEST_OK(MPIX_Enqueue_start(queue, &late.r[1]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &late.r[1]));
    MTEST_OK(MPIX_Queue_wait(second));
    MTEST_OK(MPIX_Queue_wait(queue));
    check(&late, LATE, 0);
    check(&by_queue, BY_QUEUE, 0);
    for (int round = 1; round <= TIMES; round++) {
        fill(&by_queue, BY_QUEUE, round);
        enqueue(queue, &by_queue);
        MTEST_OK(round % 2 == 0 ? MPIX_Queue_wait(queue) : MPIX_Host_stream_synchronize(stream));
        check(&by_queue, BY_QUEUE, round);
    }
    return NULL;
}

static void work_by_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work_apart, NULL) != 0) {
        mtest_fail(__FILE__, __LINE__, "there is no thread");
        return;
    }
    (void)pthread_join(thread, NULL);
    finish_by_host();
}

static int on_delete(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm;
    (void)key;
    (void)attribute;
    (void)extra;
    if (joins) {
        work_by_thread();
    } else {
        work();
        release(&fresh);
    }
    release(&by_queue);
    release(&by_host);
    release(&late);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_free(&second));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    code = mtest_verdict();
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key = MPI_KEYVAL_INVALID;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    joins = argc > 1 && strcmp(argv[1], "join") == 0;
    MTEST_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    MTEST_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    MTEST_OK(MPI_Comm_free_keyval(&key));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&second, MPIX_QUEUE_AUTO, NULL));
    make(&by_queue, BY_QUEUE);
    make(&by_host, BY_HOST);
    make(&late, LATE);
    fill(&by_queue, BY_QUEUE, 0);
    fill(&by_host, BY_HOST, 0);
    fill(&late, LATE, 0);
    enqueue(queue, &by_queue);
    MTEST_OK(MPI_Start(&by_host.r[0]));
    MTEST_OK(MPIX_Enqueue_start(second, &late.r[0]));
    MTEST_OK(MPIX_Enqueue_wait(second, &late.r[0]));
    MPI_Finalize();
    return code;
}
