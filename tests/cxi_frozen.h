/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_frozen.h - what the tests have in common in which the stream's executor alone runs on each
 * rank, and all other threads are stopped (freezer.h) until the stream has come to its end
 */
#ifndef MTEST_CXI_FROZEN_H
#define MTEST_CXI_FROZEN_H

#include "cxi_hooks.h"
#include "freezer.h"
#include "mtest.h"

enum { FROZEN_RANKS = 8 };

/* Shared by the ranks. */
static struct {
    atomic_int frozen[FROZEN_RANKS], done[FROZEN_RANKS];
    atomic_int come[FROZEN_RANKS]; /* of rounds, where they are counted */
} * all;

static atomic_int executor;
static const struct cxi_double_hooks *hooks;
static uint64_t calls, stores;  /* of the executor while all else is stopped */
static int round_number, wrong; /* of what the stream does, and what it finds */

/* The NIC, and the GPU, if the stream is one of a GPU. */
static const char *const devices[] = {"cxi_double", "hip_double", NULL};
/* The worker of a GPU's stream sleeps and looks in turn until the stream goes on, and holds nothing
 * meanwhile that these need. */
static const char *const never_quiet[] = {"cxi_double", "hip_double", "mpixq-stream", NULL};

static void all_reach(atomic_int *flags)
{
    unsigned tries = 0;

    atomic_store(&flags[mtest_rank], 1);
    for (int rank = 0; rank < mtest_size;) {
        if (atomic_load(&flags[rank]) != 0 || freezer_state() >= FREEZER_THAWED) {
            rank++;
        } else {
            mtest_backoff(&tries);
        }
    }
}

/* Functions on the stream: who it is; before, and after, what is to be done alone. */

static void say_who(void *arg)
{
    (void)arg;
    atomic_store(&executor, (int)gettid());
}

static void hold(void *arg)
{
    unsigned tries = 0;

    (void)arg;
    while (freezer_state() < FREEZER_FROZEN) {
        mtest_backoff(&tries);
    }
    all_reach(all->frozen);
    calls = hooks->calls();
    stores = hooks->stores();
}

static void finish(void *arg)
{
    (void)arg;
    calls = hooks->calls() - calls;
    stores = hooks->stores() - stores;
    all_reach(all->done);
    freezer_let_go();
}

/* So many rounds were to be made. True: they were, by nobody but the executor, whose stores are
 * still to be judged. */
static bool judge_frozen(enum freezer_state state, int rounds, bool expects_cpu)
{
    if (state == FREEZER_REFUSED) {
        mtest_skip("this system does not let a process trace its parent");
        return false;
    }
    MTEST_EQ(wrong, 0);
    MTEST_CHECK(freezer_count() >= 2); /* this thread and the progress thread */
    if (expects_cpu) {
        MTEST_CHECK(state == FREEZER_TIMED_OUT || calls > 0);
        return false;
    }
    MTEST_EQ(state, FREEZER_THAWED);
    MTEST_EQ(round_number, rounds);
    MTEST_EQ(calls, 0);
    return true;
}

#endif
