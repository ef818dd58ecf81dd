/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts with signals: windows, signals, blocks, puts, gets and plans, by the host and enqueued. They
 * go by messages of MPI, on a communicator of each window's own (protocol.c), or by NICs
 * (direct.c); in memory of GPUs by these (mapped.c, queued.c), and in memory of the host by copies
 * within the process. What returns int returns an MPI code; no error handler is invoked.
 */
#ifndef MPIXQ_RMA_H
#define MPIXQ_RMA_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/error.h"
#include "core/fault.h"
#include "mpix_queue_rma.h"

struct mpixq_device_signal;
struct mpixq_device_transfer;
struct mpixq_queue;
struct mpixq_stats_rma;

/* What a program asks of a new window. */
struct mpixq_window_spec {
    void *base; /* NULL, and it allocates: make it */
    uint64_t bytes;
    bool allocates;    /* and all processes want as much */
    const char *wants; /* allocates, on a GPU of this kind, which the thread uses; NULL: no GPU */
    /* Of the GPU that has the memory (stream/memory.h), found by create; or NULL. */
    const char *kind;
    void *place;
};

/* Collective over comm. */
int mpixq_rma_window_create(const struct mpixq_window_spec *spec, MPI_Comm comm,
                            struct mpixq_window **window_p);
void *mpixq_rma_window_base(const struct mpixq_window *window);
/* Collective. *freed_p: it is gone, whatever is returned. */
int mpixq_rma_window_destroy(struct mpixq_window *window, bool *freed_p);
bool mpixq_rma_window_is_live(const struct mpixq_window *window);
int mpixq_rma_flush(struct mpixq_window *window);

int mpixq_rma_signal_create(struct mpixq_window *window, int num_event,
                            struct mpixq_signal **signal_p);
enum mpixq_error mpixq_rma_signal_destroy(struct mpixq_signal *signal);
bool mpixq_rma_signal_is_live(const struct mpixq_signal *signal);
int mpixq_rma_signal_reset(struct mpixq_signal *signal);
int mpixq_rma_signal_test(struct mpixq_signal *signal, bool *complete_p);
int mpixq_rma_signal_wait(struct mpixq_signal *signal);
int mpixq_rma_signal_wait_reset(struct mpixq_signal *signal);

enum mpixq_error mpixq_rma_blk_make(struct mpixq_window *window, uint64_t offset, uint64_t bytes,
                                    const struct mpixq_signal *signal, MPIXQ_Blk *blk);
/* The signal of from, or none if that is NULL. */
int mpixq_rma_blk_set_signal(MPIXQ_Blk *blk, const MPIXQ_Blk *from);

int mpixq_rma_put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);
int mpixq_rma_get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote);
int mpixq_rma_plan_create(int count, const MPIXQ_Blk local[], const MPIXQ_Blk remote[],
                          struct mpixq_plan **plan_p);
int mpixq_rma_plan_start(struct mpixq_plan *plan);
enum mpixq_error mpixq_rma_plan_destroy(struct mpixq_plan *plan);
bool mpixq_rma_plan_is_live(const struct mpixq_plan *plan);

/* In the order of a live queue; *fault_p is what an error is about. */
int mpixq_rma_enqueue_put(struct mpixq_queue *queue, const MPIXQ_Blk *local,
                          const MPIXQ_Blk *remote, struct mpixq_fault *fault_p);
int mpixq_rma_enqueue_plan(struct mpixq_queue *queue, struct mpixq_plan *plan,
                           struct mpixq_fault *fault_p);
int mpixq_rma_enqueue_wait(struct mpixq_queue *queue, struct mpixq_signal *signal,
                           struct mpixq_fault *fault_p);
int mpixq_rma_enqueue_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                            struct mpixq_fault *fault_p);
int mpixq_rma_enqueue_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                                 struct mpixq_fault *fault_p);

/* For kernels (device.c). */
int mpixq_rma_device_transfer(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                              struct mpixq_device_transfer *transfer_p);
int mpixq_rma_device_signal(const struct mpixq_signal *signal,
                            struct mpixq_device_signal *signal_p);
/* *base_p: NULL, where kernels do not see it. */
enum mpixq_error mpixq_rma_device_window(const struct mpixq_window *window, int rank,
                                         void **base_p);

/* What was put and got so far. Any thread, at any time. */
void mpixq_rma_stats(struct mpixq_stats_rma *stats_p);

/* Let all windows go on; and do they need that of the progress thread? */
void mpixq_rma_drive(void);
bool mpixq_rma_is_needed(void);
/* Have queues fail whose graphs have, as far as GPUs have said so, and make what graphs have
 * announced for the host to do. Under no lock. */
void mpixq_rma_look(void);
/* Is there any such, or a graph that waits for it? Threads of the program. */
bool mpixq_rma_any_replay(void);
/* In MPI_Finalize, when no other thread of the library is left: end what is left. Returns how many
 * windows were not freed. */
int mpixq_rma_close(void);

#endif
