/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo_board.c - one rank's part of the board: by functions in memory of the host, or by kernels in
 * that of a device
 *
 * The two do the same with the same layout (life.h), so a board is copied between them as it is. On
 * the host board.current is turned by what runs on the stream, with a device when it is launched.
 */
#include "halo.h"

#include <string.h>

static size_t block_bytes(const struct halo *halo)
{
    return life_offset(&halo->board, LIFE_DIRECTIONS);
}

static void make_buffers(struct halo_set *set)
{
    size_t bytes = block_bytes(set->halo);

    set->own_send = bench_memory(bytes);
    set->own_recv = bench_memory(bytes);
    set->mpi_send = bench_staging(set->own_send, bytes);
    set->mpi_recv = bench_staging(set->own_recv, bytes);
}

static void free_buffers(struct halo_set *set)
{
    bench_staging_free(set->mpi_send);
    bench_staging_free(set->mpi_recv);
    bench_memory_free(set->own_send);
    bench_memory_free(set->own_recv);
}

void halo_create(struct halo *halo, int width, int height, struct life_rule rule)
{
    life_create(&halo->image, width, height, rule);
    halo->board = halo->image;
    if (bench_on_device()) {
        halo->board = life_board_at(&halo->image, bench_memory(life_bytes(&halo->image)));
    }
    halo->first = bench_memory(life_bytes(&halo->image));
    for (int s = 0; s < HALO_SETS; s++) {
        halo->sets[s].halo = halo;
        make_buffers(&halo->sets[s]);
    }
}

void halo_destroy(struct halo *halo)
{
    for (int s = 0; s < HALO_SETS; s++) {
        free_buffers(&halo->sets[s]);
    }
    bench_memory_free(halo->first);
    if (bench_on_device()) {
        bench_memory_free(halo->board.cells[0]);
    }
    life_destroy(&halo->image);
}

void halo_keep(struct halo *halo)
{
    bench_memory_copy(halo->first, halo->image.cells[0], life_bytes(&halo->image));
}

void halo_restart(struct halo *halo, enum bench_mode mode)
{
    bench_memory_copy(halo->board.cells[0], halo->first, life_bytes(&halo->board));
    halo->board.current = 0;
    for (int s = 0; s < HALO_SETS; s++) {
        struct halo_set *set = &halo->sets[s];
        bool linked = bench_mode_is_baseline(mode);

        set->send = linked ? set->links[mode].send : set->own_send;
        set->recv = linked ? set->links[mode].recv : set->own_recv;
        memset(set->mpi_recv, 0xff, block_bytes(halo));
        if (set->recv != set->mpi_recv) {
            bench_memory_copy(set->recv, set->mpi_recv, block_bytes(halo));
        }
    }
}

void halo_fetch(struct halo *halo)
{
    halo->image.current = halo->board.current;
    if (bench_on_device()) {
        bench_memory_copy(halo->image.cells[0], halo->board.cells[0], life_bytes(&halo->board));
    }
}

static void pack(void *arg)
{
    struct halo_set *set = arg;

    life_pack(&set->halo->board, set->send);
}

static void step(void *arg)
{
    struct halo_set *set = arg;

    life_unpack(&set->halo->board, set->recv);
    life_step(&set->halo->board);
}

static void launch_strips(struct bench_strips all)
{
    void *parameters[] = {&all};
    size_t threads = 0;

    for (int s = 0; s < BENCH_STRIPS; s++) {
        size_t needed = (all.strip[s].count + all.strip[s].each - 1) / all.strip[s].each;

        threads = needed > threads ? needed : threads;
    }
    bench_device_launch(BENCH_KERNEL_STRIPS, threads, BENCH_STRIPS, parameters);
}

static void launch_pack(void *arg)
{
    struct halo_set *set = arg;

    launch_strips(life_packing(&set->halo->board, set->send));
}

static void launch_step(void *arg)
{
    struct halo_set *set = arg;
    struct life_board *board = &set->halo->board;
    struct bench_board stepping = life_stepping(board);
    void *parameters[] = {&stepping};

    launch_strips(life_unpacking(board, set->recv));
    bench_device_launch(BENCH_KERNEL_LIFE, (stepping.width + BENCH_WIDE - 1) / BENCH_WIDE,
                        (stepping.height + BENCH_ROWS - 1) / BENCH_ROWS, parameters);
    board->current = 1 - board->current;
}

const struct bench_work halo_packing = {pack, launch_pack};
const struct bench_work halo_stepping = {step, launch_step};
