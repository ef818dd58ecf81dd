/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts that a stream, or the host, has come to.
 */
#ifndef MPIXQ_CXI_EXECUTE_H
#define MPIXQ_CXI_EXECUTE_H

#include "cxi.h"

/* A stream has reached the starts of pairs, or of shares, that were enqueued on its queue; or the
 * host makes them, as they belong to none. Rung: a GPU has rung for them before. A function of
 * operations (stream/op.h). */
void mpixq_cxi_executes(void *const args[], int n, bool rung);
/* The host makes the next start of a pair, of all its shares, whatever its queue; or a kernel has
 * rung for it. No other thread starts it, and nothing of it is logged. */
void mpixq_cxi_start_now(struct mpixq_pair *pair, bool rung);

/* Starts that are complete here, of all shares, after what lies in slots was copied; and the same
 * once the NICs were driven, if it is fewer than those that were made. */
uint64_t mpixq_cxi_count_complete(const struct mpixq_pair *pair);
uint64_t mpixq_cxi_drive_and_count(const struct mpixq_pair *pair);

#endif
