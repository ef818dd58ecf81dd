/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is enqueued for windows in memory of GPUs: kernels, one for each call, in the stream of the
 * queue or in the graph that its stream is captured into. No thread of the host has a part in it,
 * but that one reads afterwards how it ended. Enqueueing takes no lock but the
 * submission lock and allocates nothing, except the first time on a queue, and in a capture.
 *
 * What returns int returns an MPI code, and in *fault_p what an error is about.
 */
#ifndef MPIXQ_RMA_QUEUED_H
#define MPIXQ_RMA_QUEUED_H

#include "core/fault.h"
#include "put.h"

/* Transfers of one window, which is in memory of GPUs. */
int mpixq_rma_queued_puts(struct mpixq_queue *queue, struct mpixq_window *window,
                          const struct mpixq_transfer transfers[], int n,
                          struct mpixq_fault *fault_p);
int mpixq_rma_queued_wait(struct mpixq_queue *queue, struct mpixq_signal *signal,
                          struct mpixq_fault *fault_p);
int mpixq_rma_queued_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                           struct mpixq_fault *fault_p);
int mpixq_rma_queued_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                                struct mpixq_fault *fault_p);

/* For mpixq_rma_look. */
void mpixq_rma_queued_look(struct mpixq_window *window);
/* Has the stream of a queue, or a graph, still something to do with the window? Threads of the
 * program, under no lock. */
bool mpixq_rma_queued_is_busy(struct mpixq_window *window);

#endif
