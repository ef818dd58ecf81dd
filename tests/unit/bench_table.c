/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_table.c - the table of the benchmarks keeps its columns apart, also on a machine so busy
 * that its numbers are far too large for them
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { COLUMNS = 14 };

/* The fields of the table's only line. */
static int print_row(const struct bench_row *row, char *fields[COLUMNS], char **text)
{
    struct bench_report report = {0};
    size_t size = 0;
    char *rest = NULL;
    int n = 0;

    report.table = open_memstream(text, &size);
    assert_non_null(report.table);
    bench_report_rows(&report, row, 1);
    assert_int_equal(fclose(report.table), 0);
    assert_non_null(strchr(*text, '\n'));
    assert_int_equal(strchr(*text, '\n') - *text + 1, size);
    for (char *at = strtok_r(*text, " \n", &rest); at != NULL; at = strtok_r(NULL, " \n", &rest)) {
        if (n < COLUMNS) {
            fields[n] = at;
        }
        n++;
    }
    return n;
}

static void keeps_columns_apart(void **state)
{
    static const char *const expected[COLUMNS] = {
        "1073741824",    "stream-ready", "123456789012.25", "223456789012.25", "123456789012.50",
        "~123456789.00", "fallback",     "1234567.00",      "2234567.00",      "3234567.00",
        "4234567.00",    "5234567.00",   "6234567.00",      "7234567.00"};
    const struct bench_row row = {
        .mode = BENCH_STREAM_READY,
        .channel = "fallback",
        .bytes = 1 << 30,
        .us = {.median = 123456789012.25, .p99 = 223456789012.25, .ci95 = 123456789012.5},
        .ratio = 123456789,
        .per_iteration = {.starts = 1234567,
                          .waits = 2234567,
                          .launches = 3234567,
                          .posts = 4234567,
                          .rings = 5234567,
                          .host = 6.234567,
                          .cpu = 7.234567},
    };
    char *fields[COLUMNS] = {NULL}, *text = NULL;

    (void)state;
    assert_int_equal(print_row(&row, fields, &text), COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        assert_string_equal(fields[i], expected[i]);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_columns_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
