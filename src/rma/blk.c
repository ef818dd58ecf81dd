/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "blk.h"

#include <stdio.h>
#include <string.h>

#include "rma.h"
#include "window.h"

enum { WORDS = sizeof(MPIXQ_Blk) / sizeof(uint64_t), VERSION = 1 };

/* The first word of every block. */
static const uint64_t mark = UINT64_C(0x6d707171626c6b00) | VERSION;

/* Of all words but the last: finds what was changed by mistake, not by intent. */
static uint64_t sum_of(const MPIXQ_Blk *blk)
{
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);

    for (int i = 0; i < WORDS - 1; i++) {
        sum = (sum ^ blk->words[i]) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
    }
    return sum;
}

bool mpixq_blk_is_null(const MPIXQ_Blk *blk)
{
    uint64_t any = 0;

    for (int i = 0; i < WORDS; i++) {
        any |= blk->words[i];
    }
    return any == 0;
}

void mpixq_blk_write(const struct mpixq_blk *from, MPIXQ_Blk *blk)
{
    *blk = (MPIXQ_Blk){.words = {mark, from->window, (uint64_t)(uint32_t)from->rank, from->offset,
                                 from->bytes, from->signal, from->generation}};
    blk->words[WORDS - 1] = sum_of(blk);
}

bool mpixq_blk_read(const MPIXQ_Blk *blk, struct mpixq_blk *to)
{
    if (blk->words[0] != mark || blk->words[WORDS - 1] != sum_of(blk) ||
        blk->words[2] > INT32_MAX || blk->words[5] > UINT32_MAX || blk->words[6] > UINT32_MAX) {
        return false;
    }
    *to = (struct mpixq_blk){.window = blk->words[1],
                             .rank = (int)blk->words[2],
                             .offset = blk->words[3],
                             .bytes = blk->words[4],
                             .signal = (uint32_t)blk->words[5],
                             .generation = (uint32_t)blk->words[6]};
    return true;
}

enum mpixq_error mpixq_rma_blk_make(struct mpixq_window *window, uint64_t offset, uint64_t bytes,
                                    const struct mpixq_signal *signal, MPIXQ_Blk *blk)
{
    struct mpixq_blk made = {
        .window = atomic_load(&window->id), .rank = window->rank, .offset = offset, .bytes = bytes};

    if (!mpixq_blk_fits(offset, bytes, window->bytes)) {
        return MPIXQ_E_ARG_RANGE;
    }
    if (signal != NULL) {
        if (signal->window != window) {
            return MPIXQ_E_SIGNAL_OTHER;
        }
        made.signal = signal->index;
        made.generation = signal->generation;
    }
    mpixq_blk_write(&made, blk);
    return MPIXQ_E_NONE;
}

static int fail(const char *argument, enum mpixq_error error)
{
    char what[32];

    (void)snprintf(what, sizeof what, "argument %s", argument);
    return mpixq_error_cause(error, what, mpixq_error_text(error));
}

int mpixq_rma_blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from)
{
    struct mpixq_blk block, other = {.signal = 0};

    if (!mpixq_blk_read(blk, &block)) {
        return fail("blk", MPIXQ_E_BLK);
    }
    if (from != NULL) {
        if (!mpixq_blk_read(from, &other)) {
            return fail("from", MPIXQ_E_BLK);
        }
        if (other.window != block.window || other.rank != block.rank) {
            return fail("from", MPIXQ_E_BLK_OTHER);
        }
    }
    block.signal = other.signal;
    block.generation = other.generation;
    mpixq_blk_write(&block, blk);
    return MPI_SUCCESS;
}

/* A block of this process is within the window, and its signal lives. */
static enum mpixq_error check_own(struct mpixq_window *window, const struct mpixq_blk *block)
{
    struct mpixq_signal *signal;

    return mpixq_blk_fits(block->offset, block->bytes, window->bytes)
               ? mpixq_rma_signal_find(window, block->signal, block->generation, &signal)
               : MPIXQ_E_BLK_RANGE;
}

static int check_remote(struct mpixq_transfer *transfer, struct mpixq_window *window)
{
    const struct mpixq_blk *remote = &transfer->remote;
    enum mpixq_error error = MPIXQ_E_NONE;

    if (remote->window != transfer->local.window || remote->rank >= window->size) {
        error = MPIXQ_E_BLK_OTHER;
    } else if (remote->bytes != transfer->local.bytes) {
        error = MPIXQ_E_BLK_BYTES;
    } else if (remote->rank == window->rank) {
        error = check_own(window, remote);
    }
    return error == MPIXQ_E_NONE ? MPI_SUCCESS : fail("remote", error);
}

int mpixq_transfer_check(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                         struct mpixq_transfer *transfer)
{
    struct mpixq_window *window;
    enum mpixq_error error;
    int rc;

    *transfer = (struct mpixq_transfer){.window = NULL};
    if (mpixq_blk_is_null(remote)) {
        return MPI_SUCCESS;
    }
    if (!mpixq_blk_read(local, &transfer->local)) {
        return fail("local", MPIXQ_E_BLK);
    }
    if (!mpixq_blk_read(remote, &transfer->remote)) {
        return fail("remote", MPIXQ_E_BLK);
    }
    window = mpixq_rma_window_of(transfer->local.window);
    if (window == NULL) {
        return fail("local", MPIXQ_E_BLK_WINDOW);
    }
    if (transfer->local.rank != window->rank) {
        return fail("local", MPIXQ_E_BLK_LOCAL);
    }
    error = check_own(window, &transfer->local);
    if (error != MPIXQ_E_NONE) {
        return fail("local", error);
    }
    rc = check_remote(transfer, window);
    if (rc == MPI_SUCCESS) {
        rc = atomic_load(&window->failed);
    }
    transfer->window = rc == MPI_SUCCESS ? window : NULL;
    return rc;
}
