/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halves.c - floating-point numbers of 16 bits, combined by the source of kernels: each of them
 * with special ones, with those beside it, and with random ones, of which the results are known
 */
#include "unit.h"

#include <string.h>

#include "core/schedule.h"
#include "../halves.h"

#define MPIXQ_INLINE static inline
typedef unsigned long long word_t;

#include "stream/combine.inc"

enum { ALL = 65536, OTHERS = 40 };

static const struct format {
    const char *name;
    int fraction;
    unsigned char number;
    unsigned short (*apply)(unsigned operation, unsigned short a, unsigned short b);
} formats[] = {{"float16", 10, MPIXQ_FLOAT16, apply_float16},
               {"bfloat16", 7, MPIXQ_BFLOAT16, apply_bfloat16}};

static const struct {
    unsigned operation;
    enum halves_operation expected;
    const char *name;
} operations[] = {{MPIXQ_SUM, HALVES_SUM, "sum"},
                  {MPIXQ_PROD, HALVES_PRODUCT, "product"},
                  {MPIXQ_MIN, HALVES_MINIMUM, "minimum"},
                  {MPIXQ_MAX, HALVES_MAXIMUM, "maximum"}};

static void check(const struct format *format, unsigned a, unsigned b)
{
    unsigned short x = (unsigned short)a, y = (unsigned short)b;

    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        unsigned short seen = format->apply(operations[i].operation, x, y);
        unsigned short right = halves_apply(operations[i].expected, x, y, format->fraction);

        if (seen != right) {
            fail_msg("%s of %s %04x and %04x is %04x, expected %04x", operations[i].name,
                     format->name, x, y, seen, right);
        }
    }
}

/* Zeros, the smallest and the largest ones of each kind, 1 and its neighbours, 1/2 of the last bit
 * of 1, what has no inverse, infinities, and what is no number. */
static void check_special(const struct format *format, unsigned a)
{
    unsigned one = (unsigned)halves_bias(format->fraction) << format->fraction;
    unsigned least = 1u << format->fraction, infinite = 0x7fff & ~(least - 1);
    const unsigned special[] = {0,
                                1,
                                2,
                                3,
                                least - 1,
                                least,
                                least + 1,
                                one - ((unsigned)format->fraction + 1) * least,
                                one - least,
                                one - 1,
                                one,
                                one + 1,
                                one + least / 2,
                                infinite - 1,
                                infinite,
                                infinite + 1,
                                0x7fff};

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        check(format, a, special[i]);
        check(format, special[i] | 0x8000, a);
    }
}

static void test_all(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        for (unsigned a = 0; a < ALL; a++) {
            check_special(&formats[f], a);
            for (int i = 0; i < OTHERS; i++) {
                unsigned random = unit_random(&seed);

                check(&formats[f], a, random % ALL);
                /* Of about the same size, and about the inverse: much is cancelled, and is left. */
                check(&formats[f], a, (a ^ 0x8000) + random / ALL % 64 - 32);
                check(&formats[f], a, 0x7fff - (a & 0x7fff) + random / ALL % 4096 - 2048);
            }
        }
    }
}

/* What is a number of the format comes through as it is, but for what is none. */
static void test_conversions(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        unsigned fraction = (unsigned)formats[f].fraction;

        for (unsigned a = 0; a < ALL; a++) {
            double value = halves_value(a, (int)fraction), wide = widen(a, fraction);

            if (isnan(value)) {
                assert_true(isnan(wide));
            } else {
                assert_memory_equal(&wide, &value, sizeof value);
                assert_int_equal(narrow(wide, fraction), a);
            }
        }
        assert_int_equal(narrow(1e300, fraction), 0x7fff & ~((1u << fraction) - 1));
        assert_int_equal(narrow(-1e-300, fraction), 0x8000);
        assert_int_equal(narrow(-4.9406564584124654e-324, fraction), 0x8000);
    }
}

/* Of the whole array, as a kernel does it and as hosts do, in blocks: the results are the same. */
static void test_arrays(void **state)
{
    static unsigned short a[ALL], b[ALL], by_kernel[ALL];
    static struct mpixq_collective collective;
    const struct mpixq_span from = {.at = a, .count = ALL}, to = {.at = b, .count = ALL};
    uint64_t seed = 11;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof operations / sizeof operations[0]; i++) {
        const struct format *format = &formats[i % 2];
        struct mpixq_combine all = {.to = (char *)by_kernel,
                                    .from = {(char *)a, (char *)b},
                                    .count = ALL,
                                    .n = 2,
                                    .number = format->number,
                                    .operation = (unsigned char)operations[i / 2].operation};

        for (unsigned k = 0; k < ALL; k++) {
            a[k] = (unsigned short)k;
            b[k] = (unsigned short)unit_random(&seed);
        }
        combine_part(&all, 0, all.count, 2);
        combine_part(&all, 1, all.count, 2);
        collective.combine.number = all.number;
        collective.combine.operation = all.operation;
        mpixq_schedule_combine_two(&collective, &from, &to);
        assert_memory_equal(b, by_kernel, sizeof b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversions),
                                       cmocka_unit_test(test_all), cmocka_unit_test(test_arrays)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
