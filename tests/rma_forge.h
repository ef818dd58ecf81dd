/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Blocks that no process has made: what came from another process need not be right.
 */
#ifndef RMA_FORGE_H
#define RMA_FORGE_H

#include <mpix_queue_rma.h>

/* Bytes that look like a block, by who knows how they are made. */
static inline void rma_forge(MPIX_Blk *blk, int word, uint64_t value)
{
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);

    blk->words[word] = value;
    for (int i = 0; i < 7; i++) {
        sum = (sum ^ blk->words[i]) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
    }
    blk->words[7] = sum;
}

#endif
