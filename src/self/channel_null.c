/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The null channel: requests to MPI_PROC_NULL. Nothing moves and every start is complete at
 * once. Such a request has no peer, so it is never offered or accepted, and nothing is kept of it.
 */
#include <stddef.h>

#include "core/channel.h"
#include "core/graphs.h"
#include "core/trace_pairs.h"

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device.h"

static int null_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                      struct mpixq_op list[])
{
    (void)queue;
    (void)list;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = pairs[i];

        mpixq_trace_start_executed(pair);
        mpixq_trace_completed(pair);
        atomic_store_explicit(&pair->executed, mpixq_pair_started(pair), memory_order_relaxed);
        atomic_store_explicit(&pair->done, mpixq_pair_started(pair), memory_order_release);
    }
    return 0;
}

static int null_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    (void)queue;
    (void)pair;
    (void)op;
    return 0;
}

static bool null_poll(struct mpixq_pair *pair)
{
    (void)pair;
    return true;
}

/* A graph has nothing of such a request, and nothing ever happens to it. */
static void null_ignore(struct mpixq_pair *pair)
{
    (void)pair;
}

static enum mpixq_error null_refresh(struct mpixq_pair *pair)
{
    (void)pair;
    return MPIXQ_E_NONE;
}

/* No words, by which kernels know it. */
static void null_describe(const struct mpixq_pair *pair, struct mpixq_device_request *device)
{
    *device = (struct mpixq_device_request){
        .is_send = mpixq_pair_is_send(pair), .is_host = 1, .abi = MPIXQ_DEVICE_ABI};
}

static const struct mpixq_channel_graphs null_graphs = {.begin = null_ignore,
                                                        .refresh = null_refresh,
                                                        .halt = null_ignore,
                                                        .close = null_ignore,
                                                        .describe = null_describe};

const struct mpixq_channel mpixq_channel_null = {
    .name = "null",
    .id = MPIXQ_CHANNEL_NULL,
    .through_mpi = true,
    .graphs = &null_graphs,
    .start = null_start,
    .wait = null_wait,
    .poll = null_poll,
};
