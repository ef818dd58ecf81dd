/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains: counters by which the operations of one put or get wait for a ring and for each other,
 * without the host. Of each NIC there are a few, for all windows; a put has one to itself, as a
 * counter says how many operations have completed, and not which. doc/cxi.md, section 2, Puts.
 */
#ifndef MPIXQ_CXI_PUT_CHAIN_H
#define MPIXQ_CXI_PUT_CHAIN_H

#include "cxi.h"

struct cxi_put_chain {
    struct cxi_counter *counter;
    uint64_t base; /* what it has come to when nothing of a put is under way */
    struct cxi_put_chain *next;
};

/* put_chain_open.c. Threads of the program, with no lock: have some, once, if the NIC is one whose
 * chains stop at a failure. May take some round trips. */
void mpixq_cxi_put_chains_open(struct cxi_nic *nic);

/* put_chain.c. After the endpoint was closed. */
void mpixq_cxi_put_chains_close(struct cxi_nic *nic);
/* Under nic.lock. Are there so many, and so many entries for what they are of, half of these being
 * left for pairs? */
bool mpixq_cxi_put_chains_have(const struct cxi_nic *nic, int n, int entries);
/* NULL: there is none, or are not so many entries for what it is of. */
struct cxi_put_chain *mpixq_cxi_put_chain_take(struct cxi_nic *nic, int entries);
/* All that was posted is over, and has added so much. */
void mpixq_cxi_put_chain_give(struct cxi_nic *nic, struct cxi_put_chain *chain, uint64_t counted);
/* Something stays with the NIC, and waits for it for ever. */
void mpixq_cxi_put_chain_strand(struct cxi_nic *nic, struct cxi_put_chain *chain);

#endif
