/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Peers of pairs.
 *
 * Is a peer there? A write of no bytes into a region that every process has, and that counts
 * nothing. A NIC answers for a process that is stopped or busy; for one that has ended, or a node
 * that is gone, the write fails. At most one is under way to each peer. The table of peers is under
 * nic.lock, as pairs and windows meet them. */
#include "peers.h"

#include <string.h>

#include "nic.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/table.h"

/* A NIC of a peer. */
struct cxi_peer {
    unsigned char name[CXI_ADDRESS]; /* its address; 0 behind it */
    fi_addr_t address;
    struct cxi_probe probe;
    UT_hash_handle hh;
};

static struct cxi_peer *peer_new(struct cxi_nic *nic, const unsigned char name[CXI_ADDRESS])
{
    struct cxi_peer *peer = mpixq_alloc(sizeof *peer); /* freed in close */

    if (peer == NULL) {
        return NULL;
    }
    memcpy(peer->name, name, CXI_ADDRESS);
    if (fi_av_insert(nic->av, name, 1, &peer->address, 0, NULL) == 1) {
        HASH_ADD(hh, nic->peers, name, CXI_ADDRESS, peer);
    }
    if (!mpixq_in_table(peer->hh)) {
        mpixq_free(peer);
        return NULL;
    }
    return peer;
}

bool mpixq_cxi_find_peer(struct cxi_nic *nic, const unsigned char *address, size_t bytes,
                         fi_addr_t *peer_p, struct cxi_probe **probe_p)
{
    unsigned char name[CXI_ADDRESS] = {0};
    struct cxi_peer *peer = NULL;

    if (bytes == nic->address_bytes) {
        memcpy(name, address, bytes);
        mpixq_lock_acquire(&nic->lock);
        HASH_FIND(hh, nic->peers, name, CXI_ADDRESS, peer);
        peer = peer != NULL ? peer : peer_new(nic, name);
        mpixq_lock_release(&nic->lock);
    }
    if (peer != NULL) {
        *peer_p = peer->address;
        *probe_p = &peer->probe;
    }
    return peer != NULL;
}

bool mpixq_cxi_meet(struct cxi_end *end, const unsigned char *address, size_t bytes)
{
    return mpixq_cxi_find_peer(end->nic, address, bytes, &end->peer, &end->probe);
}

void mpixq_cxi_peers_close(struct cxi_nic *nic)
{
    struct cxi_peer *peer, *next;

    HASH_ITER(hh, nic->peers, peer, next)
    {
        HASH_DEL(nic->peers, peer);
        mpixq_free(peer);
    }
}

/* Signs of life. */

enum { ENOUGH = 2 }; /* failures in a row: one may be a trouble of the network that passes */

/* Under nic.lock. What cannot be issued now is issued at a later look. */
static void issue(struct cxi_nic *nic, struct cxi_probe *probe, fi_addr_t peer)
{
    struct cxi_entry *entry = &probe->entry;

    entry->probe = probe;
    entry->u.write.local = (struct iovec){.iov_base = &nic->constants.nowhere, .iov_len = 0};
    entry->u.write.remote = (struct fi_rma_iov){.addr = 0, .len = 0, .key = CXI_PROBE_KEY};
    entry->u.write.op = (struct fi_op_rma){.ep = nic->ep,
                                           .msg = {.msg_iov = &entry->u.write.local,
                                                   .iov_count = 1,
                                                   .addr = peer,
                                                   .rma_iov = &entry->u.write.remote,
                                                   .rma_iov_count = 1,
                                                   .context = &entry->work.context}};
    probe->flying = fi_writemsg(nic->ep, &entry->u.write.op.msg, FI_COMPLETION) == 0;
    nic->n_probes += probe->flying;
}

bool mpixq_cxi_is_lost(struct cxi_nic *nic, struct cxi_probe *probe, fi_addr_t peer)
{
    bool is_lost;

    mpixq_lock_acquire(&nic->lock);
    if (!probe->flying) {
        issue(nic, probe, peer);
    }
    is_lost = probe->failures >= ENOUGH;
    mpixq_lock_release(&nic->lock);
    return is_lost;
}

/* Each share has its NICs, at either end. */
bool mpixq_cxi_has_lost(struct mpixq_pair *pair)
{
    bool is_lost = false;

    for (const struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        is_lost = mpixq_cxi_is_lost(end->nic, end->probe, end->peer) || is_lost;
    }
    return is_lost;
}

void mpixq_cxi_probed(struct cxi_nic *nic, struct cxi_probe *probe, bool has_failed)
{
    nic->n_probes -= probe->flying;
    probe->flying = false;
    probe->failures = has_failed ? probe->failures + (probe->failures < ENOUGH) : 0;
}
