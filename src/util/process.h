/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Processes of one machine, as they know each other: has another one ended? It can be told where
 * both see the same process numbers and times, and so not between containers, nor across machines.
 */
#ifndef MPIXQ_PROCESS_H
#define MPIXQ_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ident.h"

/* Travels in control messages: no padding. */
struct mpixq_process {
    struct mpixq_ident home; /* the kernel that runs, and its numbers and clocks; none: unknown */
    uint64_t pid;
    uint64_t birth; /* tells it from a later process with its number */
};

/* This one. Its home is none if the system does not tell enough. */
struct mpixq_process mpixq_process_self(void);
/* Is it there, as this process sees them? */
bool mpixq_process_is_seen(const struct mpixq_process *process);
/* Given that it was seen: has it certainly ended? False for one that is unknown, or stopped. */
bool mpixq_process_has_ended(const struct mpixq_process *process);

#endif
