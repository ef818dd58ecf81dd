/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs that a queue has captured, for that queue: what a capture has started, and the end. */
#include <stddef.h>
#include <utlist.h>

#include "graphs_made.h"

int mpixq_graphs_started(const struct mpixq_queue *queue, uint64_t capture,
                         struct mpixq_pair *pairs[], int room)
{
    struct mpixq_counted *counted;
    int n = 0;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        if (atomic_load(&counted->queue) == queue && counted->capture == capture &&
            counted->is_started) {
            if (n < room) {
                pairs[n] = counted->pair;
            }
            n++;
        }
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return n;
}

/* A capture on another queue may take a pair over just now, and keeps it then. */
void mpixq_graphs_leave(struct mpixq_queue *queue)
{
    struct mpixq_counted *counted;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        struct mpixq_queue *own = queue;

        (void)atomic_compare_exchange_strong(&counted->queue, &own, NULL);
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
}
