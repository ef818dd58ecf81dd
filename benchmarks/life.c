/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * life.c - boards of Life-like cells
 */
#include "life.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* Not 0 or 1, so that a cell that nobody wrote cannot pass for one that somebody did. */
#define NONSENSE 0x55

const int life_dx[LIFE_DIRECTIONS] = {-1, 0, 1, -1, 1, -1, 0, 1};
const int life_dy[LIFE_DIRECTIONS] = {-1, -1, -1, 0, 0, 1, 1, 1};

static size_t board_bytes(const struct life_board *board)
{
    return board->stride * ((size_t)board->height + 2);
}

void life_create(struct life_board *board, int width, int height, struct life_rule rule)
{
    *board = (struct life_board){
        .width = width, .height = height, .stride = (size_t)width + 2, .rule = rule};
    board->cells[0] = bench_alloc(board_bytes(board));
    board->cells[1] = bench_alloc(board_bytes(board));
}

void life_destroy(struct life_board *board)
{
    free(board->cells[0]);
    free(board->cells[1]);
}

void life_clear(struct life_board *board)
{
    board->current = 0;
    memset(board->cells[0], NONSENSE, board_bytes(board));
    memset(board->cells[1], NONSENSE, board_bytes(board));
    for (int y = 1; y <= board->height; y++) {
        memset(life_row(board, y) + 1, 0, (size_t)board->width);
    }
}

size_t life_border(const struct life_board *board, int direction)
{
    return (life_dx[direction] == 0 ? (size_t)board->width : 1) *
           (life_dy[direction] == 0 ? (size_t)board->height : 1);
}

/* First coordinate of the cells at a side, or of the ghosts beyond it. */
static int side_start(int step, int length, bool ghost)
{
    if (step == 0) {
        return 1;
    }
    return step < 0 ? !ghost : length + ghost;
}

/* A border is a row, a column or a single cell: first cell, and the distance to the next. */
static uint8_t *border_start(const struct life_board *board, int direction, bool ghost,
                             size_t *step_p)
{
    int x = side_start(life_dx[direction], board->width, ghost);
    int y = side_start(life_dy[direction], board->height, ghost);

    *step_p = life_dy[direction] == 0 ? board->stride : 1;
    return life_row(board, y) + x;
}

void life_pack(const struct life_board *board, int direction, uint8_t *buffer)
{
    size_t step, count = life_border(board, direction);
    const uint8_t *cell = border_start(board, direction, false, &step);

    for (size_t i = 0; i < count; i++) {
        buffer[i] = cell[i * step];
    }
}

void life_unpack(struct life_board *board, int direction, const uint8_t *buffer)
{
    size_t step, count = life_border(board, direction);
    uint8_t *cell = border_start(board, direction, true, &step);

    for (size_t i = 0; i < count; i++) {
        cell[i * step] = buffer[i];
    }
}

void life_wrap(struct life_board *board)
{
    for (int y = 1; y <= board->height; y++) {
        uint8_t *row = life_row(board, y);

        row[0] = row[board->width];
        row[board->width + 1] = row[1];
    }
    /* Whole rows with their ghosts, which brings the corners along. */
    memcpy(life_row(board, 0), life_row(board, board->height), board->stride);
    memcpy(life_row(board, board->height + 1), life_row(board, 1), board->stride);
}

/* Three column sums slide along the row; the middle one still contains the cell itself. */
static void step_row(const struct life_board *board, const uint8_t *above, const uint8_t *row,
                     const uint8_t *below, uint8_t *out)
{
    unsigned left = above[0] + row[0] + below[0];
    unsigned middle = above[1] + row[1] + below[1];

    for (int x = 1; x <= board->width; x++) {
        unsigned right = above[x + 1] + row[x + 1] + below[x + 1];
        unsigned neighbours = left + middle + right - row[x];
        unsigned bits = row[x] ? board->rule.survive : board->rule.birth;

        /* The mask matters for ghosts that were never written only: nonsense, but defined. */
        out[x] = (uint8_t)((bits >> (neighbours & 15)) & 1);
        left = middle;
        middle = right;
    }
}

void life_step(struct life_board *board)
{
    uint8_t *next = board->cells[1 - board->current];

    for (int y = 1; y <= board->height; y++) {
        step_row(board, life_row(board, y - 1), life_row(board, y), life_row(board, y + 1),
                 next + (size_t)y * board->stride);
    }
    board->current = 1 - board->current;
}
