/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a NIC knows of a window: its memory, of the host or of a GPU, and the words of its signals,
 * for what peers write, read and add; and the memory once more, for what is put from there and got
 * to there.
 */
#ifndef MPIXQ_CXI_WINDOW_REGIONS_H
#define MPIXQ_CXI_WINDOW_REGIONS_H

#include "core/windows.h"

struct cxi_nic;
struct fid_mr;

struct cxi_window_regions {
    struct fid_mr *base, *words;
    struct fid_mr *warm; /* of this process; NULL: it is not kept mapped */
};

/* NULL, or why not: then what there is by then is to be closed. Threads of the program, with no
 * lock. */
const char *mpixq_cxi_window_regions(struct cxi_nic *nic, const struct mpixq_nic_memory *memory,
                                     struct cxi_window_regions *regions);

#endif
