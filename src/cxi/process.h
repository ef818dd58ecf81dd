/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NIC of this process: what gives pairs and queues theirs, and the only place that knows that
 * there is one. It is opened when the first pair or queue asks for it.
 */
#ifndef MPIXQ_CXI_PROCESS_H
#define MPIXQ_CXI_PROCESS_H

#include "comm/error.h"

struct cxi_nic;
struct mpixq_facts;
struct mpixq_pair;
struct mpixq_queue;

/* Open it if that was not tried yet. NULL: it cannot be used, and *why_p says why. */
struct cxi_nic *mpixq_cxi_open(const char **why_p);
/* NULL: it is not open. */
struct cxi_nic *mpixq_cxi_opened(void);
/* Threads of the program, with no lock, before it is opened: what do GPUs promise? */
void mpixq_cxi_ask_gpus(void);
/* What keeps this end from using the fabric, or NULL; and the NIC that serves it, or is to. */
const char *mpixq_cxi_obstacle(const struct mpixq_pair *pair, struct cxi_nic **nic_p);
/* At the end of the process, when nobody uses it any more. */
void mpixq_cxi_close(void);
/* Entries of the channel's table. */
enum mpixq_error mpixq_cxi_attach(struct mpixq_queue *queue);
void mpixq_cxi_detach(struct mpixq_queue *queue);
/* They open nothing. */
const char *mpixq_cxi_availability(void);
void mpixq_cxi_describe(struct mpixq_facts *facts);

#endif
