/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_halo.c - the kernel that does a generation with its exchange, as blocks of threads do it,
 * one after the other: each gets all ghosts that it needs, all cells are computed, every message
 * has all of its elements, and nothing else is written. A board is its own neighbour on all sides,
 * by messages to itself or without.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "life.h"

/* The block and the thread that is at it place. A warp has one thread. */
static struct {
    unsigned block, blocks, thread, threads;
} place;

#define BLOCK_X place.block
#define BLOCKS_X place.blocks
#define THREAD place.thread
#define THREADS_X place.threads
#define WARP_HAS(n) 1
#define EACH_WARP(i, n) for (word_t i = THREAD; i < (n); i = (n))
#include "../../benchmarks/kernels_host.c"

enum { GENERATIONS = 5, MOST_BLOCKS = 7, SLOTS = 3, MOST_CELLS = 100 };

static uint64_t state = 1;

/* The ends of the messages that leave by a border, and of those that come there. */
struct ends {
    struct mpixq_device_end send, recv;
    struct mpixq_device_told send_told, recv_told;
};

struct world {
    struct life_board board, twin;
    struct bench_halo all;
    struct ends ends[BENCH_BORDERS];
    /* Of what leaves by a border; two words side by side are stored at once. */
    unsigned long long slots[BENCH_BORDERS][SLOTS * MOST_CELLS] __attribute__((aligned(16)));
    char buffer[MOST_CELLS];
};

static unsigned long long message_bytes(const struct bench_border *border)
{
    return (border->count + BENCH_EIGHT - 1) / BENCH_EIGHT * BENCH_EIGHT;
}

/* What leaves by one border comes at the opposite one. */
static void connect(struct world *w, int out)
{
    int in = BENCH_BORDERS - 1 - out;
    struct ends *from = &w->ends[out], *to = &w->ends[in];
    struct mpixq_device_request request = {.to = w->buffer,
                                           .from = w->buffer,
                                           .bytes = message_bytes(&w->all.border[out]),
                                           .slots = w->slots[out],
                                           .abi = MPIXQ_DEVICE_ABI};

    request.state = &to->recv.state;
    request.own = &to->recv;
    request.own_told = &to->recv_told;
    request.peer = &from->send;
    request.told = &to->recv_told;
    w->all.recv[in] = request;
    request.own = &from->send;
    request.own_told = &from->send_told;
    request.peer = &to->recv;
    request.is_send = request.is_early = 1;
    w->all.send[out] = request;
}

/* The rows of the process grid have several ranks, the columns have, both or none. */
static void make_world(struct world *w, int width, int height, bool wide, bool high)
{
    memset(w, 0, sizeof *w);
    life_create(&w->board, width, height, LIFE_CONWAY);
    life_create(&w->twin, width, height, LIFE_CONWAY);
    life_clear(&w->board);
    for (int y = 1; y <= height; y++) {
        for (int x = 1; x <= width; x++) {
            life_row(&w->board, y)[x] = bench_random(&state) & 1;
        }
    }
    memcpy(w->twin.cells[0], w->board.cells[0], life_bytes(&w->board));
    for (int d = 0; d < BENCH_BORDERS; d++) {
        w->all.border[d] = life_edge(&w->board, d);
    }
    for (int d = 0; d < BENCH_BORDERS; d++) {
        if ((wide && life_dx[d] != 0) || (high && life_dy[d] != 0)) {
            connect(w, d);
        }
    }
}

static void spoil_ghosts(const struct life_board *board)
{
    for (int y = 0; y <= board->height + 1; y++) {
        for (int x = 0; x <= board->width + 1; x++) {
            if (y == 0 || y > board->height || x == 0 || x > board->width) {
                life_row(board, y)[x] = bench_random(&state) & 1;
            }
        }
    }
}

/* What stands between two barriers all threads of a block do. The ghosts that other blocks got are
 * of no use. */
static void run_block(struct world *w, MPIXQ_Device_access in[])
{
    struct edges edges = find_edges(&w->all.board);

    spoil_ghosts(&w->board);
    for (place.thread = 0; place.thread < place.threads; place.thread++) {
        receive_border(&w->all, &edges, place.thread, &in[place.thread]);
    }
    for (place.thread = 0; place.thread < place.threads; place.thread++) {
        compute_edge_cells(&w->all.board, &edges);
    }
    for (place.thread = 0; place.thread < place.threads; place.thread++) {
        if (MPIXQ_Device_has_elements(&w->all.recv[place.thread])) {
            assert_int_equal(MPIXQ_Device_end(&in[place.thread], MPIXQ_DEVICE_WARP), 0);
        }
    }
}

static void run_inside(const struct world *w)
{
    for (word_t row = 1; row < w->all.rows; row++) {
        for (place.block = 0; place.block < place.blocks; place.block++) {
            for (place.thread = 0; place.thread < place.threads; place.thread++) {
                compute_inner_cells(&w->all, row);
            }
        }
    }
}

static void run_generation(struct world *w)
{
    static MPIXQ_Device_access in[MOST_BLOCKS][BENCH_BORDERS];

    w->all.board = life_stepping(&w->board);
    w->all.ghosts = w->board.cells[w->board.current];
    for (place.block = 0; place.block < place.blocks; place.block++) {
        for (place.thread = 0; place.thread < place.threads; place.thread++) {
            send_border(&w->all, place.thread, &in[place.block][place.thread]);
        }
    }
    for (place.block = 0; place.block < place.blocks; place.block++) {
        run_block(w, in[place.block]);
    }
    run_inside(w);
    w->board.current = 1 - w->board.current;
    life_wrap(&w->twin);
    life_step(&w->twin);
}

static void check_cells(const struct world *w)
{
    for (int y = 1; y <= w->board.height; y++) {
        if (memcmp(life_row(&w->board, y) + 1, life_row(&w->twin, y) + 1, (size_t)w->board.width) !=
            0) {
            fail_msg("board of %d x %d, %u blocks: row %d differs", w->board.width, w->board.height,
                     place.blocks, y);
        }
    }
    assert_int_equal(life_overrun(&w->board), 0);
}

/* Each start was made, and waited for, once. */
static void check_ends(const struct world *w)
{
    for (int d = 0; d < BENCH_BORDERS; d++) {
        const struct ends *ends = &w->ends[d];
        unsigned long long sent = w->all.send[d].slots != NULL ? GENERATIONS : 0;
        unsigned long long came = w->all.recv[d].slots != NULL ? GENERATIONS : 0;

        assert_int_equal(ends->send.done, sent);
        assert_int_equal(ends->send.started, sent);
        assert_int_equal(ends->send.waited, sent);
        assert_int_equal(ends->send.posted, sent);
        assert_int_equal(ends->recv.started, came);
        assert_int_equal(ends->recv.waited, came);
        assert_int_equal(ends->send.gone + ends->recv.gone, 0);
    }
}

static void run_world(int width, int height, unsigned blocks, int neighbours)
{
    static struct world w;

    make_world(&w, width, height, (neighbours & 1) != 0, (neighbours & 2) != 0);
    place.blocks = blocks;
    place.threads = BENCH_BORDERS;
    /* One row has not enough threads for all, so they go on. */
    w.all.rows = 1 + blocks % 3;
    if (w.all.rows == 1 && width > 2 * BENCH_WIDE && height > 2) {
        w.all.rows = 2;
    }
    for (int g = 0; g < GENERATIONS; g++) {
        run_generation(&w);
        check_cells(&w);
    }
    check_ends(&w);
    life_destroy(&w.board);
    life_destroy(&w.twin);
}

static void test_blocks_and_borders(void **unused)
{
    static const int sides[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 49, 65, 97};
    enum { SIDES = sizeof sides / sizeof sides[0] };

    (void)unused;
    for (int x = 0; x < SIDES; x++) {
        for (int y = 0; y < SIDES; y++) {
            for (unsigned blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
                run_world(sides[x], sides[y], blocks, (int)(blocks + (unsigned)(x + y)) % 4);
            }
        }
    }
}

/* All words of slots are right, also where a message is a single element. */
static void test_all_kinds_of_neighbours(void **unused)
{
    (void)unused;
    for (int neighbours = 0; neighbours < 4; neighbours++) {
        for (int side = 1; side <= MOST_CELLS - BENCH_EIGHT; side++) {
            run_world(side, 1 + side * 7 % 40, 1 + (unsigned)side % MOST_BLOCKS, neighbours);
            run_world(1 + side * 7 % 40, side, 1 + (unsigned)side % MOST_BLOCKS, neighbours);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_and_borders),
        cmocka_unit_test(test_all_kinds_of_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
