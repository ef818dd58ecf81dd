/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * lock_check.c - the order of the locks, checked in builds with --enable-debug: each thread knows
 * what it holds
 */
#include <stddef.h>
#include <stdlib.h>

#include "lock.h"
#include "log.h"
#include "thread.h"

/* More than are ever held at a time: a path of the order, and those of trylock. */
enum { MOST_HELD = 16 };

/* In the order in which they were taken, which is not that of the ranks where a lock was tried. */
static MPIXQ_THREAD_LOCAL struct {
    int n;
    struct {
        const void *lock;
        enum mpixq_lock_rank rank;
    } of[MOST_HELD];
} held;

static const char *const names[] = {
    [MPIXQ_RANK_NONE] = "no lock",
#define MPIXQ_LOCK(name, guards) [MPIXQ_RANK_##name] = #name " (" guards ")",
#include "lock_defs.h"
#undef MPIXQ_LOCK
};

void mpixq_lock_check(enum mpixq_lock_rank rank)
{
    for (int i = held.n - 1; i >= 0; i--) {
        if (rank <= held.of[i].rank) {
            mpixq_log(MPIXQ_LOG_ERROR, "locks: %s is taken under %s, which has rank %d and it %d",
                      names[rank], names[held.of[i].rank], (int)held.of[i].rank, (int)rank);
            abort();
        }
    }
}

void mpixq_lock_note(const void *lock, enum mpixq_lock_rank rank)
{
    if (held.n == MOST_HELD) {
        mpixq_log(MPIXQ_LOG_ERROR, "locks: %s is one too many for a thread", names[rank]);
        abort();
    }
    held.of[held.n].lock = lock;
    held.of[held.n].rank = rank;
    held.n++;
}

void mpixq_lock_forget(const void *lock, enum mpixq_lock_rank rank)
{
    int i = held.n - 1;

    while (i >= 0 && held.of[i].lock != lock) {
        i--;
    }
    if (i < 0) {
        mpixq_log(MPIXQ_LOG_ERROR, "locks: %s is released by a thread that does not hold it",
                  names[rank]);
        abort();
    }
    held.n--;
    for (; i < held.n; i++) {
        held.of[i] = held.of[i + 1];
    }
}
