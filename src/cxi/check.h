/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What assertions ask, with --enable-debug; doc/cxi.md, section 3, says which invariant is asserted
 * where. All under nic.lock. They look at nothing that a peer or a NIC writes: where that is not as
 * it should be, a request fails.
 */
#ifndef MPIXQ_CXI_CHECK_H
#define MPIXQ_CXI_CHECK_H

#include <assert.h>
#include <utlist.h>

#include "nic.h"

/* The list says the same as the end: it is there once, or not at all. */
static inline bool mpixq_cxi_live_holds(const struct cxi_end *end)
{
    const struct cxi_end *other;
    int n = 0;

    DL_FOREACH2(end->nic->live, other, next_live)
    {
        n += other == end;
    }
    return n == end->is_live;
}

static inline bool mpixq_cxi_over_holds(const struct cxi_end *end)
{
    const struct cxi_end *other;
    int n = 0;

    DL_FOREACH2(end->nic->over, other, next_over)
    {
        n += other == end;
    }
    return n == (end->over != 0);
}

/* The newest entry of the end, of a start that the stream has not reached or is at, comes behind
 * the others: its start is none before theirs, and on each counter thresholds only grow. Rung: it
 * waits for a ring that was made already. */
static inline bool mpixq_cxi_is_last(const struct cxi_end *end, bool rung)
{
    const struct cxi_entry *last = end->newest, *entry;

    LL_FOREACH(end->entries, entry)
    {
        if (entry->epoch > last->epoch ||
            (entry->work.triggering_cntr == last->work.triggering_cntr && !rung &&
             entry->work.threshold > last->work.threshold)) {
            return false;
        }
    }
    return last->next == NULL;
}

/* Each entry is free, or in use. */
static inline bool mpixq_cxi_entries_add_up(const struct cxi_nic *nic, int n)
{
    const struct cxi_entry *entry;
    int n_free = 0;

    DL_FOREACH(nic->free_writes, entry)
    {
        n_free++;
    }
    DL_FOREACH(nic->free_atomics, entry)
    {
        n_free++;
    }
    return n_free + nic->in_use == n;
}

/* Nobody has the counter. */
static inline bool mpixq_cxi_is_free(const struct cxi_nic *nic, const struct cxi_counter *counter)
{
    const struct cxi_counter *lists[] = {nic->counters, nic->doubtful, nic->aside};

    for (int i = 0; i < 3; i++) {
        const struct cxi_counter *other;

        LL_FOREACH(lists[i], other)
        {
            if (other == counter) {
                return true;
            }
        }
    }
    return false;
}

#endif
