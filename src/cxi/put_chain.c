/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "put_chain.h"

#include <utlist.h>

#include "nic.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"

bool mpixq_cxi_put_chains_have(const struct cxi_nic *nic, int n, int entries)
{
    const struct cxi_shares *shares = &nic->shares;
    const struct cxi_put_chain *chain = nic->chains;

    for (; n > 0 && chain != NULL; n--) {
        chain = chain->next;
    }
    return n == 0 && mpixq_cxi_shares_room(shares) - entries >= mpixq_cxi_shares_limit(shares) / 2;
}

struct cxi_put_chain *mpixq_cxi_put_chain_take(struct cxi_nic *nic, int entries)
{
    struct cxi_put_chain *chain = nic->chains;

    if (!mpixq_cxi_put_chains_have(nic, 1, entries)) {
        return NULL;
    }
    LL_DELETE(nic->chains, chain);
    return chain;
}

void mpixq_cxi_put_chain_give(struct cxi_nic *nic, struct cxi_put_chain *chain, uint64_t counted)
{
    chain->base += counted;
    if (chain->counter->base + chain->base < nic->quirks->counter_max / 2) {
        LL_PREPEND(nic->chains, chain);
    } else {
        mpixq_cxi_put_chain_strand(nic, chain);
    }
}

void mpixq_cxi_put_chain_strand(struct cxi_nic *nic, struct cxi_put_chain *chain)
{
    chain->counter->failures = fi_cntr_readerr(chain->counter->fid);
    mpixq_cxi_counter_put(nic, chain->counter, false, 0);
    mpixq_free(chain);
    nic->n_chains--;
}

void mpixq_cxi_put_chains_close(struct cxi_nic *nic)
{
    struct cxi_put_chain *chain, *next;

    LL_FOREACH_SAFE(nic->chains, chain, next)
    {
        LL_PREPEND(nic->aside, chain->counter);
        mpixq_free(chain);
    }
    nic->chains = NULL;
}
