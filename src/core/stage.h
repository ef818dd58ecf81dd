/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Buffers in memory of GPUs: MPI is given them if it takes such. Else there is a staging buffer in
 * memory of the host, with which every channel works, and between which and the buffer the stream
 * copies: to it before a send starts, from it after the wait of a receive. A channel that can work
 * with the buffer itself says so before the match; if it serves the pair, the staging buffer is
 * given back.
 */
#ifndef MPIXQ_STAGE_H
#define MPIXQ_STAGE_H

#include "comm/error.h"
#include "request.h"

/* Before matching, by the thread that calls, without a lock: find out where the buffers of these
 * requests are, make the staging buffers that are needed, and let channels have the buffers
 * themselves that can work with them. On an error *failed_p is the request. */
enum mpixq_error mpixq_stage(struct mpixq_request *const reqs[], int n,
                             struct mpixq_request **failed_p);
/* By the same thread: they are not matched after all. Staging buffers stay, for the next time. */
void mpixq_unstage(struct mpixq_request *const reqs[], int n);
/* Under the matching lock: may this receive get a message that is shorter than it? */
enum mpixq_error mpixq_stage_short(const struct mpixq_pair *pair);
/* Likewise: the channel and the size of the messages are known. */
void mpixq_stage_matched(struct mpixq_pair *pair);

#endif
