/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_windows.h - what the tests of puts and of gets by NICs have in common: a window, what the
 * double counts, and signals in places of those that were freed. Included once by a program.
 */
#ifndef MTEST_CXI_WINDOWS_H
#define MTEST_CXI_WINDOWS_H

#include "cxi_double/switches.h"
#include "cxi_hooks.h"
#include "mtest.h"
#include "rma_forge.h"

#include <mpix_queue_rma.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20, LARGE = 300000, MANY = 1000000000, PAUSE_US = 50000 };

static const struct cxi_double_hooks *hooks;
static char *memory;
static MPIX_Window window;
static int n_nics, is_chained;
static atomic_int n_deferred; /* since it was set */

static int after(void)
{
    return (mtest_rank + 1) % mtest_size;
}

static int before(void)
{
    return (mtest_rank + mtest_size - 1) % mtest_size;
}

static MPIX_Blk of_next(const MPIX_Blk *mine)
{
    MPIX_Blk theirs;

    MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, before(), 1, &theirs, sizeof theirs, MPI_BYTE,
                 after(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

static void close_signal(MPIX_Signal *signal)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(signal));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* From now on this process's operations of a kind are counted, by being late by nothing. */
static void count(int op)
{
    hooks->fault(NIC_FAULT_LATE, op, 1, MANY);
}

static void stop_counting(void)
{
    hooks->fault(NIC_FAULT_NONE, NIC_HIT_ANY, 1, 1);
}

static void note_post(const struct cxi_double_post *post)
{
    (void)post;
    atomic_fetch_add(&n_deferred, 1);
}

/* Of puts, or of gets, what names a signal that is gone, or lies outside, is refused as a message
 * is, and no NIC moves anything. The signal, for 5 events, is another one afterwards. */
static void expect_refused(int (*move)(const MPIX_Blk *local, const MPIX_Blk *remote),
                           const MPIX_Blk *mine, const MPIX_Blk *theirs, MPIX_Signal *signal)
{
    MPIX_Blk forged = *theirs;

    MPI_Barrier(MPI_COMM_WORLD);
    count(NIC_HIT_ANY);
    rma_forge(&forged, 3, BYTES - 63);
    MTEST_OK(move(mine, &forged));
    MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_ARG, "refused by rank");
    forged = *theirs;
    rma_forge(&forged, 6, theirs->words[6] + 1); /* the generation */
    MTEST_OK(move(mine, &forged));
    MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE, "refused by rank");
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(signal));
    MTEST_OK(MPIX_Signal_init(window, 5, signal));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(move(mine, theirs));
    MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE, "signal of the block was freed");
    MTEST_EQ(hooks->hits(), 0);
    stop_counting();
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_KIND_TEXT(MPIX_Signal_reset(*signal), MPIXQ_ERR_STATE, "5 of 5 events outstanding");
}

/* A signal was freed while what tells it was under way. Those that come to its place count what
 * tells them, and nothing else. Enough of them for the table to grow. */
static void expect_untold(void)
{
    enum { SIGNALS = 24 };
    MPIX_Signal later[SIGNALS];

    for (int i = 0; i < SIGNALS; i++) {
        MTEST_OK(MPIX_Signal_init(window, 3, &later[i]));
    }
    /* Whether all came in time is not said. */
    mtest_forgive(MPIX_Window_flush(window) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < SIGNALS; i++) {
        MTEST_KIND_TEXT(MPIX_Signal_reset(later[i]), MPIXQ_ERR_STATE, "3 of 3 events outstanding");
        MTEST_OK(MPIX_Signal_free(&later[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

#endif
