/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows in memory of GPUs: all that happens to them is done by GPUs, and nothing goes by
 * messages. Threads of the program, under no lock. What returns int returns an MPI code.
 */
#ifndef MPIXQ_RMA_MAPPED_H
#define MPIXQ_RMA_MAPPED_H

#include "ipc/window.h"
#include "put.h"
#include "rma.h"

/* Collective: share the window, whose base the spec says to be there, with all others. */
int mpixq_rma_map(struct mpixq_window *window, const struct mpixq_window_spec *spec);

/* GPUs were given these. */
void mpixq_rma_mapped_count(struct mpixq_window *window, enum mpixq_rma_call call,
                            const struct mpixq_puts *puts);

/* What the other process would check: this one has been told what it needs for that. */
int mpixq_rma_mapped_check(const struct mpixq_transfer *transfer);
/* The same, and what a GPU needs of a put, for one, which told lacks. */
int mpixq_rma_mapped_describe(const struct mpixq_transfer *transfer, struct mpixq_put *put);
/* refuse: of one that goes outside. */
int mpixq_rma_mapped_start(const struct mpixq_transfer transfers[], int n, enum mpixq_rma_call call,
                           void (*refuse)(const struct mpixq_transfer *transfer, int code));
int mpixq_rma_mapped_flush(struct mpixq_window *window);

/* A signal of such a window: what it is; make it known to GPUs, or forget it; set it again, if it
 * was 0. */
int mpixq_rma_mapped_read(const struct mpixq_signal *signal, int64_t *word_p);
int mpixq_rma_mapped_begin(const struct mpixq_signal *signal);
void mpixq_rma_mapped_forget(const struct mpixq_signal *signal);
int mpixq_rma_mapped_set(const struct mpixq_signal *signal, int64_t *before_p);

#endif
