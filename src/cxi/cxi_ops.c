/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The extensions of libfabric's provider cxi that the channel uses. Without them it works as well:
 * libfabric's own call rings, and the table of quirks says how many entries there are. */
#include "cxi_ext.h"
#include "libfabric.h"
#include "nic.h"
#include "supply.h"

/* No NIC has more entries. Of a domain for which none are reserved the provider subtracts its own
 * from nothing, and shows the result as a size. */
enum { MAX_DEPTH = 2048 };

volatile _Atomic uint64_t *mpixq_cxi_bell(const struct cxi_nic *nic, struct fid_cntr *cntr,
                                          const char **why_p)
{
    struct fi_cxi_cntr_ops *ops = NULL;
    void *page = NULL;
    size_t bytes = 0;
    int rc;

    if (!nic->quirks->has_bells) {
        *why_p = "the provider has no doorbells";
        return NULL;
    }
    rc = fi_open_ops(&cntr->fid, FI_CXI_COUNTER_OPS, 0, (void **)&ops, NULL);
    rc = rc ? rc : ops->get_mmio_addr(&cntr->fid, &page, &bytes);
    if (rc != 0 || page == NULL) {
        *why_p = rc != 0 ? mpixq_cxi_strerror(rc) : "the provider gives no address";
        return NULL;
    }
    return (volatile _Atomic uint64_t *)((char *)page + MPIXQ_CXI_BELL_ADD);
}

int mpixq_cxi_depth(const struct cxi_nic *nic, const char **why_p)
{
    struct fi_cxi_dom_ops *ops = NULL;
    size_t depth = 0;
    int rc;

    if (!nic->quirks->has_depth) {
        *why_p = "the provider has no limit";
        return -1;
    }
    /* Any of the names opens a table that has it. */
    rc = fi_open_ops(&nic->domain->fid, FI_CXI_DOM_OPS_6, 0, (void **)&ops, NULL);
    rc = rc ? rc : ops->get_dwq_depth(&nic->domain->fid, &depth);
    if (rc != 0) {
        *why_p = mpixq_cxi_strerror(rc);
        return -1;
    }
    if (depth > MAX_DEPTH) {
        *why_p = "no entries are reserved for the job";
        return 0;
    }
    return (int)depth;
}

bool mpixq_cxi_names_operands(const struct cxi_nic *nic)
{
    struct fi_cxi_dom_ops *ops = NULL;

    return nic->quirks->has_hybrid &&
           fi_open_ops(&nic->domain->fid, FI_CXI_DOM_OPS_6, 0, (void **)&ops, NULL) == 0 &&
           ops->enable_hybrid_mr_desc(&nic->domain->fid, true) == 0;
}
