/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits of several steps (steps.h) of collectives by GPUs: those of the parts of a
 * round, of which the host moves some, in parts of their own. */
#include "schedule.h"
#include "steps.h"

/* The round of a phase: from *first_p on, up to what is returned; and what its parts do in it. */
static int find_round(const struct mpixq_collective *collective, enum mpixq_phase phase,
                      int *first_p, enum mpixq_phase *of_parts_p)
{
    bool is_first = phase == MPIXQ_PHASE_START || phase == MPIXQ_PHASE_WAIT;

    *first_p = is_first ? 0 : collective->n_first;
    *of_parts_p = mpixq_phase_waits(phase) ? MPIXQ_PHASE_WAIT : MPIXQ_PHASE_START;
    return is_first ? collective->n_first : collective->parted.n_used;
}

static int count_steps(const struct mpixq_pair *pair, enum mpixq_phase phase)
{
    const struct mpixq_collective *collective = pair->end;
    enum mpixq_phase of_parts;
    int most = 1, i, end = find_round(collective, phase, &i, &of_parts);

    for (; i < end; i++) {
        int steps = mpixq_steps_of(&collective->parted.parts[i]->pair, of_parts);

        most = steps > most ? steps : most;
    }
    return most;
}

static int fill_step(struct mpixq_queue *queue, struct mpixq_pair *pair, enum mpixq_phase phase,
                     int step, struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;
    enum mpixq_phase of_parts;
    int n = 0, most = count_steps(pair, phase), i,
        end = find_round(collective, phase, &i, &of_parts);

    for (; i < end; i++) {
        n += mpixq_steps_fill(queue, &collective->parted.parts[i]->pair, of_parts, step, most,
                              &list[n]);
    }
    return n;
}

const struct mpixq_channel_steps mpixq_schedule_part_steps = {.count = count_steps,
                                                              .fill = fill_step};
