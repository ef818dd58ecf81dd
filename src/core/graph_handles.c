/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs that handles for kernels of the program have: a handle holds one as a graph does. */
#include <stddef.h>
#include <utlist.h>

#include "channel.h"
#include "graphs_made.h"

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

enum mpixq_handled mpixq_graphs_find_handled(uint64_t id)
{
    enum mpixq_handled taken = MPIXQ_HANDLED_UNKNOWN;
    const struct mpixq_counted *counted;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    counted = find_handled(id);
    if (counted != NULL) {
        (void)counted->pair->channel->graphs->refresh(counted->pair);
        taken = mpixq_pair_is_in_flight(counted->pair) && !mpixq_pair_has_failed(counted->pair)
                    ? MPIXQ_HANDLED_ACTIVE
                    : MPIXQ_HANDLED_IDLE;
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return taken;
}
