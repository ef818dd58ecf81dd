/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Peers: their addresses, and signs of life, over the fabric.
 */
#ifndef MPIXQ_CXI_PEERS_H
#define MPIXQ_CXI_PEERS_H

#include "cxi.h"

/* The key of a region that every process has, for probes; the next ones follow. Keys have 32 bits;
 * those below 100 are special to provider cxi, and scarce. */
enum { CXI_PROBE_KEY = 1000 };

/* What a process knows of the life of a peer. Under nic.lock. */
struct cxi_probe {
    struct cxi_entry entry;
    bool flying;
    int failures; /* in a row */
};

/* The NIC of a peer that has this address: where it is, and its probe. False: no memory. */
bool mpixq_cxi_find_peer(struct cxi_nic *nic, const unsigned char *address, size_t bytes,
                         fi_addr_t *peer_p, struct cxi_probe **probe_p);
/* The same for an end. */
bool mpixq_cxi_meet(struct cxi_end *end, const unsigned char *address, size_t bytes);
/* Has it failed to answer? Asks again. */
bool mpixq_cxi_is_lost(struct cxi_nic *nic, struct cxi_probe *probe, fi_addr_t peer);
/* When the endpoint is closed. */
void mpixq_cxi_peers_close(struct cxi_nic *nic);
/* The entry of the channel's table. */
bool mpixq_cxi_has_lost(struct mpixq_pair *pair);
/* Under nic.lock: the write has ended. */
void mpixq_cxi_probed(struct cxi_nic *nic, struct cxi_probe *probe, bool has_failed);

#endif
