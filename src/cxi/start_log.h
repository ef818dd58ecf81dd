/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The log of a queue: starts that wait to be armed. Written under the submission lock of the queue
 * and no other; read under nic.lock.
 */
#ifndef MPIXQ_CXI_START_LOG_H
#define MPIXQ_CXI_START_LOG_H

#include "cxi.h"
#include "util/progress.h"

static inline struct cxi_logged *log_at(const struct cxi_queue *cxq, uint64_t position)
{
    return &cxq->log[position & cxq->mask];
}

/* How many of n starts there is room for behind the tail. */
static inline uint64_t log_room(struct cxi_queue *cxq, uint64_t tail, uint64_t n)
{
    if (cxq->full - tail < n) {
        cxq->full = atomic_load_explicit(&cxq->head, memory_order_acquire) + cxq->mask + 1;
    }
    return cxq->full - tail < n ? cxq->full - tail : n;
}

/* A progress thread that sleeps is woken, and one that falls asleep looks once more: the store and
 * the load here are in one order for all. */
static inline void log_publish(struct cxi_queue *cxq, uint64_t tail)
{
    atomic_store(&cxq->tail, tail);
    mpixq_progress_wake();
}

static inline struct cxi_logged *log_first(const struct cxi_queue *cxq)
{
    uint64_t head = atomic_load_explicit(&cxq->head, memory_order_relaxed);

    return head < atomic_load_explicit(&cxq->tail, memory_order_acquire) ? log_at(cxq, head) : NULL;
}

static inline void log_pop(struct cxi_queue *cxq)
{
    uint64_t head = atomic_load_explicit(&cxq->head, memory_order_relaxed);

    atomic_store_explicit(&cxq->head, head + 1, memory_order_release);
}

#endif
