/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Heat on a square, on a periodic process grid: each step exchanges the four edges of a tile with
 * its neighbours and averages. All steps are enqueued up front; the host waits once, at the end. */
#include <math.h>
#include <mpix_queue.h>
#include <stdio.h>
#include <string.h>

enum { N = 64, ROW = N + 2, STEPS = 100 }; /* a tile is N x N, with a border of one cell */

struct tile {
    double cell[ROW][ROW], next[ROW][ROW];
};

static void average(void *arg)
{
    struct tile *t = arg;

    for (int y = 1; y <= N; y++) {
        for (int x = 1; x <= N; x++) {
            t->next[y][x] = 0.25 * (t->cell[y - 1][x] + t->cell[y + 1][x] + t->cell[y][x - 1] +
                                    t->cell[y][x + 1]);
        }
    }
    memcpy(t->cell, t->next, sizeof t->cell);
}

/* Eight requests: to and from the neighbours above, below, left and right. The tag names the way
 * that the data goes: with two processes in a dimension both neighbours are the same process. */
static void make_requests(struct tile *t, MPI_Comm grid, MPI_Request req[8])
{
    MPI_Datatype column;
    int up, down, left, right;

    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Type_vector(N, 1, ROW, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Send_init(&t->cell[1][1], N, MPI_DOUBLE, up, 0, grid, &req[0]);
    MPI_Recv_init(&t->cell[N + 1][1], N, MPI_DOUBLE, down, 0, grid, &req[1]);
    MPI_Send_init(&t->cell[N][1], N, MPI_DOUBLE, down, 1, grid, &req[2]);
    MPI_Recv_init(&t->cell[0][1], N, MPI_DOUBLE, up, 1, grid, &req[3]);
    MPI_Send_init(&t->cell[1][1], 1, column, left, 2, grid, &req[4]);
    MPI_Recv_init(&t->cell[1][N + 1], 1, column, right, 2, grid, &req[5]);
    MPI_Send_init(&t->cell[1][N], 1, column, right, 3, grid, &req[6]);
    MPI_Recv_init(&t->cell[1][0], 1, column, left, 3, grid, &req[7]);
    MPI_Type_free(&column);
}

/* Enqueue all steps; the border cells are written between start and wait, and nowhere else. */
static void run(struct tile *t, MPI_Request req[8])
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;

    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int step = 0; step < STEPS; step++) {
        MPIX_Enqueue_startall(queue, 8, req);
        MPIX_Enqueue_waitall(queue, 8, req);
        MPIX_Host_stream_launch(stream, average, t);
    }
    MPIX_Host_stream_synchronize(stream);
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
}

/* Averaging keeps the sum over all tiles. */
static double sum(const struct tile *t, MPI_Comm grid)
{
    double own = 0.0, all;

    for (int y = 1; y <= N; y++) {
        for (int x = 1; x <= N; x++) {
            own += t->cell[y][x];
        }
    }
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
    return all;
}

int main(int argc, char **argv)
{
    static struct tile tile; /* cold */
    int rank, size, dims[2] = {0, 0}, periodic[2] = {1, 1};
    MPI_Request req[8];
    MPI_Comm grid;
    double before, after;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    tile.cell[1][N / 2] = rank == 0 ? 1000.0 : 0.0; /* near an edge, so that heat crosses it */

    make_requests(&tile, grid, req);
    MPIX_Matchall(8, req);
    before = sum(&tile, grid);
    run(&tile, req);
    after = sum(&tile, grid);
    if (rank == 0) {
        printf("heat before %.6f, after %d steps %.6f\n", before, STEPS, after);
    }

    for (int i = 0; i < 8; i++) {
        MPI_Request_free(&req[i]);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return fabs(before - after) < 1e-6 ? 0 : 1;
}
