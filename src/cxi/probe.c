/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Is the peer there? A write of no bytes into a region that every process has, and that counts
 * nothing. A NIC answers for a process that is stopped or busy; for one that has ended, or a node
 * that is gone, the write fails. At most one is under way to each peer. Under the matching lock,
 * and nic.lock where completions come in. */
#include "probe.h"

#include "core/lock.h"

#define nic mpixq_cxi_nic

enum { ENOUGH = 2 }; /* failures in a row: one may be a trouble of the network that passes */

/* Under nic.lock. What cannot be issued now is issued at a later look. */
static void issue(struct cxi_probe *probe, fi_addr_t peer)
{
    static char nothing;
    struct cxi_entry *entry = &probe->entry;

    entry->probe = probe;
    entry->u.write.local = (struct iovec){.iov_base = &nothing, .iov_len = 0};
    entry->u.write.remote = (struct fi_rma_iov){.addr = 0, .len = 0, .key = CXI_PROBE_KEY};
    entry->u.write.op = (struct fi_op_rma){.ep = nic.ep,
                                           .msg = {.msg_iov = &entry->u.write.local,
                                                   .iov_count = 1,
                                                   .addr = peer,
                                                   .rma_iov = &entry->u.write.remote,
                                                   .rma_iov_count = 1,
                                                   .context = &entry->work.context}};
    probe->flying = fi_writemsg(nic.ep, &entry->u.write.op.msg, FI_COMPLETION) == 0;
}

bool mpixq_cxi_has_lost(struct mpixq_pair *pair)
{
    const struct cxi_end *end = pair->end;
    struct cxi_probe *probe = mpixq_cxi_probe_of(pair->peer_world);
    bool is_lost = false;

    mpixq_lock_acquire(&nic.lock);
    if (probe != NULL) {
        if (!probe->flying) {
            issue(probe, end->peer);
        }
        is_lost = probe->failures >= ENOUGH;
    }
    mpixq_lock_release(&nic.lock);
    return is_lost;
}

void mpixq_cxi_probed(struct cxi_probe *probe, bool has_failed)
{
    probe->flying = false;
    probe->failures = has_failed ? probe->failures + (probe->failures < ENOUGH) : 0;
}
