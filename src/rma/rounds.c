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

char *mpixq_rma_rounds_open(struct mpixq_rma_rounds *rounds, struct mpixq_window *window,
                            const struct mpixq_transfer transfers[], int n,
                            const struct mpixq_stream *stream,
                            void (*stop)(struct mpixq_rma_ahead *ahead))
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;
    char *seen = NULL;

    *ahead = (struct mpixq_rma_ahead){
        .window = window, .transfers = transfers, .n = n, .forget = forget, .stop = stop};
    if (mpixq_rma_ahead_may(window) && n == 1) {
        mpixq_rma_bells_take(ahead, stream);
    }
    if (ahead->bells != NULL && ahead->bells->next == NULL) {
        seen = mpixq_exposed_to(ahead->bells->exposed, stream->kind);
    }
    if (seen != NULL) {
        rounds->bell = ahead->bells;
    } else if (ahead->bells != NULL) {
        window->direct->ops->untake_bells(ahead->bells);
    }
    return seen;
}

void mpixq_rma_rounds_undo(struct mpixq_rma_rounds *rounds)
{
    if (rounds->bell != NULL) {
        rounds->ahead.window->direct->ops->untake_bells(rounds->bell);
    }
}

void mpixq_rma_rounds_next(struct mpixq_rma_rounds *rounds, uint64_t launch)
{
    struct mpixq_window *window = rounds->ahead.window;

    if (rounds->bell == NULL || rounds->is_stopped || rounds->listed >= launch) {
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

    if (rounds->bell == NULL) {
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

    if (rounds->bell == NULL || rounds->is_stopped) {
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

/* What is held for a launch that never comes stays with the NIC, and waits for the counter, which
 * nobody may have then. */
bool mpixq_rma_rounds_end(struct mpixq_rma_rounds *rounds, uint64_t rings)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;
    bool is_clear, is_wasted;

    if (rounds->bell == NULL) {
        return true;
    }
    mpixq_lock_acquire(&ahead->window->lock);
    is_clear = !ahead->is_listed || atomic_load(&ahead->state) != MPIXQ_AHEAD_DOUBT;
    if (is_clear) {
        is_wasted = rounds->is_stopped || (ahead->is_listed && ahead->ops != NULL);
        if (ahead->is_listed) {
            mpixq_rma_ahead_settle(ahead, true);
        }
        ahead->window->direct->ops->give_bell(rounds->bell, !is_wasted, rings);
        rounds->bell = NULL;
    }
    mpixq_lock_release(&ahead->window->lock);
    return is_clear;
}

void mpixq_rma_rounds_close(struct mpixq_rma_rounds *rounds)
{
    struct mpixq_rma_ahead *ahead = &rounds->ahead;

    if (rounds->bell == NULL) {
        return;
    }
    mpixq_lock_acquire(&ahead->window->lock);
    if (ahead->is_listed) {
        mpixq_rma_ahead_settle(ahead, true);
    }
    ahead->window->direct->ops->give_bell(rounds->bell, false, 0);
    rounds->bell = NULL;
    mpixq_lock_release(&ahead->window->lock);
}
