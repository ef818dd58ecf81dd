/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What providers do differently. Found by trying libfabric 1.17's sockets provider and by reading
 * the cxi provider of libfabric 1.21 to 2.6.
 *
 * The same for both, though only one asks for it: the context of a deferred operation is that of
 * its work struct (sockets refuses others), a counter is bound to the endpoint (cxi from 2.3 on
 * crashes in a deferred atomic without), no flags but FI_COMPLETION and FI_DELIVERY_COMPLETE are
 * used (cxi refuses most), and what an operation was told is kept until it is over (sockets looks
 * at the completion counter when the operation completes). */
#include "quirks.h"

const struct cxi_quirks mpixq_cxi_sockets = {
    .provider = "sockets",
    .wire = 1,
    /* It keeps counters and compares thresholds as int. */
    .counter_max = INT32_MAX,
    /* It has no limit, but looks through all entries of a counter whenever that changes, and its
     * transmit ring holds about 2500 operations. */
    .entries = 512,
    .warms = false,
    .has_bells = false,
    .has_depth = false,
    .has_hmem = false,
    .reads_late = false,
    /* It adds to the completion counter without looking whether there is one. */
    .wants_completion = true,
    /* It never does for deferred work that asks for a completion. */
    .has_ends = false,
    .has_hybrid = false,
    .flags_small = false,
    .software = true,
    .kicks = true,
};

const struct cxi_quirks mpixq_cxi_cxi = {
    .provider = "cxi",
    .wire = 2,
    .counter_max = (UINT64_C(1) << 48) - 1,
    /* About one entry per core of the node is usual for all ranks of a job on a NIC, less eight;
     * this is shared by the ranks of the node. Too few costs CPU time, too many stops the NIC. */
    .entries = 56,
    .has_bells = true,
    .has_depth = true,
    .has_hmem = true,
    /* Each post looks up the mapping of its source for the NIC, and makes one if no registration
     * holds it; what a deferred write says of its own is not looked at. */
    .warms = true,
    /* The value is in the NIC. A read that waited for it would do so for ever while the queue of
     * the NIC's commands stands still, holding a lock of the provider, and ours. */
    .reads_late = true,
    .wants_completion = false,
    .has_ends = true,
    .has_hybrid = true,
    /* Without FI_COMPLETION the error of an atomic, or of a write without bytes, has the context of
     * the endpoint. */
    .flags_small = true,
    .software = false,
    .kicks = false,
};
