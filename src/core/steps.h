/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits of several steps, on queues: what the stream has copied in one is on its way
 * while it copies in others. A step is a list of operations like any other, and streams know
 * nothing of it. The start of a channel (channel.h) fills the first step of a start, and its wait
 * the last one of a wait, and so do then_start and then_wait; the others are asked for by this
 * table. Of the pairs of a call starts begin together, and waits end together.
 */
#ifndef MPIXQ_STEPS_H
#define MPIXQ_STEPS_H

#include <stdbool.h>

#include "channel.h"

/* What a call enqueues, in this order; what goes on behind a wait comes with it (channel.h). */
enum mpixq_phase {
    MPIXQ_PHASE_START,
    MPIXQ_PHASE_WAIT,
    MPIXQ_PHASE_THEN_START,
    MPIXQ_PHASE_THEN_WAIT,
    MPIXQ_PHASES
};

/* Enqueue time, under the submission lock. */
struct mpixq_channel_steps {
    /* Of how many is a phase of the pair that is enqueued now? At least 1. */
    int (*count)(const struct mpixq_pair *pair, enum mpixq_phase phase);
    /* Fill one of the others, counted from 0, as start and wait of the channel do; with what the
     * stream copies, and of waits with goes_on set. */
    int (*fill)(struct mpixq_queue *queue, struct mpixq_pair *pair, enum mpixq_phase phase,
                int step, struct mpixq_op list[]);
};

static inline bool mpixq_phase_waits(enum mpixq_phase phase)
{
    return phase == MPIXQ_PHASE_WAIT || phase == MPIXQ_PHASE_THEN_WAIT;
}

static inline int mpixq_steps_of(const struct mpixq_pair *pair, enum mpixq_phase phase)
{
    const struct mpixq_channel_queues *queues = pair->channel->queues;

    return queues != NULL && queues->steps != NULL ? queues->steps->count(pair, phase) : 1;
}

/* Of a pair that is among others, of which some have so many steps. */
static inline int mpixq_steps_fill(struct mpixq_queue *queue, struct mpixq_pair *pair,
                                   enum mpixq_phase phase, int step, int most,
                                   struct mpixq_op list[])
{
    int own = mpixq_steps_of(pair, phase), at = mpixq_phase_waits(phase) ? step - most + own : step;

    return at >= 0 && at < own ? pair->channel->queues->steps->fill(queue, pair, phase, at, list)
                               : 0;
}

#endif
