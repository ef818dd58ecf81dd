/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "rounds.h"

#include "bells.h"
#include "rights.h"
#include "stream/op.h"
#include "stream/stream.h"
#include "util/progress.h"

/* It is known by what is listed. */
static void forget(struct mpixq_rma_ahead *ahead)
{
    (void)ahead;
}

void mpixq_rma_rounds_open(struct mpixq_rma_rounds *rounds, struct mpixq_window *window,
                           const struct mpixq_transfer transfers[], int n,
                           const struct mpixq_stream *stream,
                           void (*stop)(struct mpixq_rma_ahead *ahead))
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;

    *ahead = (struct mpixq_rma_ahead){
        .window = window, .transfers = transfers, .n = n, .forget = forget, .stop = stop};
    if (mpixq_rma_ahead_may(window)) {
        mpixq_rma_bells_take(ahead, stream);
    }
    rounds->bells = ahead->bells;
}

int mpixq_rma_rounds_bells(const struct mpixq_rma_rounds *rounds, const struct mpixq_stream *stream,
                           char *at[])
{
    int n = 0;

    for (const struct mpixq_nic_bell *bell = rounds->bells; bell != NULL; bell = bell->next) {
        at[n++] = mpixq_exposed_to(bell->exposed, stream->kind);
    }
    return n;
}

void mpixq_rma_rounds_undo(struct mpixq_rma_rounds *rounds)
{
    if (rounds->bells != NULL) {
        rounds->ahead.window->direct->ops->untake_bells(rounds->bells);
    }
}

/* Under the lock. */
static void give_bells(struct mpixq_rma_rounds *rounds, bool is_known, uint64_t rings)
{
    struct mpixq_nic_bell *bell = rounds->bells, *next;

    for (; bell != NULL; bell = next) {
        next = bell->next;
        rounds->ahead.window->direct->ops->give_bell(bell, is_known, rings);
    }
    rounds->bells = NULL;
}

void mpixq_rma_rounds_next(struct mpixq_rma_rounds *rounds, uint64_t launch)
{
    struct mpixq_window *window = rounds->ahead.window;

    if (rounds->bells == NULL || rounds->is_stopped || rounds->listed >= launch) {
        return;
    }
    mpixq_lock_acquire(&window->lock);
    rounds->ahead.ring = rounds->listed = launch;
    mpixq_rma_ahead_list(&rounds->ahead);
    mpixq_lock_release(&window->lock);
    mpixq_progress_wake();
}

bool mpixq_rma_rounds_came(struct mpixq_rma_rounds *rounds)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;
    bool is_held;

    if (rounds->bells == NULL) {
        return false;
    }
    mpixq_lock_acquire(&ahead->window->lock);
    is_held = ahead->is_listed && atomic_load(&ahead->state) == MPIXQ_AHEAD_HELD;
    if (is_held) {
        mpixq_rma_ahead_open(ahead);
    } else if (ahead->is_listed) {
        mpixq_rma_ahead_settle(ahead, false);
    }
    mpixq_lock_release(&ahead->window->lock);
    return is_held;
}

void mpixq_rma_rounds_stop(struct mpixq_rma_rounds *rounds)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;

    if (rounds->bells == NULL || rounds->is_stopped) {
        return;
    }
    rounds->is_stopped = true;
    mpixq_lock_acquire(&ahead->window->lock);
    if (ahead->is_listed && atomic_load(&ahead->state) == MPIXQ_AHEAD_HELD) {
        ahead->since_ns = mpixq_now_ns();
        atomic_store(&ahead->state, MPIXQ_AHEAD_DOUBT);
    } else if (ahead->is_listed) {
        mpixq_rma_ahead_settle(ahead, true);
    }
    mpixq_lock_release(&ahead->window->lock);
}

/* What is held for a launch that never comes stays with the NIC, and waits for its counter, which
 * nobody may have then. */
bool mpixq_rma_rounds_end(struct mpixq_rma_rounds *rounds, uint64_t rings)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;
    bool is_clear, is_wasted;

    if (rounds->bells == NULL) {
        return true;
    }
    mpixq_lock_acquire(&ahead->window->lock);
    is_clear = !ahead->is_listed || atomic_load(&ahead->state) != MPIXQ_AHEAD_DOUBT;
    if (is_clear) {
        is_wasted = rounds->is_stopped || (ahead->is_listed && ahead->ops != NULL);
        if (ahead->is_listed) {
            mpixq_rma_ahead_settle(ahead, true);
        }
        give_bells(rounds, !is_wasted, rings);
    }
    mpixq_lock_release(&ahead->window->lock);
    return is_clear;
}

void mpixq_rma_rounds_close(struct mpixq_rma_rounds *rounds)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;

    if (rounds->bells == NULL) {
        return;
    }
    mpixq_lock_acquire(&ahead->window->lock);
    if (ahead->is_listed) {
        mpixq_rma_ahead_settle(ahead, true);
    }
    give_bells(rounds, false, 0);
    mpixq_lock_release(&ahead->window->lock);
}
