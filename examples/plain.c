/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A program for any MPI: heat on a ring of cells, by persistent requests. It runs as it is with the
 * library in LD_PRELOAD, which changes nothing. With two lines more (-DMATCH) its requests find
 * their partners once, and go by the library's channels: by GPUs or the NIC, where they can. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#ifdef MATCH
#include <mpix_queue.h> /* the first line */
#endif

enum { N = 1000, STEPS = 200 };

static double cell[N + 2], next[N + 2]; /* the first and the last are copies of the neighbours' */

static void average(int first, int last)
{
    for (int i = first; i <= last; i++) {
        next[i] = 0.25 * cell[i - 1] + 0.5 * cell[i] + 0.25 * cell[i + 1];
    }
}

static double sum(void)
{
    double own = 0.0, all;

    for (int i = 1; i <= N; i++) {
        own += cell[i];
    }
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank, size, left, right;
    MPI_Request req[4];
    double after;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    cell[1] = rank == 0 ? 1000.0 : 0.0; /* at an end, so that heat crosses it */
    MPI_Send_init(&cell[1], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(&cell[N + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &req[1]);
    MPI_Send_init(&cell[N], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &req[2]);
    MPI_Recv_init(&cell[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &req[3]);
#ifdef MATCH
    MPIX_Matchall(4, req); /* the second line */
#endif
    for (int step = 0; step < STEPS; step++) {
        MPI_Startall(4, req);
        average(2, N - 1);
        MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
        average(1, 1);
        average(N, N);
        for (int i = 1; i <= N; i++) {
            cell[i] = next[i];
        }
    }
    after = sum();
    if (rank == 0) {
        printf("heat after %d steps %.6f, in the first cell %.6f\n", STEPS, after, cell[1]);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&req[i]);
    }
    MPI_Finalize();
    return fabs(after - 1000.0) < 1e-6 ? 0 : 1;
}
