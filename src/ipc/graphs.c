/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs whose starts and waits were captured into graphs. From then on kernels number their starts
 * themselves, whoever makes them: those made before are the floor. */
#include <stddef.h>

#include "core/graphs.h"
#include "ipc.h"

static struct ipc_told *told_of(const struct ipc_end *end)
{
    return &end->place->told[end->number];
}

static void begin(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;

    end->gpu.floor = end->base + mpixq_pair_started(pair);
    end->gpu.is_counted = true;
    if (!end->is_send && end->is_ready && end->slots.first < 0) {
        end->gpu.move.blocks = 1; /* it only counts */
    }
}

static enum mpixq_error refresh(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;

    mpixq_ipc_count(end);
    mpixq_pair_raise_done(pair, ipc_done(end));
    return mpixq_graphs_error(atomic_load_explicit(&told_of(end)->fault, memory_order_acquire));
}

/* A GPU tells of its starts by stores that may come later than what they bring about. */
void mpixq_ipc_count(struct ipc_end *end)
{
    uint64_t started = atomic_load_explicit(&told_of(end)->started, memory_order_acquire);

    if (started > end->gpu.floor) {
        mpixq_pair_raise_started(end->pair, started - end->base);
    }
}

_Static_assert(offsetof(struct ipc_told, fault) ==
                   offsetof(struct ipc_told, started) + sizeof(uint64_t),
               "side by side");

static const _Atomic uint64_t *mirror(const struct mpixq_pair *pair)
{
    return &told_of(pair->end)->started;
}

static void halt(struct mpixq_pair *pair)
{
    atomic_store(&told_of(pair->end)->halt, 1);
}

static void close_end(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;

    end->was_closed = true;
    mpixq_share_store(end->place->share, &end->gpu.move.own->closed, 1);
}

const struct mpixq_channel_graphs mpixq_ipc_graphs = {
    .begin = begin, .refresh = refresh, .mirror = mirror, .halt = halt, .close = close_end};
