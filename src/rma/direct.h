/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts and gets by NICs (core/windows.h), or by copies into memory of the node and out of it
 * (shared.h): the data and an atomic addition, once a peer has given the right to that (rights.h).
 * All under the lock of the window unless said otherwise.
 */
#ifndef MPIXQ_RMA_DIRECT_H
#define MPIXQ_RMA_DIRECT_H

#include <stdbool.h>

#include "blk.h"
#include "core/stats.h"
#include "transport.h"

struct mpixq_nic_part;
struct mpixq_window;

/* Of a window that is not live; threads of the program, with no lock. */
void mpixq_rma_direct_open(struct mpixq_window *window);
void mpixq_rma_direct_close(struct mpixq_window *window);

/* May there be puts, or gets, that do not go by message? */
bool mpixq_rma_direct_has(const struct mpixq_window *window, bool is_get);
/* Start one, if that may be. */
bool mpixq_rma_direct_begin(const struct mpixq_transfer *transfer, bool is_get,
                            struct mpixq_rma_peer *peer);
/* How NICs may make one: by which right, NULL if there is no signal; in how many parts, each but
 * the last of piece bytes. */
struct mpixq_rma_way {
    struct mpixq_rma_grant *grant;
    uint64_t parts, piece;
};
bool mpixq_rma_direct_may(const struct mpixq_transfer *transfer, bool is_get,
                          const struct mpixq_rma_peer *peer, struct mpixq_rma_way *way_p);
/* A part, which has the right from now on. NULL: no memory, and the window has failed. */
struct mpixq_rma_op *mpixq_rma_direct_op(const struct mpixq_transfer *transfer, bool is_get,
                                         const struct mpixq_rma_peer *peer,
                                         const struct mpixq_rma_way *way, uint32_t part);
void mpixq_rma_direct_describe(struct mpixq_window *window, struct mpixq_rma_op *op,
                               struct mpixq_nic_part *part_p);
/* It is under way if it was held, else it waits to be started. */
void mpixq_rma_direct_begun(struct mpixq_window *window, struct mpixq_rma_op *op);
/* It does not need its right any more. */
void mpixq_rma_direct_let_go(struct mpixq_window *window, const struct mpixq_rma_op *op);
/* What waits is started, and what is over is told. */
void mpixq_rma_direct_go(struct mpixq_window *window);
/* Part of one cannot be made: tell both ends why. */
void mpixq_rma_direct_fail(struct mpixq_window *window, const struct mpixq_rma_op *op,
                           const char *why);
/* One of a peer that it could not complete (FAILED). */
void mpixq_rma_direct_failed(struct mpixq_window *window, const struct mpixq_rma_header *header,
                             const struct mpixq_rma_peer *peer);
/* Nothing is under way, and nothing is to be answered. */
bool mpixq_rma_direct_is_quiet(const struct mpixq_window *window);
/* What waits is copied, and not moved by NICs: pieces of it are left, between which others get the
 * lock. */
bool mpixq_rma_direct_copies(const struct mpixq_window *window);
/* Are there copies, and no NICs? */
bool mpixq_rma_direct_is_shared(const struct mpixq_window *window);
/* Do NICs reach any? */
bool mpixq_rma_direct_reaches(const struct mpixq_window *window);
/* A process that NICs reach and that does not answer any more: its rank, or -1. */
int mpixq_rma_direct_lost(struct mpixq_window *window);

#endif
