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

/* Under the matching lock: the NIC of a peer that has this address, for an end: its peer and probe.
 * False: no memory. */
bool mpixq_cxi_meet(struct cxi_end *end, const unsigned char *address, size_t bytes);
/* When the endpoint is closed. */
void mpixq_cxi_peers_close(struct cxi_nic *nic);
/* The entry of the channel's table. */
bool mpixq_cxi_has_lost(struct mpixq_pair *pair);
/* Under nic.lock: the write has ended. */
void mpixq_cxi_probed(struct cxi_probe *probe, bool has_failed);

#endif
