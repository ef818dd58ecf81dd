/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Signs of life of peers, over the fabric.
 */
#ifndef MPIXQ_CXI_PROBE_H
#define MPIXQ_CXI_PROBE_H

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

/* nic.c; under the matching lock: the probe of a peer, or NULL. */
struct cxi_probe *mpixq_cxi_probe_of(int rank);
/* The entry of the channel's table. */
bool mpixq_cxi_has_lost(struct mpixq_pair *pair);
/* Under nic.lock: the write has ended. */
void mpixq_cxi_probed(struct cxi_probe *probe, bool has_failed);

#endif
