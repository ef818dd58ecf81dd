/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Data by rendezvous between processes of a node: the one that it is for reads it out of the memory
 * of the other, where the system lets it. Else MPI moves it.
 *
 * Which process is read is told by a mark, a number that a window has while it is live and has not
 * failed, and no other window. It is read behind the data, in the same call. So what was read
 * belongs to the process that has sent the message, and to the transfer: that process has not told
 * its program by then that the window failed, or ended.
 */
#ifndef MPIXQ_RMA_PULL_H
#define MPIXQ_RMA_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "window.h"

/* Of a new window, before it meets others: a mark, unless MPIXQ_CMA is no, or the system has no
 * such calls. */
void mpixq_rma_pull_open(struct mpixq_window *window);
/* From now on none of its memory is taken for that of a transfer. Any thread. */
void mpixq_rma_pull_end(struct mpixq_window *window);
/* Can this process read the memory of that one? */
bool mpixq_rma_pull_can(const struct mpixq_window *window,
                        const struct mpixq_rma_neighbour *neighbour);
/* Read so many bytes from there. False: they may be there in part. */
bool mpixq_rma_pull(const struct mpixq_rma_neighbour *neighbour, void *to, uint64_t from,
                    uint64_t bytes);

#endif
