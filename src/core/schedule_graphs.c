/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives that GPUs move, in graphs: the parts are counted by the GPU, and the whole is as far
 * as they are. */
#include "graphs.h"
#include "channel.h"
#include "schedule.h"

struct mpixq_pair *mpixq_collective_part(const struct mpixq_pair *pair, int i)
{
    const struct mpixq_parted *parted = pair->end;

    return mpixq_collective_in_lists(pair) && i < parted->n_used &&
                   parted->parts[i] != NULL /* let go of */
               ? &parted->parts[i]->pair
               : NULL;
}

struct mpixq_pair *mpixq_collective_executor(const struct mpixq_pair *pair)
{
    struct mpixq_pair *part;
    int i = 0;

    do {
        part = mpixq_collective_part(pair, i++);
    } while (part != NULL && part->prepared == NULL);
    return part;
}

struct mpixq_pair *mpixq_collective_counted(const struct mpixq_pair *pair, int i)
{
    return pair->channel->graphs == &mpixq_schedule_graphs ? mpixq_collective_part(pair, i) : NULL;
}

bool mpixq_collective_is_of_gpus(const struct mpixq_pair *pair)
{
    const struct mpixq_collective *collective = pair->end;
    bool all = pair->channel->graphs == &mpixq_schedule_graphs && collective->n_first > 0 &&
               collective->n_first == collective->parted.n_used;
    const struct mpixq_pair *part;

    for (int i = 0; all && (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        all = part->channel->of_gpus;
    }
    return all;
}

struct mpixq_pair *mpixq_schedule_failed_part(const struct mpixq_pair *pair)
{
    const struct mpixq_parted *parted = pair->end;

    for (int i = 0; i < parted->n_used; i++) {
        struct mpixq_request *part = parted->parts[i];

        if (part != NULL && mpixq_pair_has_failed(&part->pair)) {
            return &part->pair;
        }
    }
    return NULL;
}

static void gpus_begin(struct mpixq_pair *pair)
{
    (void)pair; /* the parts have begun */
}

static bool is_closed(const struct mpixq_pair *pair)
{
    return atomic_load(&((const struct mpixq_collective *)pair->end)->is_closed);
}

enum mpixq_error mpixq_schedule_refresh(struct mpixq_pair *pair)
{
    uint64_t started = 0, done = UINT64_MAX;
    struct mpixq_pair *part;

    if (is_closed(pair)) {
        return MPIXQ_E_NONE;
    }
    for (int i = 0; (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        mpixq_graphs_refresh(part);
        started = mpixq_pair_started(part) > started ? mpixq_pair_started(part) : started;
        done = mpixq_pair_done(part) < done ? mpixq_pair_done(part) : done;
    }
    if (mpixq_pair_is_by_host(pair) && started <= mpixq_pair_started(pair)) {
        return MPIXQ_E_NONE; /* who has started it says when it is complete */
    }
    mpixq_pair_raise_started(pair, started);
    mpixq_pair_raise_done(pair, done < started ? done : started);
    return mpixq_pair_is_in_flight(pair) && mpixq_schedule_failed_part(pair) != NULL
               ? MPIXQ_E_REQUEST_FAILED
               : MPIXQ_E_NONE;
}

static void gpus_halt(struct mpixq_pair *pair)
{
    struct mpixq_pair *part;

    for (int i = 0; !is_closed(pair) && (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        if (atomic_load(&part->counted) != NULL) {
            part->channel->graphs->halt(part);
        }
    }
}

static void gpus_close(struct mpixq_pair *pair)
{
    struct mpixq_pair *part;

    for (int i = 0; (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        mpixq_graphs_stop(part);
    }
    (void)mpixq_schedule_refresh(pair);
    /* The parts are about to go, each by itself; who looks at graphs just now may look at them. */
    atomic_store(&((struct mpixq_collective *)pair->end)->is_closed, true);
    mpixq_graphs_fence();
}

const struct mpixq_channel_graphs mpixq_schedule_graphs = {
    .begin = gpus_begin, .refresh = mpixq_schedule_refresh, .halt = gpus_halt, .close = gpus_close};
