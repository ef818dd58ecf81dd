/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows in memory of GPUs that do not reach each other, as those of several nodes. NICs put and
 * get, within a process too; the host cannot access the memory, so no message has data. Where a
 * message would have, this process asks for what it lacks to put or to get by NICs:
 *
 *     no right yet        ASK                --->  checked
 *                                            <---  GRANT (rights.h), of all that it lacks
 *                                            <---  GO
 *     put, get            write or read; atomic add
 *     not possible        ASK                --->
 *                                            <---  REFUSE, with the error
 *
 * Signals are those of windows in memory of the host, and so are queues and graphs.
 */
#ifndef MPIXQ_RMA_NICS_H
#define MPIXQ_RMA_NICS_H

#include "blk.h"
#include "rma.h"
#include "transport.h"

/* Collective, of a new window, whose base the spec says to be in memory of a GPU: have it reached
 * by the GPUs of all processes (mapped.h), or else by their NICs. An MPI code, which says why GPUs
 * do not if NICs do not either. */
int mpixq_rma_reach_gpus(struct mpixq_window *window, const struct mpixq_window_spec *spec);

/* Under the lock of the window. Ask for a put or get that cannot be started now. */
void mpixq_rma_nics_ask(const struct mpixq_transfer *transfer, bool is_get,
                        struct mpixq_rma_peer *peer);
/* The answer to that: it may be. */
void mpixq_rma_nics_go(struct mpixq_window *window, struct mpixq_rma_op *op);

#endif
