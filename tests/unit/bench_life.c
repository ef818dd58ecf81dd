/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_life.c - the kernels of mpixq_halo do what its functions of the host do, on boards of every
 * width around theirs, and write nothing else
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernels_host.h"
#include "life.h"

enum { WIDEST = 3 * BENCH_WIDE + 1, HIGHEST = 2 * BENCH_ROWS + 1, UNWRITTEN = 0xee };

static const struct life_rule rules[] = {
    {1 << 3, 1 << 2 | 1 << 3},                   /* Conway's */
    {1 << 0 | 1 << 4 | 1 << 8, 1 << 1 | 1 << 8}, /* cells are born from nothing */
    {0x1ff, 0},                                  /* all at once */
    {1 << 3 | 1 << 6, 1 << 0 | 1 << 5 | 1 << 7},
};

static uint64_t state = 1;

/* A board with random cells and ghosts, and an equal one. */
static void make_two(struct life_board *board, struct life_board *twin, int width, int height,
                     struct life_rule rule)
{
    life_create(board, width, height, rule);
    life_create(twin, width, height, rule);
    life_clear(board);
    for (int y = 0; y <= height + 1; y++) {
        for (int x = 0; x <= width + 1; x++) {
            life_row(board, y)[x] = bench_random(&state) & 1;
        }
    }
    memcpy(twin->cells[0], board->cells[0], life_bytes(board));
}

static void free_two(struct life_board *board, struct life_board *twin)
{
    assert_int_equal(life_overrun(board), 0);
    assert_int_equal(life_overrun(twin), 0);
    life_destroy(board);
    life_destroy(twin);
}

/* Both generations, with their ghosts and what is beside them. */
static void expect_equal(const struct life_board *board, const struct life_board *twin)
{
    if (memcmp(board->cells[0], twin->cells[0], life_bytes(board)) != 0) {
        fail_msg("boards of %d x %d differ", board->width, board->height);
    }
}

static void for_each_board(void (*check)(struct life_board *board, struct life_board *twin))
{
    for (int width = 1; width <= WIDEST; width++) {
        for (int height = 1; height <= HIGHEST; height++) {
            struct life_board board, twin;

            make_two(&board, &twin, width, height,
                     rules[(width + height) % (int)(sizeof rules / sizeof rules[0])]);
            check(&board, &twin);
            free_two(&board, &twin);
        }
    }
}

static void check_step(struct life_board *board, struct life_board *twin)
{
    for (int g = 0; g < 3; g++) {
        bench_life(life_stepping(board));
        board->current = 1 - board->current;
        life_step(twin);
        expect_equal(board, twin);
        life_wrap(board);
        life_wrap(twin);
    }
}

static void steps(void **unused)
{
    (void)unused;
    for_each_board(check_step);
}

/* All nine cells around a place, with a rule of their own, at each place of a wide word. */
static void check_place(unsigned cells, int place)
{
    struct life_rule rule = {(uint16_t)(bench_random(&state) & 0x1ff),
                             (uint16_t)(bench_random(&state) & 0x1ff)};
    struct life_board board, twin;

    make_two(&board, &twin, BENCH_WIDE + 2, 3, rule);
    for (int i = 0; i < 9; i++) {
        uint8_t cell = cells >> i & 1;

        life_row(&board, 1 + i / 3)[1 + place + i % 3] = cell;
        life_row(&twin, 1 + i / 3)[1 + place + i % 3] = cell;
    }
    bench_life(life_stepping(&board));
    board.current = 1 - board.current;
    life_step(&twin);
    expect_equal(&board, &twin);
    free_two(&board, &twin);
}

static void counts_neighbours(void **unused)
{
    (void)unused;
    for (unsigned cells = 0; cells < 1 << 9; cells++) {
        for (int place = 0; place < BENCH_WIDE; place++) {
            check_place(cells, place);
        }
    }
}

static void check_borders(struct life_board *board, struct life_board *twin)
{
    size_t bytes = life_offset(board, LIFE_DIRECTIONS);
    uint8_t *block = bench_alloc(bytes), *expected = bench_alloc(bytes);

    assert_int_equal(bytes % BENCH_WIDE, 0);
    memset(block, UNWRITTEN, bytes);
    memset(expected, UNWRITTEN, bytes);
    bench_strips(life_packing(board, block));
    life_pack(twin, expected);
    assert_memory_equal(block, expected, bytes);
    for (size_t i = 0; i < bytes; i++) {
        block[i] = bench_random(&state) & 0xff;
    }
    bench_strips(life_unpacking(board, block));
    life_unpack(twin, block);
    expect_equal(board, twin);
    free(block);
    free(expected);
}

static void copies_borders(void **unused)
{
    (void)unused;
    for_each_board(check_borders);
}

/* What is packed for the neighbour in one direction is what it unpacks from the other one. */
static void borders_wrap(void **unused)
{
    struct life_board board, twin;
    uint8_t *sent, *received;

    (void)unused;
    make_two(&board, &twin, WIDEST, HIGHEST, rules[0]);
    sent = bench_alloc(life_offset(&board, LIFE_DIRECTIONS));
    received = bench_alloc(life_offset(&board, LIFE_DIRECTIONS));
    bench_strips(life_packing(&board, sent));
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        memcpy(received + life_offset(&board, d), sent + life_offset(&board, life_opposite(d)),
               life_border(&board, d));
    }
    bench_strips(life_unpacking(&board, received));
    life_wrap(&twin);
    expect_equal(&board, &twin);
    free(sent);
    free(received);
    free_two(&board, &twin);
}

static void overruns_are_found(void **unused)
{
    struct life_board board, twin;

    (void)unused;
    make_two(&board, &twin, BENCH_WIDE, 2, rules[0]);
    board.cells[0][BENCH_WIDE - 2] ^= 1;         /* before the first ghost */
    life_row(&board, 1)[board.width + 2] ^= 1;   /* behind a row */
    board.cells[0][life_bytes(&board) - 1] ^= 1; /* at the end */
    board.cells[1][BENCH_WIDE - 1] ^= 1;         /* a ghost, which is none */
    assert_int_equal(life_overrun(&board), 3);
    life_destroy(&board);
    life_destroy(&twin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps),
        cmocka_unit_test(counts_neighbours),
        cmocka_unit_test(copies_borders),
        cmocka_unit_test(borders_wrap),
        cmocka_unit_test(overruns_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
