/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs see of a NIC: doorbells, which they ring by themselves, the words that it writes, and
 * the slots of eager receives.
 */
#ifndef MPIXQ_CXI_EXPOSE_H
#define MPIXQ_CXI_EXPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/op.h"
#include "util/lock.h"

struct cxi_mapped;
struct cxi_nic;
struct mpixq_stream_kind;

struct cxi_exposure {
    struct mpixq_exposed *hidden, *shown; /* under nic.lock; shown: made known, or in vain */
    /* Guards what follows, and is held while a GPU's library is called: nobody whom a GPU may wait
     * for takes it. */
    struct mpixq_lock lock;
    const struct mpixq_stream_kind *_Atomic mapper; /* written once */
    struct cxi_mapped *mapped;
    bool refused;        /* registers: then the GPU's library is not asked again */
    unsigned lives_over; /* when they were made known: what is known of devices */
};

void mpixq_cxi_exposure_open(struct cxi_exposure *exposure);
/* Under nic.lock: it is there from now on, until the NIC is closed. */
void mpixq_cxi_hidden(struct cxi_exposure *exposure, struct mpixq_exposed *exposed, void *memory,
                      size_t bytes, bool is_io);
/* It is about to go. With no lock. False: it cannot, as GPUs see its page still: others lie there,
 * or one of our waits is in a stream. */
bool mpixq_cxi_hide(struct cxi_nic *nic, struct mpixq_exposed *exposed);
/* The channel's expose. */
void mpixq_cxi_expose(struct cxi_nic *nic, const struct mpixq_stream_kind *kind);
/* Before any of it is closed. */
void mpixq_cxi_exposure_close(struct cxi_exposure *exposure);

#endif
