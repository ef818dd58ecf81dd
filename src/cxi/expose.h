/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs see of a NIC: doorbells, which they ring by themselves, and the words that it writes.
 */
#ifndef MPIXQ_CXI_EXPOSE_H
#define MPIXQ_CXI_EXPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/op.h"

struct mpixq_stream_ops;

/* Under nic.lock: it is there from now on, until the NIC is closed. */
void mpixq_cxi_hidden(struct mpixq_exposed *exposed, void *memory, size_t bytes, bool is_io);
/* The channel's expose. */
void mpixq_cxi_expose(const struct mpixq_stream_ops *ops);
/* Before any of it is closed. */
void mpixq_cxi_expose_close(void);

#endif
