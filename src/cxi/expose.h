/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs see of a NIC: doorbells, which they ring by themselves, and the words that it writes.
 */
#ifndef MPIXQ_CXI_EXPOSE_H
#define MPIXQ_CXI_EXPOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mpixq_awaited;
struct mpixq_queue;
struct mpixq_stream_ops;
struct mpixq_trigger;

/* Memory that GPUs are to see as soon as that can be brought about. */
struct cxi_exposed {
    char *memory;
    size_t bytes;
    bool is_io;           /* registers of the NIC */
    _Atomic(char *) seen; /* where GPUs see it; NULL: not yet, or they cannot */
    struct cxi_exposed *next;
};

/* Under nic.lock: it is there from now on, until the NIC is closed. */
void mpixq_cxi_hidden(struct cxi_exposed *exposed, void *memory, size_t bytes, bool is_io);
/* The channel's expose. */
void mpixq_cxi_expose(const struct mpixq_stream_ops *ops);
/* Before any of it is closed. */
void mpixq_cxi_expose_close(void);

/* The channel's ring_by_gpu and watch_by_gpu, as far as GPUs see the doorbells, and the words. */
void mpixq_cxi_ring_by_gpu(struct mpixq_queue *queue, struct mpixq_trigger *triggers, int n);
void mpixq_cxi_watch_by_gpu(struct mpixq_queue *queue, const struct mpixq_awaited *awaited);

#endif
