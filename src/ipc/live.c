/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ends whose starts are under way. GPUs complete them without the host, but it is the host that
 * hears of a peer which fails or ends, so the progress thread stays awake for as long. */
#include <utlist.h>

#include "process.h"
#include "util/progress.h"

/* Under the lock. */
static void set_live(struct ipc_end *end, bool is_live)
{
    if (end->is_live == is_live) {
        return;
    }
    end->is_live = is_live;
    if (is_live) {
        DL_APPEND2(mpixq_ipc.live.first, end, prev_live, next_live);
        atomic_fetch_add(&mpixq_progress.outstanding, 1);
    } else {
        DL_DELETE2(mpixq_ipc.live.first, end, prev_live, next_live);
        atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    }
}

static bool is_over(const struct ipc_end *end)
{
    return ipc_done(end) >= mpixq_pair_executed(end->pair) || mpixq_pair_has_failed(end->pair);
}

void mpixq_ipc_note_starts(void *const args[], int n)
{
    mpixq_lock_acquire(&mpixq_ipc.live.lock);
    for (int i = 0; i < n; i++) {
        set_live(((const struct mpixq_pair *)args[i])->end, true);
    }
    mpixq_lock_release(&mpixq_ipc.live.lock);
    mpixq_progress_wake();
}

void mpixq_ipc_drive(void)
{
    struct ipc_end *end, *next;

    mpixq_lock_acquire(&mpixq_ipc.live.lock);
    DL_FOREACH_SAFE2(mpixq_ipc.live.first, end, next, next_live)
    {
        if (is_over(end)) {
            set_live(end, false);
        }
    }
    mpixq_lock_release(&mpixq_ipc.live.lock);
}

void mpixq_ipc_drop(struct ipc_end *end)
{
    mpixq_lock_acquire(&mpixq_ipc.live.lock);
    set_live(end, false);
    mpixq_lock_release(&mpixq_ipc.live.lock);
}
