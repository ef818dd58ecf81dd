/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * combine.c - the kernel that combines contributions: of all types, by all operations, of any
 * number and alignment, and in place, it gives the bits that the host gives, and writes no others
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "core/schedule.h"
#include "stream/kernels_host.h"

enum { ROOM = 2048, LARGEST = 8, GUARD = 64, NUMBERS = MPIXQ_BFLOAT16 + 1, OPS = MPIXQ_BXOR + 1 };

/* Of each contribution, and of the result: what is before it and behind it is not touched. */
struct buffers {
    unsigned char from[MPIXQ_CONTRIBUTIONS][ROOM], to[ROOM];
} __attribute__((aligned(64)));

static const unsigned sizes[NUMBERS] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2};

/* Of two NaN compilers have either one for the sum, as they change the order of its operands: so
 * there are none, nor numbers that are infinite, in whatever bytes the exponents are. */
static void fill(struct buffers *all, bool is_floating, uint64_t *seed)
{
    enum { EXPONENT = 0x40 }; /* its highest bit */
    unsigned char *bytes = (unsigned char *)all;

    for (size_t i = 0; i < sizeof *all; i++) {
        bytes[i] = (unsigned char)(unit_random(seed) & (is_floating ? ~EXPONENT : ~0));
    }
}

/* Where it is in these; each contribution from another multiple of its type, or all of the same. */
static struct mpixq_combine combine_in(struct buffers *all, const struct mpixq_combine *what,
                                       const int offsets[], int in_place)
{
    struct mpixq_combine combine = *what;

    for (unsigned k = 0; k < what->n; k++) {
        combine.from[k] = (char *)all->from[k] + GUARD + offsets[k];
    }
    combine.to = in_place >= 0 ? (char *)(uintptr_t)combine.from[in_place]
                               : (char *)all->to + GUARD + offsets[what->n];
    return combine;
}

static void check(struct mpixq_combine what, const int offsets[], int in_place, uint64_t *seed)
{
    static struct buffers by_kernel;
    static struct mpixq_collective by_host;
    static struct buffers expected;

    fill(&by_kernel, what.number == MPIXQ_FLOAT || what.number == MPIXQ_DOUBLE, seed);
    memcpy(&expected, &by_kernel, sizeof expected);
    by_host.combine = combine_in(&expected, &what, offsets, in_place);
    mpixq_schedule_combine_now(&by_host);
    mpixq_combine_wide(combine_in(&by_kernel, &what, offsets, in_place));
    if (memcmp(&by_kernel, &expected, sizeof expected) != 0) {
        fail_msg("type %d, operation %d, %llu of %u, by %u blocks, in place %d", what.number,
                 what.operation, what.count, what.n, what.blocks, in_place);
    }
}

/* Alike: all begin at the same distance from a multiple of what is read at once. */
static void pick(struct mpixq_combine what, bool alike, uint64_t *seed)
{
    int offsets[MPIXQ_CONTRIBUTIONS + 1], size = (int)sizes[what.number];
    int in_place = unit_pick(seed, 2) == 0 ? -1 : unit_pick(seed, (int)what.n);

    for (unsigned k = 0; k <= what.n; k++) {
        offsets[k] = alike && k > 0 ? offsets[0] : unit_pick(seed, 32 / size) * size;
    }
    what.bytes = what.count * (unsigned)size;
    check(what, offsets, in_place, seed);
}

static void test_all(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int number = 0; number < NUMBERS; number++) {
        for (int op = 0; op < (number < MPIXQ_FLOAT ? OPS : MPIXQ_LAND); op++) {
            for (unsigned i = 0; i < 200; i++) {
                struct mpixq_combine what = {.number = (unsigned char)number,
                                             .operation = (unsigned char)op};

                what.n = 2 + (unsigned)unit_pick(&seed, MPIXQ_CONTRIBUTIONS - 1);
                what.count = (unsigned)unit_pick(&seed, (ROOM - 3 * GUARD) / LARGEST);
                what.blocks = 1 + (unsigned)unit_pick(&seed, 5);
                pick(what, i % 4 != 0, &seed);
            }
        }
    }
}

/* Of a queue that has failed nothing is combined. */
static void test_nothing(void **state)
{
    uint64_t a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, to[4] = {9, 9, 9, 9}, go = 0, word = 0;
    const uint64_t before[4] = {9, 9, 9, 9};
    struct mpixq_combine all = {.to = (char *)to,
                                .from = {(char *)a, (char *)b},
                                .count = 4,
                                .bytes = sizeof a,
                                .n = 2,
                                .blocks = 1,
                                .number = MPIXQ_UINT64,
                                .operation = MPIXQ_SUM,
                                .go = &go,
                                .word = &word,
                                .value = 7};

    (void)state;
    mpixq_combine_wide(all);
    assert_memory_equal(to, before, sizeof to);
    assert_int_equal(word, 7);
    go = 1;
    mpixq_combine_wide(all);
    assert_int_equal(to[0], 6);
    assert_int_equal(to[3], 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
