/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs whose starts and waits were captured into graphs. From then on kernels number their starts
 * themselves, whoever makes them: those made before are the floor. */
#include <stddef.h>

#include "core/graphs.h"
#include "ipc.h"

/* What is for kernels alone. */
#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device.h"

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

/* Has its GPU told only that a start is done, as its message went to a slot? */
static bool has_slot(const struct ipc_end *end)
{
    return end->is_send && end->slots.first >= 0;
}

/* A GPU tells of its starts by stores that may come later than what they bring about. A receiver
 * that has heard of our free may use its words for another pair. */
void mpixq_ipc_count(struct ipc_end *end)
{
    uint64_t started, done;

    if (!mpixq_ipc_is_counted(end)) {
        return;
    }
    started = atomic_load_explicit(&told_of(end)->started, memory_order_acquire);
    if (has_slot(end) && !atomic_load(&end->is_free)) {
        done = atomic_load_explicit(end->told, memory_order_acquire);
        started = done > started ? done : started;
    }
    if (started > end->gpu.floor) {
        mpixq_pair_raise_started(end->pair, started - end->base);
    }
}

static void mirror(const struct mpixq_pair *pair, const _Atomic uint64_t *words[MPIXQ_MIRROR_WORDS])
{
    const struct ipc_end *end = pair->end;

    words[0] = &told_of(end)->started;
    words[1] = &told_of(end)->fault;
    words[2] = has_slot(end) ? end->told : words[0];
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

/* The header for kernels has its own names for what the library's kernels have. */
_Static_assert(
    sizeof(struct mpixq_device_end) == sizeof(struct mpixq_end) &&
        offsetof(struct mpixq_device_end, state) == offsetof(struct mpixq_end, state) &&
        offsetof(struct mpixq_device_end, posted) == offsetof(struct mpixq_end, posted) &&
        offsetof(struct mpixq_device_end, started) == offsetof(struct mpixq_end, started) &&
        offsetof(struct mpixq_device_end, waited) == offsetof(struct mpixq_end, waited) &&
        offsetof(struct mpixq_device_end, gone) == offsetof(struct mpixq_end, gone) &&
        offsetof(struct mpixq_device_end, closed) == offsetof(struct mpixq_end, closed),
    "the same words");
_Static_assert(sizeof(struct mpixq_device_told) == sizeof(struct mpixq_told) &&
                   offsetof(struct mpixq_device_told, started) ==
                       offsetof(struct mpixq_told, started) &&
                   offsetof(struct mpixq_device_told, fault) ==
                       offsetof(struct mpixq_told, fault) &&
                   offsetof(struct mpixq_device_told, halt) == offsetof(struct mpixq_told, halt),
               "the same words");
_Static_assert((int)MPIXQ_DEVICE_ERR_ACTIVE == (int)MPIXQ_STARTED_TWICE &&
                   (int)MPIXQ_DEVICE_ERR_FREED == (int)MPIXQ_STARTED_FREED &&
                   (int)MPIXQ_DEV_SLOTS == (int)MPIXQ_SLOTS,
               "the same numbers");

static void describe(const struct mpixq_pair *pair, struct mpixq_device_request *device)
{
    const struct ipc_end *end = pair->end;
    const struct mpixq_move *move = &end->gpu.move;

    *device = (struct mpixq_device_request){.to = move->to,
                                            .from = move->from,
                                            .bytes = move->bytes,
                                            .own = (struct mpixq_device_end *)(void *)move->own,
                                            .peer = (struct mpixq_device_end *)(void *)move->peer,
                                            .own_told =
                                                (struct mpixq_device_told *)(void *)move->own_told,
                                            .told = (struct mpixq_device_told *)(void *)move->told,
                                            .floor = end->gpu.floor,
                                            .slots = (mpixq_dev_word *)(void *)end->gpu.first_slot,
                                            .state = (mpixq_dev_word *)(void *)end->gpu.state,
                                            .pair = pair->id,
                                            .is_send = end->is_send,
                                            .is_ready = end->is_ready,
                                            .is_early = end->gpu.floor == end->base,
                                            .abi = MPIXQ_DEVICE_ABI};
}

const struct mpixq_channel_graphs mpixq_ipc_graphs = {.begin = begin,
                                                      .refresh = refresh,
                                                      .mirror = mirror,
                                                      .halt = halt,
                                                      .close = close_end,
                                                      .describe = describe};
