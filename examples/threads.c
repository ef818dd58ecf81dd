/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Four threads of each rank, each with a stream, a queue and requests of its own: they exchange
 * numbers with the same threads of the next ranks, and wait for nobody else. */
#include <mpix_queue.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, STEPS = 100 };

struct work {
    pthread_t thread;
    int tag, left, right;
    long number[2]; /* what goes out, and what has come in */
};

static void add(void *arg)
{
    struct work *work = arg;

    work->number[0] = work->number[1] + work->tag;
}

static void *run(void *arg)
{
    struct work *work = arg;
    MPIX_Queue queue;
    MPIX_Host_stream stream;
    MPI_Request req[2];

    /* The tag keeps the messages of threads apart. */
    MPI_Send_init(&work->number[0], 1, MPI_LONG, work->right, work->tag, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&work->number[1], 1, MPI_LONG, work->left, work->tag, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req); /* the threads may match at the same time */
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int i = 0; i < STEPS; i++) {
        MPIX_Enqueue_startall(queue, 2, req);
        MPIX_Enqueue_waitall(queue, 2, req);
        MPIX_Host_stream_launch(stream, add, work);
    }
    MPIX_Host_stream_synchronize(stream);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    return NULL;
}

int main(int argc, char **argv)
{
    struct work work[THREADS];
    int rank, size, level, wrong = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this MPI has no threads\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){
            .tag = i + 1, .left = (rank + size - 1) % size, .right = (rank + 1) % size};
        if (pthread_create(&work[i].thread, NULL, run, &work[i]) != 0) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(work[i].thread, NULL);
        wrong += work[i].number[0] != (long)STEPS * work[i].tag;
    }
    printf("rank %d: %d of %d threads are wrong\n", rank, wrong, THREADS);
    MPI_Finalize();
    return wrong != 0;
}
