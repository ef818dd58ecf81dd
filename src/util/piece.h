/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Into pieces of how many bytes a message is cut that is larger than one may be.
 */
#ifndef MPIXQ_PIECE_H
#define MPIXQ_PIECE_H

#include <stdint.h>

enum { MPIXQ_PAGE = 65536 }; /* the largest of those that systems have as their ordinary ones */

/* largest: what a write may have at most; of CXI that is 4 GiB - 1, with which every write but the
 * first would begin a few bytes off a boundary, in pages that the one before has begun. */
static inline uint64_t mpixq_piece_of(uint64_t largest)
{
    return largest > MPIXQ_PAGE ? largest - largest % MPIXQ_PAGE : largest;
}

static inline uint64_t mpixq_count_pieces(uint64_t bytes, uint64_t piece)
{
    return bytes > piece ? (bytes - 1) / piece + 1 : 1;
}

#endif
