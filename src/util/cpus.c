/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_WORDS = MPIXQ_CPUS_MAX / MPIXQ_CPUS_WORD };

int mpixq_cpus_count(const struct mpixq_cpus *cpus)
{
    int n = 0;

    for (int i = 0; i < N_WORDS; i++) {
        n += __builtin_popcountl(cpus->words[i]);
    }
    return n;
}

bool mpixq_cpus_equal(const struct mpixq_cpus *a, const struct mpixq_cpus *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool mpixq_cpus_within(const struct mpixq_cpus *part, const struct mpixq_cpus *whole)
{
    for (int i = 0; i < N_WORDS; i++) {
        if ((part->words[i] & ~whole->words[i]) != 0) {
            return false;
        }
    }
    return true;
}

void mpixq_cpus_unite(struct mpixq_cpus *cpus, const struct mpixq_cpus *more)
{
    for (int i = 0; i < N_WORDS; i++) {
        cpus->words[i] |= more->words[i];
    }
}

bool mpixq_cpus_meet(const struct mpixq_cpus *a, const struct mpixq_cpus *b)
{
    for (int i = 0; i < N_WORDS; i++) {
        if ((a->words[i] & b->words[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* A number at *text_p, which moves behind it; -1 if there is none that a CPU can have. */
static int parse_number(const char **text_p)
{
    char *end;
    long n;

    if (!isdigit((unsigned char)**text_p)) {
        return -1;
    }
    n = strtol(*text_p, &end, 10);
    *text_p = end;
    return n < MPIXQ_CPUS_MAX ? (int)n : -1;
}

bool mpixq_cpus_parse(const char *text, struct mpixq_cpus *cpus_p)
{
    memset(cpus_p, 0, sizeof *cpus_p);
    for (;;) {
        int first = parse_number(&text), last = first;

        if (*text == '-') {
            text++;
            last = parse_number(&text);
        }
        if (first < 0 || last < first) {
            return false;
        }
        for (int cpu = first; cpu <= last; cpu++) {
            mpixq_cpus_add(cpus_p, cpu);
        }
        if (*text == '\0' || *text == '\n') {
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
}

const char *mpixq_cpus_format(const struct mpixq_cpus *cpus, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int cpu = 0; cpu < MPIXQ_CPUS_MAX && used < size; cpu++) {
        int first = cpu;

        if (!mpixq_cpus_has(cpus, cpu)) {
            continue;
        }
        while (cpu + 1 < MPIXQ_CPUS_MAX && mpixq_cpus_has(cpus, cpu + 1)) {
            cpu++;
        }
        used += (size_t)snprintf(buffer + used, size - used, cpu > first ? "%s%d-%d" : "%s%d",
                                 used > 0 ? "," : "", first, cpu);
    }
    return buffer;
}

void mpixq_taken_add(struct mpixq_taken *taken, const struct mpixq_cpus *mask)
{
    if (!mpixq_cpus_within(&taken->all, mask)) {
        mpixq_cpus_unite(&taken->cpus, mask);
    }
}

void mpixq_taken_keep(struct mpixq_taken *taken, const struct mpixq_taken *other)
{
    for (size_t i = 0; i < sizeof taken->cpus.words / sizeof taken->cpus.words[0]; i++) {
        taken->cpus.words[i] &= other->cpus.words[i];
    }
}

/* Those allowed that are neither taken themselves nor, if cores is true, part of a core of which
 * something is taken. */
static void free_ones(const struct mpixq_cpus *allowed, const struct mpixq_cpus *taken,
                      int (*core_of)(int cpu), bool cores, struct mpixq_cpus *free_p)
{
    struct mpixq_cpus busy = {{0}}; /* cores, by number */

    memset(free_p, 0, sizeof *free_p);
    for (int cpu = 0; cores && cpu < MPIXQ_CPUS_MAX; cpu++) {
        if (mpixq_cpus_has(taken, cpu)) {
            mpixq_cpus_add(&busy, core_of(cpu));
        }
    }
    for (int cpu = 0; cpu < MPIXQ_CPUS_MAX; cpu++) {
        if (mpixq_cpus_has(allowed, cpu) && !mpixq_cpus_has(taken, cpu) &&
            !(cores && mpixq_cpus_has(&busy, core_of(cpu)))) {
            mpixq_cpus_add(free_p, cpu);
        }
    }
}

enum mpixq_choice mpixq_cpus_choose(const struct mpixq_cpus *allowed,
                                    const struct mpixq_taken *taken, int (*core_of)(int cpu),
                                    struct mpixq_cpus *chosen_p)
{
    if (mpixq_cpus_count(&taken->all) == 1) {
        *chosen_p = *allowed;
        return MPIXQ_CHOICE_ONLY;
    }
    if (!mpixq_cpus_meet(allowed, &taken->cpus)) {
        *chosen_p = *allowed;
        return MPIXQ_CHOICE_UNBOUND;
    }
    free_ones(allowed, &taken->cpus, core_of, true, chosen_p);
    if (mpixq_cpus_count(chosen_p) > 0) {
        return MPIXQ_CHOICE_CORES;
    }
    free_ones(allowed, &taken->cpus, core_of, false, chosen_p);
    if (mpixq_cpus_count(chosen_p) > 0) {
        return MPIXQ_CHOICE_CPUS;
    }
    *chosen_p = *allowed;
    return MPIXQ_CHOICE_SHARED;
}
