/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Gradients, as a learning framework sums them over all processes while it still computes: layer
 * after layer from the last one on, several layers to a bucket, of which each process owns one. A
 * layer is a partition of a message to the owner, ready as soon as its gradient is there. The owner
 * adds up what has come, and a broadcast tells all. A stream does that while the host goes on. */
#include <math.h>
#include <mpix_queue.h>
#include <mpix_queue_partitions.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#endif

enum { LAYERS = 4, WIDTH = 200, N = LAYERS * WIDTH, STEPS = 40 };

struct bucket {
    double weights[N], gradients[N], sum[N];
};

static int rank, size;
static struct bucket *buckets;
static double (*all)[N]; /* of the own bucket: the gradients of each process */
static MPI_Request *receives, *sends, *results;

/* From this process's share of the data, for which each weight should be as large as its rank. */
static void compute(struct bucket *b, int layer)
{
    for (int i = layer * WIDTH; i < (layer + 1) * WIDTH; i++) {
        b->gradients[i] = (b->weights[i] - rank) / 2;
    }
}

static void add_up(void *arg)
{
    struct bucket *b = arg;

    for (int i = 0; i < N; i++) {
        b->sum[i] = 0;
        for (int from = 0; from < size; from++) {
            b->sum[i] += all[from][i];
        }
    }
}

static void descend(void *arg)
{
    struct bucket *b = arg;

    for (int i = 0; i < N; i++) {
        b->weights[i] -= b->sum[i] / size;
    }
}

static void learn(MPIX_Queue queue, MPIX_Host_stream stream)
{
    MPIX_Enqueue_startall(queue, 2 * size, receives); /* and the sends */
    for (int i = size - 1; i >= 0; i--) {
        for (int layer = LAYERS - 1; layer >= 0; layer--) {
            compute(&buckets[i], layer);
            MPIX_Pready(layer, sends[i]); /* it may be sent */
        }
        MPIX_Enqueue_wait(queue, &sends[i]);
        if (i == rank) {
            MPIX_Enqueue_waitall(queue, size, receives);
            MPIX_Host_stream_launch(stream, add_up, &buckets[i]);
        }
        MPIX_Enqueue_start(queue, &results[i]);
        MPIX_Enqueue_wait(queue, &results[i]);
        MPIX_Host_stream_launch(stream, descend, &buckets[i]);
    }
    MPIX_Host_stream_synchronize(stream); /* the next step needs the weights */
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    int wrong = 0;

    MPI_Init(&argc, &argv); /* errors end the program, unless MPI is told otherwise */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buckets = calloc((size_t)size, sizeof *buckets);
    all = calloc((size_t)size, sizeof *all);
    receives = calloc(3 * (size_t)size, sizeof(MPI_Request));
    sends = receives + size;
    results = sends + size;
    for (int i = 0; i < size; i++) {
        MPIX_Precv_init(all[i], LAYERS, WIDTH, MPI_DOUBLE, i, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &receives[i]);
        MPIX_Psend_init(buckets[i].gradients, LAYERS, WIDTH, MPI_DOUBLE, i, 0, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &sends[i]);
        MPI_Bcast_init(buckets[i].sum, N, MPI_DOUBLE, i, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &results[i]);
    }
    MPIX_Matchall(2 * size, receives);
    MPIX_Matchall(size, results);
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int step = 0; step < STEPS; step++) {
        learn(queue, stream);
    }
    for (int i = 0; i < size * N; i++) { /* they are the mean of the ranks by now */
        wrong += fabs(buckets[i / N].weights[i % N] - (size - 1) / 2.0) > 1e-9;
    }
    printf("rank %d: %d of %d weights are wrong\n", rank, wrong, size * N);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    for (int i = 0; i < 3 * size; i++) {
        MPI_Request_free(&receives[i]);
    }
    free(receives), free(all), free(buckets);
    MPI_Finalize();
    return wrong != 0;
}
