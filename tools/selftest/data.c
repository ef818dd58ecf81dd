/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * data.c - what messages hold, and what they should have held
 *
 * Each byte depends on its place, on who sends it and in which step; so a byte that is late, in
 * another place or of somebody else is another one, as a rule.
 */
#include <stdio.h>

#include "selftest.h"

enum { POISON = 0xA5 };

static unsigned char byte_of(size_t place, int rank, int step)
{
    uint32_t x = (uint32_t)place * 0x9E3779B1u + (uint32_t)rank * 0x85EBCA6Bu +
                 (uint32_t)(step + 1) * 0xC2B2AE35u;

    x = (x ^ x >> 15) * 0x2C1B3C6Du;
    return (unsigned char)(x >> 19);
}

void data_fill(unsigned char *to, size_t bytes, int rank, int step)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = byte_of(i, rank, step);
    }
}

static unsigned char poison_of(size_t place)
{
    return (unsigned char)(POISON ^ place % 7);
}

void data_poison(unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = poison_of(i);
    }
}

bool data_check(const unsigned char *span, size_t bytes, int rank, int step, char why[TEXT])
{
    size_t n_wrong = 0, first = 0;
    unsigned found = 0, expected = 0;

    for (size_t i = 0; i < GUARD + bytes + GUARD; i++) {
        bool is_guard = i < GUARD || i >= GUARD + bytes;
        unsigned right = is_guard ? poison_of(i) : byte_of(i - GUARD, rank, step);

        if (span[i] == right) {
            continue;
        }
        if (n_wrong == 0) {
            first = i;
            found = span[i];
            expected = right;
        }
        n_wrong++;
    }
    if (n_wrong > 0) {
        (void)snprintf(why, TEXT,
                       "of %zu bytes from rank %d in step %d and %d before and behind, %zu are "
                       "wrong, first number %ld: %02x, not %02x",
                       bytes, rank, step, GUARD, n_wrong, (long)first - GUARD, found, expected);
    }
    return n_wrong == 0;
}
