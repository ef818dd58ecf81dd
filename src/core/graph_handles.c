/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs that handles for kernels of the program have: a handle holds one as a graph does. How long
 * what GPUs tell of starts is waited for, and what they are told of the free of a request. */
#include <stddef.h>
#include <utlist.h>

#include "channel.h"
#include "graphs_made.h"
#include "request.h"
#include "util/backoff.h"
#include "util/patience.h"

void mpixq_graphs_take(struct mpixq_pair *pair)
{
    struct mpixq_counted *counted = atomic_load(&pair->counted);

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    counted->n_graphs++;
    counted->n_handles++;
    mpixq_lock_release(&mpixq_graphs_made.lock);
}

/* Under the lock. */
static struct mpixq_counted *find_handled(uint64_t id)
{
    struct mpixq_counted *counted;

    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        if (counted->pair->id == id && counted->n_handles > 0) {
            break;
        }
    }
    return counted;
}

void mpixq_graphs_give_back(uint64_t id)
{
    struct mpixq_counted *counted;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    counted = find_handled(id);
    if (counted != NULL) {
        counted->n_graphs--;
        counted->n_handles--;
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
}

static enum mpixq_handled look_at_handled(void *id_p)
{
    uint64_t id = *(const uint64_t *)id_p;
    enum mpixq_handled taken = MPIXQ_HANDLED_UNKNOWN;
    const struct mpixq_counted *counted;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    counted = find_handled(id);
    if (counted != NULL) {
        taken =
            mpixq_graphs_have_started(counted->pair) ? MPIXQ_HANDLED_ACTIVE : MPIXQ_HANDLED_IDLE;
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return taken;
}

static enum mpixq_handled look_at_pair(void *pair)
{
    return mpixq_graphs_have_started(pair) ? MPIXQ_HANDLED_ACTIVE : MPIXQ_HANDLED_IDLE;
}

static enum mpixq_handled look_for_a_while(enum mpixq_handled (*look)(void *arg), void *arg)
{
    enum { PATIENCE_NS = 500000000 };
    enum mpixq_handled seen = look(arg);
    struct mpixq_patience patience;
    struct mpixq_backoff backoff;

    if (seen != MPIXQ_HANDLED_ACTIVE) {
        return seen;
    }
    mpixq_patience_begin(&patience, mpixq_now_ns(), PATIENCE_NS);
    mpixq_backoff_begin(&backoff);
    while (seen == MPIXQ_HANDLED_ACTIVE && mpixq_patience_goes_on(&patience, mpixq_now_ns())) {
        mpixq_backoff_pause(&backoff);
        seen = look(arg);
    }
    return seen;
}

enum mpixq_handled mpixq_graphs_find_handled(uint64_t id)
{
    return look_for_a_while(look_at_handled, &id);
}

bool mpixq_graphs_keep_started_slow(struct mpixq_pair *pair)
{
    return look_for_a_while(look_at_pair, pair) == MPIXQ_HANDLED_ACTIVE;
}

void mpixq_graphs_stop(struct mpixq_pair *pair)
{
    const struct mpixq_counted *counted = atomic_load(&pair->counted);

    if (counted != NULL &&
        (counted->tally != NULL || pair->owner->is_collective || mpixq_graphs_have(pair))) {
        pair->channel->graphs->close(pair);
    }
    mpixq_graphs_refresh(pair);
}

void mpixq_graphs_fence(void)
{
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    mpixq_lock_release(&mpixq_graphs_made.lock);
}
