/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Several threads and two queues on one host stream with a small ring: submissions stay in one
 * piece, and a function that asks for the status of a request does not stop the stream.
 */
#include "mtest.h"

#include <pthread.h>

enum { PAIRS = 40, N = 2 * PAIRS, TIMES = 300, LAUNCHES = 10000, TAG = 1 };

struct user {
    MPIX_Queue queue;
    MPI_Request r[N];
    int data[N];
};

static struct user users[2];
static MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
static int wrong_argument; /* of the stream's thread */
static int asked;
static int mark;

static void note(void *arg)
{
    wrong_argument += arg != &mark;
}

/* Takes the queue's request while a thread that enqueues waits for room. */
static void ask(void *arg)
{
    MPI_Status status;
    int flag = 0;

    (void)arg;
    MTEST_OK(MPI_Request_get_status(users[0].r[N - 1], &flag, &status));
    asked++;
}

static void *enqueue(void *arg)
{
    struct user *u = arg;

    for (int i = 0; i < TIMES; i++) {
        MTEST_OK(MPIX_Enqueue_startall(u->queue, N, u->r));
        MTEST_OK(MPIX_Enqueue_waitall(u->queue, N, u->r));
    }
    return NULL;
}

static void *launch(void *arg)
{
    for (int i = 0; i < LAUNCHES; i++) {
        MTEST_OK(MPIX_Host_stream_launch(stream, note, arg));
    }
    return NULL;
}

static void user_make(struct user *u)
{
    for (int i = 0; i < N; i++) {
        u->data[i] = i;
        MTEST_OK(mtest_init_raw(i < PAIRS ? MTEST_SEND : MTEST_RECV, &u->data[i], 1, MPI_INT,
                                mtest_rank, TAG, MPI_COMM_WORLD, &u->r[i]));
    }
    MTEST_OK(MPIX_Matchall(N, u->r));
    MTEST_OK(MPIX_Queue_init(&u->queue, MPIX_QUEUE_AUTO, &stream));
}

static void user_free(struct user *u)
{
    MTEST_OK(MPIX_Queue_wait(u->queue));
    MTEST_OK(MPIX_Queue_free(&u->queue));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(u->data[i], i % PAIRS);
        MTEST_OK(MPI_Request_free(&u->r[i]));
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[3];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    user_make(&users[0]);
    user_make(&users[1]);
    MTEST_EQ(pthread_create(&threads[0], NULL, enqueue, &users[0]), 0);
    MTEST_EQ(pthread_create(&threads[1], NULL, enqueue, &users[1]), 0);
    MTEST_EQ(pthread_create(&threads[2], NULL, launch, &mark), 0);
    for (int i = 0; i < 3; i++) {
        MTEST_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < TIMES; i++) {
        MTEST_OK(MPIX_Enqueue_startall(users[0].queue, N, users[0].r));
        MTEST_OK(MPIX_Enqueue_waitall(users[0].queue, N, users[0].r));
        MTEST_OK(MPIX_Host_stream_launch(stream, ask, NULL));
    }
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(wrong_argument, 0);
    MTEST_EQ(asked, TIMES);
    user_free(&users[0]);
    user_free(&users[1]);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
