/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NICs of this process: what gives pairs and queues theirs, and the only place that knows how
 * many there are. They are opened when the first pair or queue asks for one.
 */
#ifndef MPIXQ_CXI_PROCESS_H
#define MPIXQ_CXI_PROCESS_H

#include "comm/error.h"

enum { CXI_NICS = 8 }; /* as many at most */

struct cxi_nic;
struct mpixq_facts;
struct mpixq_pair;
struct mpixq_queue;

/* Those that are open, by their numbers, the nearest first. */
struct cxi_nics {
    int n;
    struct cxi_nic *of[CXI_NICS];
};

/* Open them if that was not tried yet. NULL: none can be used, and *why_p says why. */
const struct cxi_nics *mpixq_cxi_open(const char **why_p);
/* None, until then. */
const struct cxi_nics *mpixq_cxi_opened(void);
/* Threads of the program, with no lock, before they are opened: what do GPUs promise, and which is
 * that of the process? That of memory of this kind, or of a place of it, as for mpixq_memory_bus;
 * else the one that the thread uses. */
void mpixq_cxi_ask_gpus(const char *kind, const void *address, const void *place);
/* What keeps this end from using the fabric, or NULL; and the NIC that serves it, or is to: the one
 * with the fewest ends that go in the same direction, since each NIC has as much for either. */
const char *mpixq_cxi_obstacle(const struct mpixq_pair *pair, struct cxi_nic **nic_p);
/* At the end of the process, when nobody uses it any more. */
void mpixq_cxi_close(void);
/* Entries of the channel's table. */
enum mpixq_error mpixq_cxi_attach(struct mpixq_queue *queue);
void mpixq_cxi_detach(struct mpixq_queue *queue);
/* They open nothing. */
const char *mpixq_cxi_availability(void);
void mpixq_cxi_describe(struct mpixq_facts *facts);

/* What is under way for windows goes on, on all NICs. With no lock but a queue's. */
void mpixq_cxi_read_windows(void);

#endif
