/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the library knows of itself and of where it runs, for mpixq_info: whoever knows something
 * tells it to whoever asks, as names and values, both for people.
 */
#ifndef MPIXQ_FACTS_H
#define MPIXQ_FACTS_H

#include <stdarg.h>
#include <stdio.h>

struct mpixq_facts {
    /* The texts last until it returns. Whether the fact is one of a long list that few want. */
    void (*take)(struct mpixq_facts *facts, const char *name, const char *value, int is_detail);
};

__attribute__((format(printf, 4, 5))) static inline void
mpixq_fact_of(struct mpixq_facts *facts, int is_detail, const char *name, const char *format, ...)
{
    char value[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(value, sizeof value, format, args);
    va_end(args);
    facts->take(facts, name, value, is_detail);
}

#define mpixq_fact(facts, name, ...) mpixq_fact_of(facts, 0, name, __VA_ARGS__)
#define mpixq_fact_detail(facts, name, ...) mpixq_fact_of(facts, 1, name, __VA_ARGS__)

#endif
