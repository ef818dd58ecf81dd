/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the unit tests share: cmocka with the headers that it wants, random numbers that are the
 * same everywhere, and a count of what the library holds on its heap.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

/* Blocks of the library's heap that are in use. Only in programs linked with unit_heap_ldflags. */
long unit_live_blocks(void);

static inline uint32_t unit_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

/* From 0 to n - 1. */
static inline int unit_pick(uint64_t *state, int n)
{
    return (int)(unit_random(state) % (uint32_t)n);
}

/* How many of n random programs are run: fewer by valgrind, which is told enough by the first. */
static inline uint64_t unit_programs(uint64_t n)
{
    const char *wrapper = getenv("MPIXQ_TEST_WRAPPER");

    return wrapper != NULL && *wrapper != '\0' ? n / 10 : n;
}

#endif
