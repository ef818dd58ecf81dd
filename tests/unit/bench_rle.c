/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_rle.c - the reader of patterns, with good files and with every mistake it names
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rle.h"

static bool read_text(const char *text, size_t length, struct rle_pattern *pattern, char *message)
{
    FILE *file = fmemopen((void *)text, length, "r");
    bool valid;

    assert_non_null(file);
    valid = rle_read(file, "name", pattern, message, 256);
    fclose(file);
    return valid;
}

/* Rows of '.' and 'o', one after the other, without line ends. */
static void expect_cells(const char *text, int width, int height, const char *rows)
{
    struct rle_pattern pattern;
    char message[256] = "";

    if (!read_text(text, strlen(text), &pattern, message)) {
        fail_msg("%s", message);
    }
    assert_int_equal(pattern.width, width);
    assert_int_equal(pattern.height, height);
    assert_int_equal(strlen(rows), width * height);
    for (int i = 0; i < width * height; i++) {
        assert_int_equal(pattern.cells[i], rows[i] == 'o');
    }
    rle_free(&pattern);
}

static void expect_error(const char *text, const char *expected)
{
    struct rle_pattern pattern;
    char message[256] = "";

    assert_false(read_text(text, strlen(text), &pattern, message));
    if (strstr(message, expected) == NULL) {
        fail_msg("'%s' does not contain '%s'", message, expected);
    }
    assert_null(pattern.cells);
}

static void reads_patterns(void **state)
{
    (void)state;
    expect_cells("x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n", 3, 3, ".o...oooo");
    expect_cells("#N Glider\r\n#C text\r\nx=3,y=3\r\nbob$2bo$3o!", 3, 3, ".o...oooo");
    expect_cells("\n  x = 2, y = 4\n2o3$o!ignored $$$ 9z", 2, 4, "oo....o.");
    expect_cells("x = 12, y = 1\n1\n2o!", 12, 1, "oooooooooooo");
    expect_cells("x = 2, y = 2\noo$oo$!", 2, 2, "oooo");
    expect_cells("x = 1, y = 1\n!", 1, 1, ".");
}

static void names_mistakes_of_header(void **state)
{
    static const char should_be[] = "name:1: the header should be";

    (void)state;
    expect_error("#N nothing\n", "name:2: the file has no header");
    expect_error("#C\n\nbob$!\n", "name:3: the header should be");
    expect_error("y = 3, x = 3\nbob$!\n", should_be);
    expect_error("x = 99999999999999999999, y = 3\n!", should_be);
    expect_error("x = 3, y = 3, size = 4\n!", should_be);
    expect_error("x = 3, y = 3, rule = B36/S23\n!", should_be);
    expect_error("x = 3, y = 3, rule = B3/S23 more\n!", should_be);
    expect_error("x = 3, y = 3, rule = B3/S234\n!", should_be);
    expect_error("x = 0, y = 3\n!", "name:1: a side is");
    expect_error("x = 3, y = -1\n!", "name:1: a side is");
    expect_error("x = 16385, y = 3\n!", "name:1: a side is");
}

static void names_mistakes_of_runs(void **state)
{
    (void)state;
    expect_error("x = 3, y = 1\nbob\n", "name:3: the pattern does not end with '!'");
    expect_error("x = 3, y = 1\n4o!", "name:2: more cells than the header says");
    expect_error("x = 3, y = 2\n3o\n$2o\n2b!", "name:4: more cells than the header says");
    expect_error("x = 3, y = 1\n3o$o!", "name:2: more cells than the header says");
    expect_error("x = 3, y = 3\n4$!", "name:2: more cells than the header says");
    expect_error("x = 3, y = 1\n0o!", "name:2: a number is 0");
    expect_error("x = 3, y = 1\n99999999999999999999o!", "name:2: a number is too large");
    expect_error("x = 3, y = 1\n2!", "name:2: a number stands before '!'");
    expect_error("x = 3, y = 1\noAo!", "name:2: a character is none of");
    expect_error("x = 3, y = 1\no\x01o!", "name:2: a character is none of");
}

/* A file may end anywhere, and hold anything: there is an answer, and no harm. */
static void survives_every_prefix_and_flip(void **state)
{
    static const char good[] = "#C c\nx = 5, y = 3, rule = B3/S23\n2bo2b$5o$\n2b3o!\n";
    struct rle_pattern pattern;
    char message[256], text[sizeof good];

    (void)state;
    for (size_t length = 1; length < sizeof good; length++) {
        if (read_text(good, length, &pattern, message)) {
            rle_free(&pattern);
        }
    }
    for (size_t i = 0; i < sizeof good - 1; i++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, good, sizeof good);
            text[i] = (char)byte;
            if (read_text(text, sizeof good - 1, &pattern, message)) {
                rle_free(&pattern);
            }
        }
    }
}

static void refuses_long_line(void **state)
{
    char *text = malloc(10000);

    (void)state;
    assert_non_null(text);
    memset(text, ' ', 9999);
    text[9999] = '\0';
    expect_error(text, "name:1: the line is too long");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_patterns),         cmocka_unit_test(names_mistakes_of_header),
        cmocka_unit_test(names_mistakes_of_runs), cmocka_unit_test(survives_every_prefix_and_flip),
        cmocka_unit_test(refuses_long_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
