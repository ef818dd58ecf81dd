/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows that processes of a node share: memory that the library has allocated lies in a file in
 * memory, which a peer that was told of it opens and maps. Then the process that puts or gets
 * copies the data by itself, and adds to the word of the signal: as a NIC would, and by the same
 * rights (rights.h), so that it is a table of operations like that of a channel with NICs.
 *
 * A peer has the memory mapped until its own window ends. So what it writes late, to a window that
 * has failed and is gone, reaches nobody.
 */
#ifndef MPIXQ_RMA_SHARED_H
#define MPIXQ_RMA_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/windows.h"

struct mpixq_rma_shared;
struct mpixq_window;
struct mpixq_window_spec;

/* Of a new window: the words of its signals, and the base that it is to allocate in the host's
 * memory, zero-filled and on pages of their own; shared, if that can be. What is NULL then could
 * not be had. */
void mpixq_rma_memory_take(struct mpixq_window *window, const struct mpixq_window_spec *spec);
/* They end, but the base not if MPI may use it still. */
void mpixq_rma_memory_give(struct mpixq_window *window);

/* To be used with what is opened; that has no open of its own. Under the lock of the window. */
const struct mpixq_channel_windows *mpixq_rma_shared_windows(void);
struct mpixq_nic_window *mpixq_rma_shared_open(struct mpixq_rma_shared *shared, int rank);

#endif
