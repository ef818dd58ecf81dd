/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo_fused.c - a generation as one kernel, which puts the cells at the borders, gets the ghosts
 * and computes: the messages of a set of requests by handles, without its buffers
 */
#include <mpix_queue_device.h>

#include "halo.h"

#include <stdlib.h>

#include "kernels_fused.h"

_Static_assert((int)LIFE_DIRECTIONS == (int)BENCH_BORDERS, "borders");
_Static_assert(BENCH_WIDE % BENCH_EIGHT == 0, "a block has whole eights for each border");

size_t halo_fused_bytes(size_t border)
{
    return (border + BENCH_EIGHT - 1) / BENCH_EIGHT * BENCH_EIGHT;
}

static bool is_other(const struct halo *halo, int direction)
{
    return halo->neighbours[direction] != halo->rank;
}

static void make_handles(struct halo_set *set, enum bench_mode mode, int direction)
{
    const struct halo *halo = set->halo;
    struct bench_halo *fused = set->fused[mode];
    MPI_Request *recv = &set->requests[mode][direction];

    bench_queue_handles(halo->bq.queue, mode,
                        halo_fused_bytes(life_border(&halo->board, direction)), recv,
                        recv + LIFE_DIRECTIONS, &fused->recv[direction], &fused->send[direction]);
}

void halo_fused_open(struct halo_set *set, enum bench_mode mode)
{
    set->fused[mode] = bench_alloc(sizeof *set->fused[mode]);
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        set->fused[mode]->border[d] = life_edge(&set->halo->board, d);
        if (is_other(set->halo, d)) {
            make_handles(set, mode, d);
        }
    }
}

void halo_fused_close(struct halo_set *set, enum bench_mode mode)
{
    struct bench_halo *fused = set->fused[mode];

    /* Of those that are all zero there is nothing to free. */
    MPIX_Device_request_free(LIFE_DIRECTIONS, fused->recv);
    MPIX_Device_request_free(LIFE_DIRECTIONS, fused->send);
    free(fused);
    set->fused[mode] = NULL;
}

static size_t divide(size_t number, size_t by)
{
    return (number + by - 1) / by;
}

void halo_fused_launch(struct halo_set *set, enum bench_mode mode)
{
    enum { WARP = 32, WAVEFRONT = 64 }; /* threads, of the vendors at most */
    struct life_board *board = &set->halo->board;
    struct bench_halo *fused = set->fused[mode];
    unsigned threads =
        BENCH_BORDERS * (unsigned)(bench_device_vendor() == BENCH_ON_CUDA ? WARP : WAVEFRONT);
    size_t wide = divide((size_t)board->width, BENCH_WIDE), height = (size_t)board->height;
    size_t edges = 2 * (wide + height), blocks = divide(edges, BENCH_HALO_VECTORS), inside = 0;
    void *parameters[] = {fused};

    blocks = blocks < BENCH_HALO_BLOCKS ? blocks : BENCH_HALO_BLOCKS;
    if (wide > 2 && height > 2) {
        inside = divide((wide - 2) * divide(height - 2, BENCH_ROWS), blocks * threads);
    }
    fused->board = life_stepping(board);
    fused->ghosts = board->cells[board->current];
    fused->rows = 1 + inside;
    bench_device_start(BENCH_KERNEL_HALO, blocks, fused->rows, threads, parameters);
    board->current = 1 - board->current;
}
