/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Blocks: what a process tells another one of a part of its window, as bytes that anybody could
 * have written. So nothing in them is relied on: whoever uses a block compares it with what it
 * knows of the window, and the process that it belongs to does so again.
 */
#ifndef MPIXQ_RMA_BLK_H
#define MPIXQ_RMA_BLK_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/error.h"
#include "mpix_queue_rma.h"

struct mpixq_window;

struct mpixq_blk {
    uint64_t window;             /* its id */
    int rank;                    /* in that */
    uint32_t signal, generation; /* 0: none */
    uint64_t offset, bytes;
};

/* Of zeros throughout, as that of MPI_PROC_NULL is. */
bool mpixq_blk_is_null(const MPIXQ_Blk *blk);
void mpixq_blk_write(const struct mpixq_blk *from, MPIXQ_Blk *blk);
/* False: it is no block, or one of another version. */
bool mpixq_blk_read(const MPIXQ_Blk *blk, struct mpixq_blk *to);
/* Is such a block within a window of so many bytes? */
static inline bool mpixq_blk_fits(uint64_t offset, uint64_t bytes, uint64_t window_bytes)
{
    return offset <= window_bytes && bytes <= window_bytes - offset;
}

/* A put or get, as a program asks for it: both blocks, checked as far as this process can. */
struct mpixq_transfer {
    struct mpixq_window *window; /* NULL: there is nothing to do */
    struct mpixq_blk local, remote;
};
/* An MPI code. Under no lock of a window. */
int mpixq_transfer_check(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                         struct mpixq_transfer *transfer);

#endif
