/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A list of steps while it is written. */
#include <string.h>

#include "schedule.h"
#include "util/alloc.h"

static struct mpixq_step *add(struct mpixq_collective *collective, enum mpixq_step_kind kind)
{
    struct mpixq_step *step;

    if (collective->n_steps == collective->n_room) {
        int room = 2 * collective->n_room + 16;
        struct mpixq_step *more = mpixq_alloc((size_t)room * sizeof *more); /* freed with it */

        if (more == NULL) {
            collective->lacks_memory = true;
            return &collective->lost;
        }
        if (collective->n_steps > 0) {
            memcpy(more, collective->steps, (size_t)collective->n_steps * sizeof *more);
        }
        mpixq_free(collective->steps);
        collective->steps = more;
        collective->n_room = room;
    }
    step = &collective->steps[collective->n_steps++];
    *step = (struct mpixq_step){.kind = kind, .round = collective->n_rounds};
    return step;
}

void mpixq_schedule_send(struct mpixq_collective *collective, int peer, int tag,
                         struct mpixq_span from)
{
    struct mpixq_step *step = add(collective, MPIXQ_STEP_SEND);

    step->peer = peer;
    step->tag = tag;
    step->from = from;
}

void mpixq_schedule_recv(struct mpixq_collective *collective, int peer, int tag,
                         struct mpixq_span to)
{
    struct mpixq_step *step = add(collective, MPIXQ_STEP_RECV);

    step->peer = peer;
    step->tag = tag;
    step->to = to;
}

void mpixq_schedule_copy(struct mpixq_collective *collective, struct mpixq_span from,
                         struct mpixq_span to)
{
    struct mpixq_step *step = add(collective, MPIXQ_STEP_COPY);

    step->from = from;
    step->to = to;
}

void mpixq_schedule_reduce(struct mpixq_collective *collective, struct mpixq_span from,
                           struct mpixq_span to)
{
    struct mpixq_step *step = add(collective, MPIXQ_STEP_REDUCE);

    step->from = from;
    step->to = to;
}

void mpixq_schedule_combine(struct mpixq_collective *collective)
{
    (void)add(collective, MPIXQ_STEP_COMBINE);
}
