/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Heat on a ring of cells: while the cells at the ends of a rank's part travel, the stream computes
 * the cells between them, which need nothing from the neighbours. */
#include <math.h>
#include <mpix_queue.h>
#include <stdio.h>
#include <string.h>

enum { N = 10000, STEPS = 200 };

/* Cells 1 to N are ours; 0 and N + 1 are copies of the neighbours'. */
struct part {
    double cell[N + 2], next[N + 2];
};

static void average(struct part *p, int first, int last)
{
    for (int i = first; i <= last; i++) {
        p->next[i] = 0.25 * p->cell[i - 1] + 0.5 * p->cell[i] + 0.25 * p->cell[i + 1];
    }
}

static void inner(void *arg)
{
    average(arg, 2, N - 1);
}

static void ends(void *arg)
{
    struct part *p = arg;

    average(p, 1, 1);
    average(p, N, N);
    memcpy(&p->cell[1], &p->next[1], N * sizeof p->cell[0]);
}

static void run(struct part *p, MPI_Request req[4])
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;

    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int step = 0; step < STEPS; step++) {
        MPIX_Enqueue_startall(queue, 4, req);      /* the ends are on their way */
        MPIX_Host_stream_launch(stream, inner, p); /* meanwhile */
        MPIX_Enqueue_waitall(queue, 4, req);       /* the stream waits for them */
        MPIX_Host_stream_launch(stream, ends, p);
    }
    MPIX_Host_stream_synchronize(stream);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
}

/* Averaging keeps the sum over all ranks. */
static double sum(const struct part *p)
{
    double own = 0.0, all;

    for (int i = 1; i <= N; i++) {
        own += p->cell[i];
    }
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    static struct part p; /* cold */
    int rank, size, left, right;
    MPI_Request req[4];
    double after;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    p.cell[1] = rank == 0 ? 1000.0 : 0.0; /* at an end, so that heat crosses it */

    MPI_Send_init(&p.cell[1], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&p.cell[N + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &req[1]);
    MPI_Send_init(&p.cell[N], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &req[2]);
    MPI_Recv_init(&p.cell[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &req[3]);
    MPIX_Matchall(4, req);
    run(&p, req);
    after = sum(&p);
    if (rank == 0) {
        printf("heat after %d steps %.6f, in the first cell %.6f\n", STEPS, after, p.cell[1]);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&req[i]);
    }
    MPI_Finalize();
    return fabs(after - 1000.0) < 1e-6 ? 0 : 1;
}
