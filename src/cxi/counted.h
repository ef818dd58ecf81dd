/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs whose starts a GPU counts (core/tally.h): those of graphs and of kernels of the program.
 * Who replays a graph does not take the submission lock of the library's queue, under which what
 * rings a shared counter is numbered. So the host makes each start that it finds counted, as it
 * makes its own.
 */
#ifndef MPIXQ_CXI_COUNTED_H
#define MPIXQ_CXI_COUNTED_H

#include "core/graphs.h"
#include "core/tally.h"
#include "cxi.h"

extern const struct mpixq_channel_graphs mpixq_cxi_graphs;

/* Its go_on. */
void mpixq_cxi_go_on(struct mpixq_pair *pair);
/* Fill the operation of a start of such a pair; a queue of NULL: by the host. */
void mpixq_cxi_start_counted(struct mpixq_queue *queue, struct mpixq_pair *pair,
                             struct mpixq_op *op);

#endif
