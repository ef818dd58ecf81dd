/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Game of Life on tiles, with the calls and names of the paper that proposed them: each
 * generation sends eight messages to the tiles around and gets eight. All of it is enqueued.
 *
 * Sends are ready sends, which say that the receive buffer may be written. It may, as there are two
 * sets of buffers, in turn: who has all messages of a generation knows that the neighbours have
 * read those of the one before. */
#define MPIX_QUEUE_MPI_NAMES
#include <mpix_queue.h>
#include <stdio.h>
#include <string.h>

enum { N = 16, ROW = N + 2, DIRECTIONS = 8, GENERATIONS = 4 * N }; /* with a border of one */

static struct {
    char cell[ROW][ROW], out[2][DIRECTIONS][N], in[2][DIRECTIONS][N];
} tile;

static const int way[DIRECTIONS][2] = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1},
                                       {0, 1},   {1, -1}, {1, 0},  {1, 1}};

/* From the cells at the edges of the tile, or to those of its border. */
static void copy(char (*edge)[N], int border)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        int dy = way[d][0], dx = way[d][1], n = 0;
        int top = dy < 0 ? 1 - border : dy > 0 ? N + border : 1, bottom = dy == 0 ? N : top;
        int left = dx < 0 ? 1 - border : dx > 0 ? N + border : 1, right = dx == 0 ? N : left;

        for (int y = top; y <= bottom; y++) {
            for (int x = left; x <= right; x++, n++) {
                *(border ? &tile.cell[y][x] : &edge[d][n]) = border ? edge[d][n] : tile.cell[y][x];
            }
        }
    }
}

static void pack(void *arg)
{
    copy(arg, 0);
}

static void unpack_and_compute(void *arg)
{
    char next[ROW][ROW] = {{0}};

    copy(arg, 1);
    for (int i = 0; i < N * N; i++) {
        int y = i / N + 1, x = i % N + 1, alive = 0;

        for (int d = 0; d < DIRECTIONS; d++) {
            alive += tile.cell[y + way[d][0]][x + way[d][1]];
        }
        next[y][x] = alive == 3 || (alive == 2 && tile.cell[y][x]);
    }
    memcpy(tile.cell, next, sizeof next);
}

/* First eight receives, then eight sends; the tag is the direction in which a message goes. */
static void make_requests(MPI_Comm grid, const int here[2], int set, MPI_Request req[])
{
    for (int d = 0; d < DIRECTIONS; d++) {
        int there[2] = {here[0] + way[d][0], here[1] + way[d][1]}, rank, tag = set * DIRECTIONS;

        MPI_Cart_rank(grid, there, &rank);
        MPI_Recv_init(tile.in[set][d], N, MPI_CHAR, rank, tag + DIRECTIONS - 1 - d, grid, &req[d]);
        MPI_Rsend_init(tile.out[set][d], N, MPI_CHAR, rank, tag + d, grid, &req[DIRECTIONS + d]);
    }
    MPI_Matchall(2 * DIRECTIONS, req);
}

int main(int argc, char **argv)
{
    static const int glider[5][2] = {{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};
    static char first[ROW][ROW];
    int rank, size, here[2], dims[2] = {0, 0}, periodic[2] = {1, 1}, wrong = 0, is_here;
    MPI_Request req[2][2 * DIRECTIONS];
    MPIX_Host_stream stream;
    MPI_Queue queue;
    MPI_Comm grid;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, here);
    for (int i = 0; i < 5; i++) {
        first[7 + glider[i][0]][7 + glider[i][1]] = 1;
    }
    memcpy(tile.cell, first, rank == 0 ? sizeof first : 0); /* the other tiles are empty */
    make_requests(grid, here, 0, req[0]);
    make_requests(grid, here, 1, req[1]);
    MPIX_Host_stream_create(&stream);
    MPI_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int g = 0; g < GENERATIONS; g++) {
        MPI_Enqueue_startall(queue, DIRECTIONS, req[g % 2]); /* the receives */
        MPIX_Host_stream_launch(stream, pack, tile.out[g % 2]);
        MPI_Enqueue_startall(queue, DIRECTIONS, req[g % 2] + DIRECTIONS);
        MPI_Enqueue_waitall(queue); /* for all that was started on it */
        MPIX_Host_stream_launch(stream, unpack_and_compute, tile.in[g % 2]);
    }
    MPIX_Host_stream_synchronize(stream);
    /* In four generations a glider moves by one cell each way: by now it is a tile further. */
    is_here = here[0] == 1 % dims[0] && here[1] == 1 % dims[1];
    for (int i = 0; i < N * N; i++) {
        wrong += tile.cell[i / N + 1][i % N + 1] != (is_here && first[i / N + 1][i % N + 1]);
    }
    printf("rank %d: %d of %d cells are wrong\n", rank, wrong, N * N);
    MPI_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    for (int i = 0; i < 4 * DIRECTIONS; i++) {
        MPI_Request_free(&req[i % 2][i / 2]);
    }
    MPI_Finalize();
    return wrong != 0;
}
