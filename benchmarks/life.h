/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * life.h - a board of Life-like cells with a ring of ghost cells around it
 *
 * Cells of the board have coordinates 1..width and 1..height; 0 and width+1, height+1 are ghosts.
 */
#ifndef MPIXQ_BENCH_LIFE_H
#define MPIXQ_BENCH_LIFE_H

#include "rle.h"

#include <stddef.h>

/* The eight neighbours. Opposite directions add up to 7. */
#define LIFE_DIRECTIONS 8

extern const int life_dx[LIFE_DIRECTIONS];
extern const int life_dy[LIFE_DIRECTIONS];

static inline int life_opposite(int direction)
{
    return LIFE_DIRECTIONS - 1 - direction;
}

struct life_board {
    int width, height;
    size_t stride;
    struct life_rule rule;
    uint8_t *cells[2];
    int current; /* which of the two holds the present generation */
};

void life_create(struct life_board *board, int width, int height, struct life_rule rule);
void life_destroy(struct life_board *board);

/* Make all cells dead, and the ghosts and the other generation nonsense. */
void life_clear(struct life_board *board);

/* Row y of the present generation, indexed by x from 0. */
static inline uint8_t *life_row(const struct life_board *board, int y)
{
    return board->cells[board->current] + (size_t)y * board->stride;
}

/* Number of cells that border on the neighbour in a direction. */
size_t life_border(const struct life_board *board, int direction);

/* Copy the cells at a border to a buffer, and a buffer to the ghosts beyond a border. */
void life_pack(const struct life_board *board, int direction, uint8_t *buffer);
void life_unpack(struct life_board *board, int direction, const uint8_t *buffer);

/* Fill the ghosts from the board's own other side: a board that wraps around by itself. */
void life_wrap(struct life_board *board);

/* Compute the next generation; needs valid ghosts. */
void life_step(struct life_board *board);

#endif
