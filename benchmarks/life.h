/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * life.h - a board of Life-like cells with a ring of ghost cells around it
 *
 * Cells of the board have coordinates 1..width and 1..height; 0 and width+1, height+1 are ghosts.
 */
#ifndef MPIXQ_BENCH_LIFE_H
#define MPIXQ_BENCH_LIFE_H

#include "kernels.h"

#include <stddef.h>
#include <stdint.h>

/* The eight neighbours. Opposite directions add up to 7. */
#define LIFE_DIRECTIONS 8

extern const int life_dx[LIFE_DIRECTIONS];
extern const int life_dy[LIFE_DIRECTIONS];

static inline int life_opposite(int direction)
{
    return LIFE_DIRECTIONS - 1 - direction;
}

/* Bit n is set if a cell with n living neighbours is born, or survives. The halo has Conway's rule;
 * its tests have others, with which a mistake in a sum shows sooner. */
struct life_rule {
    uint16_t birth;
    uint16_t survive;
};

#define LIFE_CONWAY ((struct life_rule){.birth = 1 << 3, .survive = 1 << 2 | 1 << 3})

struct life_board {
    int width, height;
    size_t stride; /* from row to row; column 1 is at a multiple of BENCH_WIDE */
    struct life_rule rule;
    uint8_t *cells[2]; /* one behind the other */
    int current;       /* which of the two holds the present generation */
};

void life_create(struct life_board *board, int width, int height, struct life_rule rule);
void life_destroy(struct life_board *board);

/* Bytes of both generations, and a board like another with its cells there. */
size_t life_bytes(const struct life_board *board);
struct life_board life_board_at(const struct life_board *board, uint8_t *cells);

/* Make all cells dead, and the ghosts and the other generation nonsense. */
void life_clear(struct life_board *board);

/* Row y of the present generation, indexed by x from 0. */
static inline uint8_t *life_row(const struct life_board *board, int y)
{
    return board->cells[board->current] + (size_t)y * board->stride + BENCH_WIDE - 1;
}

/* Bytes beside the ghosts, of both generations, that somebody has written since life_clear. */
long life_overrun(const struct life_board *board);

/* Number of cells that border on the neighbour in a direction. A block is memory for the borders in
 * all directions; with direction LIFE_DIRECTIONS the second gives its size. */
size_t life_border(const struct life_board *board, int direction);
size_t life_offset(const struct life_board *board, int direction);

/* Copy the cells at the borders to a block, and a block to the ghosts beyond the borders. */
void life_pack(const struct life_board *board, uint8_t *block);
void life_unpack(struct life_board *board, const uint8_t *block);

/* The same, and the computation of the next generation, as parameters of kernels. Board and block
 * may be in memory that the host cannot reach. */
struct bench_strips life_packing(const struct life_board *board, uint8_t *block);
struct bench_strips life_unpacking(const struct life_board *board, const uint8_t *block);
struct bench_board life_stepping(const struct life_board *board);
struct bench_border life_edge(const struct life_board *board, int direction);

/* Fill the ghosts from the board's own other side: a board that wraps around by itself. */
void life_wrap(struct life_board *board);

/* Compute the next generation; needs valid ghosts. */
void life_step(struct life_board *board);

#endif
