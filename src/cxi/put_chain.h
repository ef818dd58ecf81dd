/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains: counters by which the operations of one put or get wait for a ring and for each other,
 * without the host. Of each NIC there are a few, for all windows; a put has one to itself, as a
 * counter says how many operations have completed, and not which. doc/cxi.md, section 2, Puts.
 */
#ifndef MPIXQ_CXI_PUT_CHAIN_H
#define MPIXQ_CXI_PUT_CHAIN_H

#include "core/windows.h"
#include "cxi.h"

enum { CXI_PUT_CHAINS = 32 /* of a process on a NIC, at most */ };

struct cxi_put_chain {
    struct mpixq_nic_bell bell; /* of it, for streams of GPUs */
    struct cxi_nic *nic;
    struct cxi_counter *counter; /* NULL: it is out of use */
    uint64_t base;               /* what it has come to when nothing of a put is under way */
    int place;                   /* among those of the NIC */
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
/* Any thread, with no lock: one for what is not known yet, or NULL; and that it was not used. */
struct cxi_put_chain *mpixq_cxi_put_chain_reserve(struct cxi_nic *nic);
void mpixq_cxi_put_chain_unreserve(struct cxi_put_chain *chain);
/* Chains that streams of GPUs will ring for (core/windows.h), before anything is posted: any
 * thread, with no lock. So many, of each of so many NICs in turn. NULL: they have not as many. */
struct mpixq_nic_bell *mpixq_cxi_bells_take(struct cxi_nic *const nics[], int n_nics, int n);
/* One of each NIC that is to have some of so many parts again and again: of those of which three in
 * four are free. NULL: there are none, or have too few. */
struct mpixq_nic_bell *mpixq_cxi_bells_keep(struct cxi_nic *const nics[], int n_nics, int parts);
/* That of this NIC; or NULL. */
const struct mpixq_nic_bell *mpixq_cxi_bells_of(const struct mpixq_nic_bell *list,
                                                const struct cxi_nic *nic);
/* So many chains are to be free where so many parts are held by one that is kept. */
int mpixq_cxi_bells_need(const struct cxi_nic *nic, int parts);
void mpixq_cxi_bells_untake(struct mpixq_nic_bell *list);
/* Any thread. Nothing waits for it. Was it rung so often, and no more? Else it may be at any time.
 */
void mpixq_cxi_bell_give(struct mpixq_nic_bell *bell, bool is_known, uint64_t rings);
/* All that was posted is over, and has added so much. */
void mpixq_cxi_put_chain_give(struct cxi_nic *nic, struct cxi_put_chain *chain, uint64_t counted);
/* Something stays with the NIC, and waits for it for ever. */
void mpixq_cxi_put_chain_strand(struct cxi_nic *nic, struct cxi_put_chain *chain);

#endif
