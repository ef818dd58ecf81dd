/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Sets of CPUs (what Linux numbers: a core has one or more), and the choice of some for a thread of
 * the library. Pure data.
 */
#ifndef MPIXQ_CPUS_H
#define MPIXQ_CPUS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MPIXQ_CPUS_MAX = 8192, /* what Linux can be built for */
    MPIXQ_CPUS_WORD = 8 * sizeof(unsigned long)
};

/* Laid out as sched_getaffinity has it. */
struct mpixq_cpus {
    unsigned long words[MPIXQ_CPUS_MAX / MPIXQ_CPUS_WORD];
};

static inline void mpixq_cpus_add(struct mpixq_cpus *cpus, int cpu)
{
    cpus->words[cpu / MPIXQ_CPUS_WORD] |= 1ul << (cpu % MPIXQ_CPUS_WORD);
}
static inline bool mpixq_cpus_has(const struct mpixq_cpus *cpus, int cpu)
{
    return (cpus->words[cpu / MPIXQ_CPUS_WORD] >> (cpu % MPIXQ_CPUS_WORD) & 1) != 0;
}
int mpixq_cpus_count(const struct mpixq_cpus *cpus);
bool mpixq_cpus_equal(const struct mpixq_cpus *a, const struct mpixq_cpus *b);
/* Is every one of part in whole? */
bool mpixq_cpus_within(const struct mpixq_cpus *part, const struct mpixq_cpus *whole);
/* Is any one in both? */
bool mpixq_cpus_meet(const struct mpixq_cpus *a, const struct mpixq_cpus *b);
void mpixq_cpus_unite(struct mpixq_cpus *cpus, const struct mpixq_cpus *more);

/* Lists as in "0-3,8". False, and *cpus_p undefined, if text is none, or is empty. */
bool mpixq_cpus_parse(const char *text, struct mpixq_cpus *cpus_p);
/* Cut off if there is no room for all. Returns buffer. */
const char *mpixq_cpus_format(const struct mpixq_cpus *cpus, char *buffer, size_t size);

/* Who else is bound to what. */
struct mpixq_taken {
    struct mpixq_cpus all;  /* that a thread may be on; where bound is what it is bound among */
    struct mpixq_cpus cpus; /* bound to */
};
/* A thread has this mask. One that may be anywhere in all is not bound. */
void mpixq_taken_add(struct mpixq_taken *taken, const struct mpixq_cpus *mask);
/* Of what is bound to keep what is bound in the other, too. */
void mpixq_taken_keep(struct mpixq_taken *taken, const struct mpixq_taken *other);

enum mpixq_choice {
    MPIXQ_CHOICE_UNBOUND, /* nobody is bound to any of those allowed: all of them */
    MPIXQ_CHOICE_CORES,   /* all of whose core are free */
    MPIXQ_CHOICE_CPUS,    /* that are free, on cores that are not */
    MPIXQ_CHOICE_SHARED,  /* none is free: all allowed */
    MPIXQ_CHOICE_ONLY     /* one is allowed, and the others of the process are there too */
};
/* The best of those allowed. core_of tells the core of each CPU. */
enum mpixq_choice mpixq_cpus_choose(const struct mpixq_cpus *allowed,
                                    const struct mpixq_taken *taken, int (*core_of)(int cpu),
                                    struct mpixq_cpus *chosen_p);

#endif
