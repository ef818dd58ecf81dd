/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange_grid.c - which ranks are neighbours, on a ring or on a grid, and what goes between them
 * in the modes of links
 *
 * Ranks are numbered row by row, as in a Cartesian topology that does not reorder them.
 */
#include "exchange.h"

#include <stdlib.h>

/* Steps in rows and columns. On a grid with two rows or columns opposite directions lead to the
 * same rank, and stand side by side here; so messages that may go as one lie one behind the
 * other. */
static const int step[GRID_DIRECTIONS][2] = {{0, 1},   {0, -1}, {1, 0},  {-1, 0},
                                             {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

static int move(int from, long steps, int length)
{
    long to = (from + steps % length) % length;

    return (int)(to < 0 ? to + length : to);
}

int exchange_towards(const struct exchange *ex, int direction, long steps)
{
    int row = ex->rank / ex->dims[1], column = ex->rank % ex->dims[1];

    row = move(row, steps * step[direction][0], ex->dims[0]);
    column = move(column, steps * step[direction][1], ex->dims[1]);
    return row * ex->dims[1] + column;
}

static void find_peers(struct exchange *ex)
{
    for (int d = 0; d < ex->directions; d++) {
        ex->peers[d] = exchange_towards(ex, d, 1);
    }
}

void exchange_make_ring(struct exchange *ex)
{
    ex->dims[0] = 1;
    ex->dims[1] = ex->ranks;
    ex->directions = RING_DIRECTIONS;
    find_peers(ex);
}

void exchange_make_grid(struct exchange *ex)
{
    ex->dims[0] = ex->dims[1] = 0;
    MPI_Dims_create(ex->ranks, 2, ex->dims);
    ex->directions = GRID_DIRECTIONS;
    find_peers(ex);
}

/* The messages of the directions from one to another, as one. */
static struct bench_part join(const struct exchange *ex, const struct bench_part parts[], int from,
                              int to, int tag)
{
    int messages = (to - from) * ex->messages;
    struct bench_part part = parts[from * ex->messages];

    part.tag = tag;
    part.bytes = ((size_t)(messages - 1) * ex->stride + ex->words) * sizeof *ex->data;
    return part;
}

/* Messages of directions that follow each other and lead to the same rank may go as one, since they
 * lie one behind the other at both ends. There they come from the same rank as well: on a ring or a
 * grid it is the same directions for all ranks that lead to one. */
static void make_few(struct exchange *ex)
{
    ex->num_few = 0;
    for (int d = 0, next; d < ex->directions; d = next) {
        for (next = d + 1; next < ex->directions && ex->peers[next] == ex->peers[d]; next++) {
        }
        ex->few_sends[ex->num_few] = join(ex, ex->sends, d, next, ex->num_few);
        ex->few_recvs[ex->num_few] = join(ex, ex->recvs, d, next, ex->num_few);
        ex->num_few++;
    }
}

void exchange_make_parts(struct exchange *ex)
{
    int num = num_messages(ex);

    ex->sends = bench_alloc((size_t)num * sizeof *ex->sends);
    ex->recvs = bench_alloc((size_t)num * sizeof *ex->recvs);
    for (int i = 0; i < num; i++) {
        int d = i / ex->messages;
        struct bench_part part = {.peer = ex->peers[d],
                                  .tag = i,
                                  .offset = (size_t)i * ex->stride * sizeof *ex->data,
                                  .bytes = ex->words * sizeof *ex->data};

        ex->sends[i] = part;
        part.peer = exchange_towards(ex, d, -1);
        ex->recvs[i] = part;
    }
    make_few(ex);
}

void exchange_free_parts(struct exchange *ex)
{
    free(ex->sends);
    free(ex->recvs);
}
