/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Where the library's own threads run. A thread inherits the CPUs of the one that makes it, which
 * may be a single one: OpenMP and others bind the main thread. Two threads that poll on one CPU
 * take turns of milliseconds, so each thread of the library finds a place itself, among those
 * CPUs that the process was started with: none of those that other threads of the process, or
 * neighbour ranks, are bound to, if there are others. Where there are not, all waits yield.
 *
 * Of neighbours only the main thread is looked at. The ranks of the node have told their processes
 * in MPI_Init (node.h), so nothing here is collective. What is bound for a moment does not count,
 * and each place is looked for again (mpixq_affinity_look_again).
 */
#ifndef MPIXQ_AFFINITY_H
#define MPIXQ_AFFINITY_H

#include <stdint.h>
#include <sys/types.h>

#include "cpus.h"

/* Before MPI is initialised, and when it is: the process may have been bound in between. */
void mpixq_affinity_before_init(void);
void mpixq_affinity_setup(void);
/* Number of CPUs that the process was started with. */
int mpixq_affinity_count(void);
/* Print where the threads may go, and why. */
void mpixq_affinity_print(void);

/* The place of a thread of the library; on its stack. */
struct mpixq_seat {
    const char *name;
    pid_t tid;
    bool placed;
    enum mpixq_choice choice;
    struct mpixq_cpus cpus;
    uint64_t looked_ns; /* when it was last looked for */
    struct mpixq_seat *next;
};

/* The calling thread takes a place, and gives it up before it ends. */
void mpixq_affinity_sit(struct mpixq_seat *seat, const char *name);
void mpixq_affinity_rise(void);
/* What the calling thread is called, for people; NULL: it has no place, as one of the program. */
const char *mpixq_affinity_name(void);
/* The calling thread goes to sleep: a moment to look, once in a second at most, whether others have
 * been bound to its CPUs since. Does nothing in threads without a place. */
void mpixq_affinity_look_again(void);

#endif
