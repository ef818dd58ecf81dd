/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Several threads of each rank use the library at once, each with requests, a queue and a stream of
 * its own: on communicators of their own, and on one communicator with tags of their own. Others
 * keep MPI busy with messages and unmatched persistent requests. MTEST_BUFFER says where the data
 * is.
 */
#include "mtest.h"

#include <pthread.h>

#include "mtest_gpu.h"

enum { THREADS = 4, ROUNDS = 25, STARTS = 6 };

struct job {
    pthread_t thread;
    MPI_Comm comm;
    int number;
    int wrong;
    int *in, *out;
};

static int peer;

static int value(int rank, int number, int round, int start)
{
    return rank * 1000000 + number * 10000 + round * 10 + start;
}

/* Make, match, start again and again, check, free. */
static void exchange(struct job *job, MPIX_Host_stream stream, MPIX_Queue queue, int round)
{
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;
    int *in = mtest_gpu_at(job->in), *out = mtest_gpu_at(job->out);

    *job->in = -1;
    mtest_gpu_put_in(stream, job->in);
    MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, job->number, job->comm, &r[0]));
    MTEST_OK(MPI_Send_init(out, 1, MPI_INT, peer, job->number, job->comm, &r[1]));
    if (round % 2 == 0) {
        MTEST_OK(MPIX_Matchall(2, r));
    } else {
        MTEST_OK(MPIX_Imatchall(2, r, &match));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    }
    for (int start = 0; start < STARTS; start++) {
        *job->out = value(mtest_rank, job->number, round, start);
        mtest_gpu_put_in(stream, job->out);
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        mtest_gpu_get_in(stream, job->in);
        MTEST_OK(MPIX_Queue_wait(queue));
        if (mtest_gpu_hidden()) { /* the copy comes after all that the queue waits for */
            MTEST_OK(MPIX_Host_stream_synchronize(stream));
        }
        job->wrong += *job->in != value(peer, job->number, round, start);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void *run_queue(void *arg)
{
    struct job *job = arg;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 8 == 0) {
            if (queue != MPIX_QUEUE_NULL) {
                MTEST_OK(MPIX_Queue_free(&queue));
            }
            MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
        }
        exchange(job, stream, queue, round);
        /* Failing calls in several threads: each sees its own handler call. */
        MTEST_KIND(MPIX_Queue_wait(MPIX_QUEUE_NULL), MPIXQ_ERR_ARG);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return NULL;
}

/* Ordinary persistent requests and messages, while the others match and start. */
static void *run_mpi(void *arg)
{
    struct job *job = arg;
    MPI_Request r[2];
    int in = -1;
    int out = 0;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, 100, job->comm, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, 100, job->comm, &r[1]));
    for (int round = 0; round < ROUNDS * STARTS; round++) {
        out = value(mtest_rank, job->number, 0, round);
        MTEST_OK(MPI_Startall(2, r));
        MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        job->wrong += in != value(peer, job->number, 0, round);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    return NULL;
}

static void run_all(struct job jobs[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i;
        jobs[i].wrong = 0;
        MTEST_CHECK(pthread_create(&jobs[i].thread, NULL, i == THREADS - 1 ? run_mpi : run_queue,
                                   &jobs[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        MTEST_EQ(jobs[i].wrong, 0);
    }
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = mtest_size - 1 - mtest_rank;
    for (int i = 0; i < THREADS; i++) {
        jobs[i].comm = MPI_COMM_WORLD;
        jobs[i].in = mtest_gpu_mirror(sizeof(int));
        jobs[i].out = mtest_gpu_mirror(sizeof(int));
    }
    run_all(jobs);
    for (int i = 0; i < THREADS; i++) {
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm));
    }
    run_all(jobs);
    for (int i = 0; i < THREADS; i++) {
        MTEST_OK(MPI_Comm_free(&jobs[i].comm));
    }
    return mtest_end();
}
