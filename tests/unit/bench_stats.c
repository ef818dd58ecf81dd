/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_stats.c - what the benchmarks make of the times of their trials
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "bench.h"

static void knows_few_values(void **state)
{
    static const double one[] = {7}, two[] = {4, 2}, three[] = {9, 1, 5};
    struct bench_summary s;

    (void)state;
    assert_true(isnan(bench_summarise(one, 0).median));
    s = bench_summarise(one, 1);
    assert_true(s.median == 7 && s.p99 == 7 && s.ci95 == 0);
    s = bench_summarise(two, 2);
    assert_true(s.median == 3 && s.p99 == 4);
    s = bench_summarise(three, 3);
    assert_true(s.median == 5 && s.p99 == 9);
}

static void p99_is_nearest_rank(void **state)
{
    double values[200];

    (void)state;
    for (int i = 0; i < 200; i++) {
        values[i] = 200 - i;
    }
    assert_true(bench_summarise(values, 100).p99 == 199); /* of 101..200 */
    assert_true(bench_summarise(values, 99).p99 == 200);
    assert_true(bench_summarise(values, 200).p99 == 198);
    assert_true(bench_summarise(values, 200).median == 100.5);
}

static void one_outlier_moves_nothing(void **state)
{
    double values[41];

    (void)state;
    for (int i = 0; i < 41; i++) {
        values[i] = 10;
    }
    values[17] = 1e9;
    assert_true(bench_summarise(values, 41).median == 10);
    assert_true(bench_summarise(values, 41).ci95 == 0);
    assert_true(bench_summarise(values, 41).p99 == 1e9);
}

/* For uniform values on [0, 1] the standard error of the median of n is about 1 / (2 sqrt(n)). */
static void interval_has_right_size(void **state)
{
    uint64_t random = 42;
    double sum = 0;

    (void)state;
    for (int repeat = 0; repeat < 50; repeat++) {
        double values[101];

        for (int i = 0; i < 101; i++) {
            values[i] = bench_random(&random) / 4294967296.0;
        }
        sum += bench_summarise(values, 101).ci95;
    }
    assert_true(fabs(sum / 50 - 1.96 / (2 * sqrt(101))) < 0.02);
}

/* Even and odd numbers of values take different ways through the resampling. */
static void interval_of_two_values(void **state)
{
    static const double values[] = {0, 1, 0, 1, 0, 1, 0, 1};

    (void)state;
    assert_true(bench_summarise(values, 8).ci95 == 0.5);
    assert_true(bench_summarise(values, 7).ci95 == 0.5);
}

static void parses_sizes(void **state)
{
    size_t size, sizes[BENCH_MAX_SIZES];
    int num;

    (void)state;
    assert_true(bench_parse_size("8", &size) && size == 8);
    assert_true(bench_parse_size("4k", &size) && size == 4096);
    assert_true(bench_parse_size("3M", &size) && size == 3145728);
    assert_true(bench_parse_size("1G", &size) && size == 1073741824);
    assert_false(bench_parse_size("", &size));
    assert_false(bench_parse_size("0", &size));
    assert_false(bench_parse_size("-8", &size));
    assert_false(bench_parse_size(" 8", &size));
    assert_false(bench_parse_size("8T", &size));
    assert_false(bench_parse_size("8KB", &size));
    assert_false(bench_parse_size("99999999999999999999", &size));
    assert_false(bench_parse_size("18446744073709551615G", &size));
    assert_true(bench_parse_size_list("8,64,4K", sizes, &num));
    assert_true(num == 3 && sizes[0] == 8 && sizes[1] == 64 && sizes[2] == 4096);
    assert_false(bench_parse_size_list("", sizes, &num));
    assert_false(bench_parse_size_list("8,", sizes, &num));
    assert_false(bench_parse_size_list(",8", sizes, &num));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_few_values),          cmocka_unit_test(p99_is_nearest_rank),
        cmocka_unit_test(one_outlier_moves_nothing), cmocka_unit_test(interval_has_right_size),
        cmocka_unit_test(interval_of_two_values),    cmocka_unit_test(parses_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
