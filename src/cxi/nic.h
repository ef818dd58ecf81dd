/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * One NIC: a domain and an endpoint of it, and what pairs and queues have of these. Who holds it
 * keeps it open: they reach it by the pair's end, or by the queue.
 */
#ifndef MPIXQ_CXI_NIC_H
#define MPIXQ_CXI_NIC_H

#include "cxi.h"
#include "shares.h"
#include "util/patience.h"

struct cxi_block;
struct cxi_put_chain;
struct cxi_page;
struct cxi_peer;
struct cxi_puts;

enum { CXI_ADDRESS = 64 }; /* bytes of an address, at most */

struct cxi_nic {
    struct mpixq_lock *among; /* the NICs of this process, for their shares */
    int place;                /* of those that this process has asked for, the nearest first */
    int number;               /* of those that are open: what a queue has for it stands there */
    const struct cxi_quirks *quirks;
    struct fi_info *infos, *info; /* what there is, and the one of it */
    const char *why_info, *why_no_bell, *why_no_depth, *why_no_table;
    const char *why_no_hmem; /* NULL: memory of GPUs can be registered */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;                  /* posts */
    struct fid_ep *target;              /* has the regions; NULL: ep does */
    struct fid_cq *target_cq;           /* of it; nothing comes there */
    struct fid_cntr *unused;            /* of the endpoint that posts */
    struct cxi_counter *sink;           /* completions that nobody counts */
    unsigned char address[CXI_ADDRESS]; /* of the target, as is self */
    size_t address_bytes;
    fi_addr_t self;
    _Atomic uint64_t next_key;
    enum fi_op atomic; /* FI_SUM; FI_MAX where there is no sum */
    /* The provider lets operands be named; and deferred operations without data are posted so that
     * their success makes no event, and their failure has no name. */
    bool names_operands, nameless;
    /* What atomics add, and what an empty buffer stands for: nothing is written there, but the
     * arrival is counted. Probes go there as well. */
    struct {
        uint64_t one, nowhere;
    } constants;
    /* What deferred atomics write, one for each entry, where there is no sum; NULL: they have it in
     * their entries. */
    uint64_t *operands;
    struct fid_mr *held;   /* the constants, or those, which are kept mapped; NULL: they are not */
    void *held_desc;       /* names it */
    struct fid_mr *probed; /* the region with key CXI_PROBE_KEY */
    struct cxi_exposure exposure;
    struct cxi_shares shares; /* of its entries; under the lock once it is open */

    struct mpixq_lock drive_lock; /* who has it reads completions; taken before the lock */
    unsigned scans;               /* under it */
    struct mpixq_lock lock;       /* of what follows */
    int entries, in_use;          /* all of the NIC, and those that this process uses: shares.h */
    uint64_t reads, reads_done;   /* of completions: begun, and ended */
    /* Of deferred work, and of plain operations: which may be what makes room for that. */
    struct cxi_refusals {
        unsigned in_a_row;
        uint64_t retry_ns; /* none is tried before */
    } posts, issues;
    struct cxi_entry *free_writes, *free_atomics; /* the one that is longest free first */
    struct cxi_entry *all_writes, *all_atomics;
    struct cxi_page *pages; /* of words */
    struct {
        char *memory; /* for pages, which is kept mapped; NULL: they are allocated one by one */
        int used;
        struct fid_mr *held;
    } arena;
    struct cxi_counter *counters, *doubtful, *aside;
    /* Failures without a name that were read, and those that counters have shown since; so long the
     * pairs that they are of are looked for. */
    struct {
        uint64_t read, found;
        struct mpixq_patience patience;
        bool is_over; /* as the last look at the counters began */
    } unknown;
    struct cxi_end *ends, *live, *over, *ahead, *failed;
    atomic_int n_ends[2];         /* of receives, and of sends */
    struct cxi_end *gone;         /* that no pair has any more: for whoever comes by */
    struct cxi_slots *gone_slots; /* likewise */
    struct cxi_block *blocks;     /* of slots that GPUs see: those in use, and others */
    atomic_int n_gone;            /* those included that a thread has taken */
    atomic_int n_slots;           /* receives that have some; without the lock too */
    atomic_uint told;             /* bits of stripe.c: reasons that MPIXQ_INFO has told once */
    struct cxi_queue *queues, host;
    struct cxi_peer *peers;       /* whose address is in the address vector */
    struct cxi_ahead *ahead_left; /* of ends that are gone: the NIC may write their words */
    struct cxi_puts *puts_left;   /* of windows that are gone: not all of them are over */
    /* Of puts of windows: those that nobody uses; and whether they were asked for. */
    struct cxi_put_chain *chains;  /* CXI_PUT_CHAINS; NULL: none */
    atomic_uint free_chains;       /* bits, without the lock */
    int n_chains, n_opened_chains; /* of all that were opened those that are in use still */
    bool has_asked_chains;
    bool chains_gets;            /* also those of gets */
    atomic_int n_own_rings;      /* counters R of ends whose starts GPUs count */
    atomic_int n_puts, n_probes; /* of windows, and under way; read without the lock too */
    atomic_int n_over, flying;   /* ends in over, plain operations; read without the lock too */
    uint64_t starts;             /* executed */
    struct {
        uint64_t pairs, direct, eager, rung_by_gpus, armed, taken_over, set_aside;
        unsigned cancelled; /* writes that were armed and never started */
        int most_in_use;
        int left; /* notices and completions behind such writes, that stay with the NIC */
    } counts;     /* for MPIXQ_INFO */
};

/* What to open. */
struct cxi_wish {
    const struct cxi_quirks *quirks;
    int place;             /* from 0 */
    const char *gpu;       /* of the process, which it is to be near to; or empty */
    const char *gpus_lack; /* for their memory; or NULL: it is registered where the NIC takes it */
    struct mpixq_lock *among; /* all that are opened */
};

/* Open one. NULL, and *why_p; NULL there too: there are less NICs. */
struct cxi_nic *mpixq_cxi_nic_new(const struct cxi_wish *wish, const char **why_p);
void mpixq_cxi_nic_free(struct cxi_nic *nic);

/* ops.c; under nic.lock: has it room for what the host does now? And what the host's attempt, or a
 * post, came to: -FI_EAGAIN if it is to be made again later. */
bool mpixq_cxi_may_issue(const struct cxi_nic *nic);
int mpixq_cxi_held(struct cxi_refusals *refusals, int rc);
/* Likewise: hand over work that is filled; and what that came to. */
int mpixq_cxi_defer(struct cxi_nic *nic, struct fi_deferred_work *work);

/* Does something that a wait may depend on need the host? */
static inline bool mpixq_cxi_needs_host(const struct cxi_nic *nic)
{
    return nic->quirks->software || atomic_load(&nic->n_over) > 0 || atomic_load(&nic->flying) > 0;
}

/* The endpoint that regions belong to, and that peers know the address of. */
static inline struct fid_ep *mpixq_cxi_target(const struct cxi_nic *nic)
{
    return nic->target != NULL ? nic->target : nic->ep;
}

#endif
