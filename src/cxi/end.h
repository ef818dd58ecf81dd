/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ends of pairs: the counters, words and regions of one.
 */
#ifndef MPIXQ_CXI_END_H
#define MPIXQ_CXI_END_H

#include "cxi.h"

/* With no lock, before the match. Buffer: a region of its buffer, which the end takes over, or
 * NULL. NULL: something is lacking. */
struct cxi_end *mpixq_cxi_end_prepare(struct cxi_nic *nic, struct mpixq_pair *pair,
                                      struct fid_mr *buffer);
/* Under the matching lock: the end in pair->reached, with its other shares, for these flags of the
 * pair. NULL: something was lacking, and no region is made known under that lock. */
struct cxi_end *mpixq_cxi_end_take(struct mpixq_pair *pair, bool ready, bool delivered);
/* Under the matching lock: its regions are closed when this thread cleans up next, and then it may
 * be freed (is_leaving). */
void mpixq_cxi_end_release(struct cxi_end *end);
/* Under any lock but the channel's: no pair has it any more, nor its other shares, and some
 * clean-up closes them. */
void mpixq_cxi_end_leave(struct cxi_end *end);
/* The same, where regions are open though the end was in use; clean as below. */
void mpixq_cxi_end_leave_used(struct cxi_end *end, bool clean);
/* Under the matching lock, without regions, or with no lock. Clean: all that was posted for it has
 * been executed. */
void mpixq_cxi_end_free(struct cxi_end *end, bool clean);
/* What this thread has released, and what no pair has any more. */
void mpixq_cxi_clean_up(struct cxi_nic *nic);

#endif
