/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts that a GPU counts, armed ahead of it. A kernel does not ask whether its start is armed: it
 * rings, and what is posted behind the ring is executed at once. */
#include "ahead.h"

#include <utlist.h>

#include "nic.h"

enum {
    STARTS = 2,     /* of a pair that are armed ahead */
    CANCELLED = 256 /* writes, in all, after which no more are armed */
};

/* Half of the entries are left for starts that were made. */

static bool has_room(const struct cxi_end *end)
{
    const struct cxi_shares *shares = &end->nic->shares;
    int n = (int)mpixq_cxi_n_ops(end), limit = mpixq_cxi_shares_limit(shares);

    return mpixq_cxi_shares_room(shares) - n >= limit / 2 &&
           (!end->is_send || !end->delivered || end->nic->counts.left < limit / 4) &&
           end->nic->counts.cancelled < CANCELLED;
}

/* Those from before come first. */
static bool may_arm(const struct cxi_end *end, const struct cxi_ahead *ahead)
{
    uint64_t executed = mpixq_pair_executed(end->pair);

    return end->settled >= ahead->floor && executed >= ahead->floor &&
           end->settled < executed + STARTS && !end->failed && !mpixq_pair_has_failed(end->pair);
}

void mpixq_cxi_arm_ahead(struct cxi_nic *nic)
{
    struct cxi_end *end;

    DL_FOREACH2(nic->ahead, end, next_ahead)
    {
        const struct cxi_ahead *ahead = atomic_load(&end->ahead);

        while (may_arm(end, ahead) && has_room(end) &&
               mpixq_cxi_arm(&nic->host, end, mpixq_cxi_own_rings(end, end->settled + 1))) {
        }
    }
}

void mpixq_cxi_ahead_stop(struct cxi_end *end)
{
    struct cxi_ahead *ahead = atomic_load(&end->ahead);

    if (ahead != NULL && ahead->is_listed) {
        ahead->is_listed = false;
        DL_DELETE2(end->nic->ahead, end, prev_ahead, next_ahead);
    }
}
