/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Conjugate gradients: the heat of a rod whose ends are held at 1. A step exchanges a number with
 * each neighbour and takes two sums over all processes, and all of it is in the order of a stream:
 * the host enqueues ten steps and then looks how far they have come. */
#include <math.h>
#include <mpix_queue.h>
#include <stdio.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { N = 32, AT_ONCE = 10 };

static double x[N], r[N], p[N + 2], q[N]; /* p with a number of each neighbour */
static double p_q, r_r, r_r_before;       /* scalar products, of this process and then of all */

static double dot(const double a[N], const double b[N])
{
    double sum = 0;

    for (int i = 0; i < N; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void multiply(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++) {
        q[i] = 2 * p[i + 1] - p[i] - p[i + 2];
    }
    p_q = dot(p + 1, q);
}

static void step(void *arg)
{
    double alpha = p_q > 0 ? r_r / p_q : 0; /* 0: it has come to its end before */

    (void)arg;
    for (int i = 0; i < N; i++) {
        x[i] += alpha * p[i + 1];
        r[i] -= alpha * q[i];
    }
    r_r_before = r_r;
    r_r = dot(r, r);
}

static void turn(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++) {
        p[i + 1] = r[i] + (r_r_before > 0 ? r_r / r_r_before : 0) * p[i + 1];
    }
}

/* The messages of a step, and the two sums. */
static void make_requests(int rank, int size, MPI_Request halo[4], MPI_Request sums[2])
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    MPI_Recv_init(&p[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &halo[0]);
    MPI_Recv_init(&p[N + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &halo[1]);
    MPI_Send_init(&p[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &halo[2]);
    MPI_Send_init(&p[N], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &halo[3]);
    MPIX_Matchall(4, halo);
    MPI_Allreduce_init(MPI_IN_PLACE, &p_q, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &sums[0]);
    MPI_Allreduce_init(MPI_IN_PLACE, &r_r, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &sums[1]);
    MPIX_Matchall(2, sums);
}

int main(int argc, char **argv)
{
    int rank, size, steps = 0, wrong = 0;
    MPI_Request halo[4], sums[2];
    MPIX_Host_stream stream;
    MPIX_Queue queue;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    r[0] = p[1] = rank == 0; /* what the ends of the rod give to their neighbours */
    r[N - 1] = p[N] = rank == size - 1;
    r_r = 2;
    make_requests(rank, size, halo, sums);
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (; r_r > 1e-24 && steps < 2 * N * size; steps += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            MPIX_Enqueue_startall(queue, 4, halo);
            MPIX_Enqueue_waitall(queue, 4, halo);
            MPIX_Host_stream_launch(stream, multiply, NULL);
            MPIX_Enqueue_start(queue, &sums[0]);
            MPIX_Enqueue_wait(queue, &sums[0]);
            MPIX_Host_stream_launch(stream, step, NULL);
            MPIX_Enqueue_start(queue, &sums[1]);
            MPIX_Enqueue_wait(queue, &sums[1]);
            MPIX_Host_stream_launch(stream, turn, NULL);
        }
        MPIX_Host_stream_synchronize(stream);
    }
    for (int i = 0; i < N; i++) {
        wrong += fabs(x[i] - 1) > 1e-9;
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    for (int i = 0; i < 6; i++) {
        MPI_Request_free(i < 4 ? &halo[i] : &sums[i - 4]);
    }
    MPI_Finalize();
    return wrong != 0;
}
