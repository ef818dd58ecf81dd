/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What providers of libfabric do differently: one table each, constant.
 */
#ifndef MPIXQ_CXI_QUIRKS_H
#define MPIXQ_CXI_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

struct cxi_quirks {
    const char *provider;
    uint32_t wire;         /* the provider in blobs; append only */
    uint64_t counter_max;  /* largest value of a counter */
    int entries;           /* unless the provider or the user says how many there are */
    bool has_bells;        /* a counter can be added to by a store */
    bool has_depth;        /* it says how many entries there are */
    bool has_hmem;         /* memory of GPUs can be registered */
    bool warms;            /* a registration of what is sent from makes posts cheaper */
    bool reads_late;       /* a read can show an older value of a counter than the NIC has */
    bool wants_completion; /* a deferred operation must have a completion counter */
    bool has_ends;    /* a deferred operation that succeeds makes an event if it asks for one */
    bool has_hybrid;  /* operands in regions that are named need no request of the provider */
    bool flags_small; /* a failed atomic or empty write is named only if it asks for a completion */
    bool software;    /* nothing moves unless somebody reads a completion queue */
    bool kicks;       /* an operation that found the NIC full waits for its counter to change */
};

/* The quirks of a provider. */
extern const struct cxi_quirks mpixq_cxi_sockets, mpixq_cxi_cxi;

#endif
