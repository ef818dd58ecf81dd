/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "put_chain.h"

#include <utlist.h>

#include "nic.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/lock.h"

bool mpixq_cxi_put_chains_have(const struct cxi_nic *nic, int n, int entries)
{
    const struct cxi_shares *shares = &nic->shares;

    return __builtin_popcount(atomic_load(&nic->free_chains)) >= n &&
           mpixq_cxi_shares_room(shares) - entries >= mpixq_cxi_shares_limit(shares) / 2;
}

struct cxi_put_chain *mpixq_cxi_put_chain_reserve(struct cxi_nic *nic)
{
    unsigned free = atomic_load(&nic->free_chains);

    while (free != 0 &&
           !atomic_compare_exchange_weak(&nic->free_chains, &free, free & (free - 1))) {
    }
    return free != 0 ? &nic->chains[__builtin_ctz(free)] : NULL;
}

void mpixq_cxi_put_chain_unreserve(struct cxi_put_chain *chain)
{
    atomic_fetch_or(&chain->nic->free_chains, 1U << chain->place);
}

struct cxi_put_chain *mpixq_cxi_put_chain_take(struct cxi_nic *nic, int entries)
{
    return mpixq_cxi_put_chains_have(nic, 0, entries) ? mpixq_cxi_put_chain_reserve(nic) : NULL;
}

void mpixq_cxi_put_chain_give(struct cxi_nic *nic, struct cxi_put_chain *chain, uint64_t counted)
{
    chain->base += counted;
    if (chain->counter->base + chain->base < nic->quirks->counter_max / 2) {
        mpixq_cxi_put_chain_unreserve(chain);
    } else {
        mpixq_cxi_put_chain_strand(nic, chain);
    }
}

void mpixq_cxi_put_chain_strand(struct cxi_nic *nic, struct cxi_put_chain *chain)
{
    chain->counter->failures = fi_cntr_readerr(chain->counter->fid);
    mpixq_cxi_counter_put(nic, chain->counter, false, 0);
    chain->counter = NULL;
    nic->n_chains--;
}

void mpixq_cxi_put_chains_close(struct cxi_nic *nic)
{
    for (int i = 0; nic->chains != NULL && i < CXI_PUT_CHAINS; i++) {
        if (nic->chains[i].counter != NULL) {
            LL_PREPEND(nic->aside, nic->chains[i].counter);
        }
    }
    mpixq_free(nic->chains);
    nic->chains = NULL;
}

/* ---- Doorbells ---- */

static bool can_spare(const struct cxi_nic *nic)
{
    return __builtin_popcount(atomic_load(&nic->free_chains)) * 4 >= nic->n_opened_chains * 3;
}

void mpixq_cxi_bells_untake(struct mpixq_nic_bell *list)
{
    struct mpixq_nic_bell *bell, *next;

    LL_FOREACH_SAFE(list, bell, next)
    {
        mpixq_cxi_put_chain_unreserve((struct cxi_put_chain *)bell);
    }
}

/* One of the NIC whose turn it is, or of another one. */
static struct cxi_put_chain *reserve_in_turn(struct cxi_nic *const nics[], int n_nics, int turn,
                                             bool for_long)
{
    struct cxi_put_chain *chain = NULL;

    for (int i = 0; chain == NULL && i < n_nics; i++) {
        struct cxi_nic *nic = nics[(turn + i) % n_nics];

        if (!for_long || can_spare(nic)) {
            chain = mpixq_cxi_put_chain_reserve(nic);
        }
    }
    return chain;
}

bool mpixq_cxi_bells_take(struct cxi_nic *const nics[], int n_nics, int n, bool for_long,
                          struct mpixq_nic_bell **list)
{
    struct mpixq_nic_bell *own = NULL, **end = &own;

    for (int i = 0; i < n; i++) {
        struct cxi_put_chain *chain = reserve_in_turn(nics, n_nics, i, for_long);

        if (chain == NULL) {
            mpixq_cxi_bells_untake(own);
            return false;
        }
        chain->bell.next = NULL;
        chain->bell.by_host = false;
        *end = &chain->bell;
        end = &chain->bell.next;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = own;
    return true;
}

/* The ring of a GPU that has passed it may be on its way to the NIC still: what waits by the chain
 * next waits for that as well. */
void mpixq_cxi_bell_give(struct mpixq_nic_bell *bell, bool is_known, uint64_t rings)
{
    struct cxi_put_chain *chain = (struct cxi_put_chain *)bell;
    struct cxi_nic *nic = chain->nic;

    mpixq_lock_acquire(&nic->lock);
    if (is_known) {
        mpixq_cxi_put_chain_give(nic, chain, rings);
    } else {
        mpixq_cxi_put_chain_strand(nic, chain);
    }
    mpixq_lock_release(&nic->lock);
}
