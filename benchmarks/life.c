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

static size_t round_up(size_t bytes)
{
    return (bytes + BENCH_WIDE - 1) / BENCH_WIDE * BENCH_WIDE;
}

/* Of one generation. */
static size_t generation_bytes(const struct life_board *board)
{
    return board->stride * ((size_t)board->height + 2);
}

size_t life_bytes(const struct life_board *board)
{
    return 2 * generation_bytes(board);
}

struct life_board life_board_at(const struct life_board *board, uint8_t *cells)
{
    struct life_board there = *board;

    there.cells[0] = cells;
    there.cells[1] = cells + generation_bytes(board);
    return there;
}

void life_create(struct life_board *board, int width, int height, struct life_rule rule)
{
    *board = (struct life_board){.width = width,
                                 .height = height,
                                 .stride = round_up((size_t)width) + 2 * (size_t)BENCH_WIDE,
                                 .rule = rule};
    *board = life_board_at(board, bench_alloc(life_bytes(board)));
}

void life_destroy(struct life_board *board)
{
    free(board->cells[0]);
}

void life_clear(struct life_board *board)
{
    board->current = 0;
    memset(board->cells[0], NONSENSE, life_bytes(board));
    for (int y = 1; y <= board->height; y++) {
        memset(life_row(board, y) + 1, 0, (size_t)board->width);
    }
}

long life_overrun(const struct life_board *board)
{
    size_t cells = (size_t)board->width + 2; /* with the ghosts */
    long written = 0;

    for (size_t row = 0; row < life_bytes(board) / board->stride; row++) {
        const uint8_t *bytes = board->cells[0] + row * board->stride;

        for (size_t i = 0; i < board->stride; i++) {
            if (i == BENCH_WIDE - 1) {
                i += cells;
            }
            written += bytes[i] != NONSENSE;
        }
    }
    return written;
}

size_t life_border(const struct life_board *board, int direction)
{
    return (life_dx[direction] == 0 ? (size_t)board->width : 1) *
           (life_dy[direction] == 0 ? (size_t)board->height : 1);
}

size_t life_offset(const struct life_board *board, int direction)
{
    size_t offset = 0;

    for (int d = 0; d < direction; d++) {
        offset += round_up(life_border(board, d));
    }
    return offset;
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

void life_pack(const struct life_board *board, uint8_t *block)
{
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        size_t step, count = life_border(board, d);
        const uint8_t *cell = border_start(board, d, false, &step);
        uint8_t *buffer = block + life_offset(board, d);

        for (size_t i = 0; i < count; i++) {
            buffer[i] = cell[i * step];
        }
    }
}

void life_unpack(struct life_board *board, const uint8_t *block)
{
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        size_t step, count = life_border(board, d);
        uint8_t *cell = border_start(board, d, true, &step);
        const uint8_t *buffer = block + life_offset(board, d);

        for (size_t i = 0; i < count; i++) {
            cell[i * step] = buffer[i];
        }
    }
}

/* Whole rows lie at multiples of BENCH_WIDE, on the board and in a block. */
static unsigned long long cells_each(int direction)
{
    return life_dx[direction] == 0 ? BENCH_WIDE : 1;
}

struct bench_strips life_packing(const struct life_board *board, uint8_t *block)
{
    struct bench_strips all;

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        size_t step;
        const uint8_t *cell = border_start(board, d, false, &step);

        all.strip[d] = (struct bench_strip){.to = block + life_offset(board, d),
                                            .to_step = 1,
                                            .from = cell,
                                            .from_step = step,
                                            .count = life_border(board, d),
                                            .each = cells_each(d)};
    }
    return all;
}

struct bench_strips life_unpacking(const struct life_board *board, const uint8_t *block)
{
    struct bench_strips all;

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        size_t step;
        uint8_t *cell = border_start(board, d, true, &step);

        all.strip[d] = (struct bench_strip){.to = cell,
                                            .to_step = step,
                                            .from = block + life_offset(board, d),
                                            .from_step = 1,
                                            .count = life_border(board, d),
                                            .each = cells_each(d)};
    }
    return all;
}

struct bench_board life_stepping(const struct life_board *board)
{
    return (struct bench_board){.from = board->cells[board->current],
                                .to = board->cells[1 - board->current],
                                .width = (unsigned long long)board->width,
                                .height = (unsigned long long)board->height,
                                .stride = board->stride,
                                .birth = board->rule.birth,
                                .survive = board->rule.survive};
}

struct bench_border life_edge(const struct life_board *board, int direction)
{
    const uint8_t *cells = board->cells[board->current];
    size_t step;
    const uint8_t *ghost = border_start(board, direction, true, &step);
    const uint8_t *cell = border_start(board, direction, false, &step);

    return (struct bench_border){.cell = (unsigned long long)(cell - cells),
                                 .ghost = (unsigned long long)(ghost - cells),
                                 .count = life_border(board, direction),
                                 .step = step};
}

void life_wrap(struct life_board *board)
{
    size_t ghosts_too = (size_t)board->width + 2;

    for (int y = 1; y <= board->height; y++) {
        uint8_t *row = life_row(board, y);

        row[0] = row[board->width];
        row[board->width + 1] = row[1];
    }
    /* Whole rows with their ghosts, which brings the corners along. */
    memcpy(life_row(board, 0), life_row(board, board->height), ghosts_too);
    memcpy(life_row(board, board->height + 1), life_row(board, 1), ghosts_too);
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
                 next + (life_row(board, y) - board->cells[board->current]));
    }
    board->current = 1 - board->current;
}
