/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains: pairs of a collective whose sends wait for the data of receives. Such a receive adds to
 * the CTS word of each such send, as a peer's clear-to-send does. doc/cxi.md, section 2.
 */
#ifndef MPIXQ_CXI_CHAIN_H
#define MPIXQ_CXI_CHAIN_H

#include "core/chains.h"
#include "cxi.h"

/* Where the NIC finds the CTS word of a send that waits for this receive. It may be freed first. */
struct cxi_released {
    uint64_t key, address;
};

extern const struct mpixq_channel_chains mpixq_cxi_chains;

/* What a start brings to the CTS word of a send, */
static inline uint64_t mpixq_cxi_clears(const struct cxi_end *end)
{
    return 1 + (uint64_t)end->awaits;
}

/* and to T. */
static inline uint64_t mpixq_cxi_rings_and_clears(const struct cxi_end *end)
{
    return 1 + mpixq_cxi_clears(end);
}

#endif
