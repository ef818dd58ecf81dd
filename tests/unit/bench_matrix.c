/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_matrix.c - the reader of matrices, with good files and with every mistake it names; and the
 * rows of Poisson problems
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

#define BANNER(words) "%%MatrixMarket matrix " words "\n"

static bool read_text(const char *text, struct matrix *matrix, char message[MATRIX_TEXT])
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    bool valid;

    assert_non_null(file);
    valid = matrix_read(file, "name", matrix, message);
    fclose(file);
    return valid;
}

/* All elements, row by row. */
static void expect_matrix(const char *text, size_t side, const double elements[])
{
    struct matrix matrix;
    char message[MATRIX_TEXT] = "";

    if (!read_text(text, &matrix, message)) {
        fail_msg("%s", message);
    }
    assert_int_equal(matrix.side, side);
    assert_int_equal(matrix.rows, side);
    assert_int_equal(matrix.first, 0);
    for (size_t row = 0; row < side; row++) {
        size_t at = matrix.begin[row];

        for (size_t column = 0; column < side; column++) {
            double found = 0;

            if (at < matrix.begin[row + 1] && matrix.columns[at] == column) {
                found = matrix.values[at++];
            }
            assert_true(found == elements[row * side + column]);
        }
        assert_int_equal(at, matrix.begin[row + 1]);
    }
    matrix_free(&matrix);
}

static void expect_error(const char *text, const char *expected)
{
    struct matrix matrix;
    char message[MATRIX_TEXT] = "";

    assert_false(read_text(text, &matrix, message));
    assert_string_equal(message, expected);
    assert_null(matrix.begin);
    assert_null(matrix.columns);
    assert_null(matrix.values);
}

static void reads_matrices(void **state)
{
    (void)state;
    expect_matrix(BANNER("coordinate real symmetric") "% a comment\n\n2 2 3\n1 1 4.5\n2 1 -1e0\n"
                                                      "2 2 3\n",
                  2, (double[]){4.5, -1, -1, 3});
    /* In any order and case, with blanks, and without a last line end. */
    expect_matrix("%%matrixmarket MATRIX Coordinate INTEGER General \r\n%\n 3  3 5 \r\n3 3 7\r\n"
                  "\r\n2 1 -2\n  1\t1 5\n1 2 -2\n2 2 6",
                  3, (double[]){5, -2, 0, -2, 6, 0, 0, 0, 7});
    expect_matrix(BANNER("coordinate pattern symmetric") "2 2 3\n1 1\n2 2\n2 1\n", 2,
                  (double[]){1, 1, 1, 1});
    expect_matrix(BANNER("coordinate real general") "1 1 1\n1 1 1e-3\n\n\n", 1, (double[]){1e-3});
    /* Rounding is no asymmetry. */
    expect_matrix(BANNER("coordinate real general") "2 2 4\n1 1 2\n2 2 2\n1 2 1\n"
                                                    "2 1 1.00000000001\n",
                  2, (double[]){2, 1, 1.00000000001, 2});
}

static void tells_mistakes_of_the_head(void **state)
{
    char wide[3000];

    (void)state;
    expect_error("\n", "name:1: the first line is not '%%MatrixMarket matrix ...'");
    expect_error("%%MatrixMarket vector coordinate real general\n",
                 "name:1: the first line is not '%%MatrixMarket matrix ...'");
    expect_error(BANNER("coordinate real general more"),
                 "name:1: the first line is not '%%MatrixMarket matrix ...'");
    expect_error(BANNER("array real general"), "name:1: only the format 'coordinate' is read");
    expect_error(BANNER("coordinate complex general"),
                 "name:1: only 'real', 'integer' and 'pattern' are read");
    expect_error(BANNER("coordinate real skew-symmetric"),
                 "name:1: only 'general' and 'symmetric' are read");
    expect_error(BANNER("coordinate real general") "% only this\n",
                 "name:3: the file has no line of sizes");
    expect_error(BANNER("coordinate real general") "2 2\n",
                 "name:2: the line of sizes should be 'ROWS COLUMNS ENTRIES', none of them 0");
    expect_error(BANNER("coordinate real general") "2 2 -1\n",
                 "name:2: the line of sizes should be 'ROWS COLUMNS ENTRIES', none of them 0");
    expect_error(BANNER("coordinate real general") "2 2 1 1\n",
                 "name:2: the line of sizes should be 'ROWS COLUMNS ENTRIES', none of them 0");
    expect_error(BANNER("coordinate real general") "2 3 1\n", "name:2: the matrix is not square");
    expect_error(BANNER("coordinate real general") "2000000000 2000000000 1\n",
                 "name:2: the matrix is too large");
    expect_error(BANNER("coordinate real general") "99999999999999999999 99999999999999999999 1\n",
                 "name:2: the matrix is too large");
    memset(wide, '%', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    expect_error(wide, "name:1: the line is too long");
}

static void tells_mistakes_of_entries(void **state)
{
    (void)state;
#define REAL BANNER("coordinate real general")
    expect_error(REAL "2 2 2\n1 1 1\n", "name:4: fewer entries than the line of sizes says");
    expect_error(REAL "1 1 1\n1 1 1\n\n1 1 1\n",
                 "name:5: more entries than the line of sizes says");
    expect_error(REAL "2 2 1\n3 1 1\n", "name:3: a row or column is not in the matrix");
    expect_error(REAL "2 2 1\n1 0 1\n", "name:3: a row or column is not in the matrix");
    expect_error(REAL "2 2 1\n1 -1 1\n", "name:3: a row or column is not in the matrix");
    expect_error(REAL "2 2 1\n1 1.5 1\n", "name:3: a row or column is not in the matrix");
    expect_error(REAL "2 2 1\n1 1\n", "name:3: an entry has no value");
    expect_error(REAL "2 2 1\n1 1 1 1\n", "name:3: an entry should be 'ROW COLUMN VALUE'");
    expect_error(REAL "2 2 1\n1 1 nan\n", "name:3: an entry should be 'ROW COLUMN VALUE'");
    expect_error(REAL "2 2 1\n1 1 1e999\n", "name:3: an entry should be 'ROW COLUMN VALUE'");
    expect_error(BANNER("coordinate pattern general") "1 1 1\n1 1 1\n",
                 "name:3: an entry should be 'ROW COLUMN VALUE'");
    expect_error(BANNER("coordinate real symmetric") "2 2 1\n1 2 1\n",
                 "name:3: an entry above the diagonal of a symmetric matrix");
    expect_error(REAL "2 2 3\n1 1 1\n2 2 1\n1 1 2\n", "name: an entry is there twice");
    expect_error(REAL "2 2 3\n1 1 1\n2 2 1\n1 2 2\n", "name: the matrix is not symmetric");
    expect_error(REAL "2 2 4\n1 1 1\n2 2 1\n1 2 2\n2 1 1\n", "name: the matrix is not symmetric");
    expect_error(REAL "2 2 1\n1 1 1\n", "name: the matrix is not positive definite: not all of its "
                                        "diagonal is above 0");
    expect_error(REAL "2 2 2\n1 1 1\n2 2 -1\n", "name: the matrix is not positive definite: not "
                                                "all of its diagonal is above 0");
#undef REAL
}

/* Neighbours by their coordinates on a grid of this width. */
static double element(size_t row, size_t column, size_t width, int dimensions)
{
    size_t apart = 0;

    for (int k = 0; k < dimensions; k++) {
        size_t a = row % width, b = column % width;

        apart += a > b ? a - b : b - a;
        row = k == dimensions - 1 ? row : row / width;
        column = k == dimensions - 1 ? column : column / width;
    }
    return apart == 0 ? 2 * dimensions : apart == 1 ? -1 : 0;
}

static void expect_poisson(size_t points, int stencil, size_t width, size_t first, size_t rows)
{
    struct matrix matrix;
    double *unit = calloc(points, sizeof *unit), *found = calloc(rows + 1, sizeof *found);

    assert_true(unit != NULL && found != NULL);
    matrix_poisson(&matrix, points, stencil, first, rows);
    assert_int_equal(matrix.side, points);
    assert_int_equal(matrix.first, first);
    assert_int_equal(matrix.rows, rows);
    for (size_t column = 0; column < points; column++) {
        unit[column] = 1;
        matrix_multiply(&matrix, unit, found);
        unit[column] = 0;
        for (size_t row = 0; row < rows; row++) {
            assert_true(found[row] == element(first + row, column, width, stencil / 2));
        }
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = matrix.begin[i] + 1; k < matrix.begin[i + 1]; k++) {
            assert_true(matrix.columns[k] > matrix.columns[k - 1]);
        }
    }
    matrix_free(&matrix);
    free(unit);
    free(found);
}

static void makes_poisson_problems(void **state)
{
    (void)state;
    expect_poisson(1, 5, 1, 0, 1);
    expect_poisson(16, 5, 4, 0, 16);
    expect_poisson(14, 5, 4, 0, 14);
    expect_poisson(14, 5, 4, 5, 6);
    expect_poisson(14, 5, 4, 5, 0);
    expect_poisson(27, 7, 3, 0, 27);
    expect_poisson(60, 7, 4, 20, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_matrices), cmocka_unit_test(tells_mistakes_of_the_head),
        cmocka_unit_test(tells_mistakes_of_entries), cmocka_unit_test(makes_poisson_problems)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
