/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ends whose starts a GPU counts (counted.h), and what is armed for them before anybody starts:
 * a kernel that starts rings their doorbells itself, and the NIC writes the word that kernels wait
 * for. doc/cxi.md, section 2.
 */
#ifndef MPIXQ_CXI_AHEAD_H
#define MPIXQ_CXI_AHEAD_H

#include "core/tally.h"
#include "cxi.h"

/* equip.c: the channel's equip. */
void mpixq_cxi_equip(struct mpixq_pair *pair, struct mpixq_queue *queue, struct mpixq_tally *tally);
/* Under nic.lock: arm what may be started next. */
void mpixq_cxi_arm_ahead(struct cxi_nic *nic);
/* Under nic.lock: the pair is not started any more, so nothing more is armed. */
void mpixq_cxi_ahead_stop(struct cxi_end *end);
/* The pair is gone, all of its starts are done, and peers reach nothing of the end: have the NIC
 * let go of what is armed and will never be started. With no lock. Blocks until the NIC has
 * answered. True: there was some, and it has. */
bool mpixq_cxi_disarm(struct cxi_end *end, uint64_t starts);
/* The end goes: under nic.lock the counter; and, without it, the rest. Left: the NIC still has
 * operations of it, so its word stays until the NIC is closed. */
void mpixq_cxi_ahead_put(struct cxi_end *end, bool clean, uint64_t starts);
void mpixq_cxi_ahead_free(struct cxi_end *end, bool left);
void mpixq_cxi_ahead_close(struct cxi_nic *nic); /* before the endpoint */

/* What the counters of odd starts, and of others, have counted by that. */
static inline uint64_t mpixq_cxi_extra(const struct cxi_end *end, unsigned odd)
{
    const struct cxi_ahead *ahead = atomic_load_explicit(&end->ahead, memory_order_acquire);

    return ahead != NULL ? ahead->extra[odd] : 0;
}

/* NULL: this start is an older one, or none is counted. */
static inline const struct cxi_ahead *mpixq_cxi_ahead_of(const struct cxi_end *end, uint64_t epoch)
{
    const struct cxi_ahead *ahead = atomic_load_explicit(&end->ahead, memory_order_acquire);

    return __builtin_expect(ahead != NULL, false) && epoch > ahead->floor ? ahead : NULL;
}

/* The counter that a start rings by itself. NULL: that of its queue, or none. */
static inline struct cxi_counter *mpixq_cxi_ring_of(const struct cxi_end *end, uint64_t epoch)
{
    const struct cxi_ahead *ahead = mpixq_cxi_ahead_of(end, epoch);

    if (ahead != NULL && ahead->ring != NULL) {
        return ahead->ring;
    }
    return end->shared ? NULL : end->trigger; /* of an eager send T only counts clear-to-sends */
}

static inline bool mpixq_cxi_rings_queue(const struct cxi_end *end, uint64_t epoch)
{
    return end->shared && mpixq_cxi_ring_of(end, epoch) == NULL;
}

/* What R has come to when the start has been rung for; 0: it does not ring R. */
static inline uint64_t mpixq_cxi_own_rings(const struct cxi_end *end, uint64_t epoch)
{
    const struct cxi_ahead *ahead = mpixq_cxi_ahead_of(end, epoch);

    return ahead != NULL && ahead->ring != NULL ? epoch - ahead->floor : 0;
}

#endif
