/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "put_chain.h"

#include <utlist.h>

#include "nic.h"
#include "process.h"
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

void mpixq_cxi_bells_untake(struct mpixq_nic_bell *list)
{
    struct mpixq_nic_bell *bell, *next;

    LL_FOREACH_SAFE(list, bell, next)
    {
        mpixq_cxi_put_chain_unreserve((struct cxi_put_chain *)bell);
    }
}

/* To the end of the list, and that is there from then on. False: the NIC has none. */
static bool reserve(struct cxi_nic *nic, struct mpixq_nic_bell ***end)
{
    struct cxi_put_chain *chain = mpixq_cxi_put_chain_reserve(nic);

    if (chain == NULL) {
        return false;
    }
    chain->bell.next = NULL;
    chain->bell.by_host = false;
    **end = &chain->bell;
    *end = &chain->bell.next;
    return true;
}

struct mpixq_nic_bell *mpixq_cxi_bells_take(struct cxi_nic *const nics[], int n_nics, int n)
{
    struct mpixq_nic_bell *list = NULL, **end = &list;

    for (int i = 0; i < n; i++) {
        bool has = false;

        for (int k = 0; !has && k < n_nics; k++) { /* that whose turn it is, or another one */
            has = reserve(nics[(i + k) % n_nics], &end);
        }
        if (!has) {
            mpixq_cxi_bells_untake(list);
            return NULL;
        }
    }
    return list;
}

const struct mpixq_nic_bell *mpixq_cxi_bells_of(const struct mpixq_nic_bell *list,
                                                const struct cxi_nic *nic)
{
    while (list != NULL && ((const struct cxi_put_chain *)list)->nic != nic) {
        list = list->next;
    }
    return list;
}

/* What is held for a launch may be so for long, and is lost if that never comes: of several parts
 * it leaves others half of all. */
int mpixq_cxi_bells_need(const struct cxi_nic *nic, int parts)
{
    return parts + (parts > 1 ? nic->n_opened_chains / 2 : 0);
}

_Static_assert((int)CXI_NICS <= (int)MPIXQ_NIC_BELLS, "as many as there may be");

/* Those of which most are free. Returns how many. */
static int find_spare(struct cxi_nic *const nics[], int n_nics, struct cxi_nic *found[])
{
    int n = 0;

    for (int i = 0; i < n_nics; i++) {
        if (__builtin_popcount(atomic_load(&nics[i]->free_chains)) * 4 >=
            nics[i]->n_opened_chains * 3) {
            found[n++] = nics[i];
        }
    }
    return n;
}

struct mpixq_nic_bell *mpixq_cxi_bells_keep(struct cxi_nic *const nics[], int n_nics, int parts)
{
    struct mpixq_nic_bell *list = NULL, **end = &list;
    struct cxi_nic *spare[CXI_NICS];
    int n = find_spare(nics, n_nics, spare), each;
    bool all = n > 0;

    n = n < parts ? n : parts;
    each = all ? (parts - 1) / n + 1 : 0;
    for (int i = 0; all && i < n; i++) {
        all = mpixq_cxi_bells_need(spare[i], each) < spare[i]->n_opened_chains &&
              reserve(spare[i], &end);
    }
    if (!all) {
        mpixq_cxi_bells_untake(list);
        return NULL;
    }
    return list;
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
