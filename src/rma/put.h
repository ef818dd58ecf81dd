/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts and gets that are checked, one or many, and plans.
 */
#ifndef MPIXQ_RMA_PUT_H
#define MPIXQ_RMA_PUT_H

#include "blk.h"
#include "window.h"

struct mpixq_plan {
    struct mpixq_rma_object object;
    struct mpixq_window *window; /* NULL: all of it goes to MPI_PROC_NULL */
    uint64_t window_id;
    int n;
    struct mpixq_transfer *transfers;
    atomic_long enqueued; /* starts that streams have not made yet */
};

/* Start transfers, all of one window. An MPI code. Under no lock. */
int mpixq_rma_start(const struct mpixq_transfer transfers[], int n, enum mpixq_rma_call call);
/* Its window is still there, and has not failed: an MPI code. */
int mpixq_rma_plan_check(const struct mpixq_plan *plan);

#endif
