/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * matrix.c - reader of the Matrix Market format, and Poisson problems
 *
 *     %%MatrixMarket matrix coordinate real symmetric     or integer, pattern; or general
 *     % lines with '%' in front are comments
 *     2 2 2                                               rows, columns, entries
 *     1 1 4.5                                             row, column from 1 on; pattern: no value
 *     2 1 -1                                              symmetric: what is below the diagonal
 *
 * A reader of our own: the one that Debian has for C is part of CHOLMOD, which brings BLAS and
 * LAPACK along. A file comes from anywhere, so every number is checked before it is used.
 */
#include "matrix.h"
#include "bench.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024
#define MAX_ENTRIES 2147483647 /* with those that symmetry implies */
/* The two halves of a general matrix may differ by rounding. */
#define SAME 1e-10

struct entry {
    uint32_t row, column;
    double value;
};

struct reader {
    FILE *file;
    size_t line;
    char text[MAX_LINE];
    bool is_pattern, is_symmetric;
    size_t side, num, room;
    struct entry *entries;
};

/* The next line, or what is wrong. */
static const char *next_line(struct reader *in, const char *missing)
{
    in->line++;
    if (fgets(in->text, sizeof in->text, in->file) == NULL) {
        return missing;
    }
    return strchr(in->text, '\n') == NULL && !feof(in->file) ? "the line is too long" : NULL;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static const char *read_banner(struct reader *in)
{
    char object[16], format[16], field[16], symmetry[32];
    int used = 0;
    const char *wrong = next_line(in, "the file is empty");

    if (wrong != NULL) {
        return wrong;
    }
    for (char *c = in->text; *c != '\0'; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    if (sscanf(in->text, "%%%%matrixmarket %15s %15s %15s %31s%n", object, format, field, symmetry,
               &used) != 4 ||
        !is_blank(in->text + used) || strcmp(object, "matrix") != 0) {
        return "the first line is not '%%MatrixMarket matrix ...'";
    }
    in->is_pattern = strcmp(field, "pattern") == 0;
    in->is_symmetric = strcmp(symmetry, "symmetric") == 0;
    if (strcmp(format, "coordinate") != 0) {
        return "only the format 'coordinate' is read";
    }
    if (!in->is_pattern && strcmp(field, "real") != 0 && strcmp(field, "integer") != 0) {
        return "only 'real', 'integer' and 'pattern' are read";
    }
    return !in->is_symmetric && strcmp(symmetry, "general") != 0
               ? "only 'general' and 'symmetric' are read"
               : NULL;
}

/* A whole number without a sign that ends at a blank, and from where the text goes on; 0: none. */
static size_t take_number(char **text)
{
    char *end, *begin = *text + strspn(*text, " \t");
    unsigned long value;

    if (!isdigit((unsigned char)*begin)) {
        return 0;
    }
    value = strtoul(begin, &end, 10);
    *text = end;
    return *end == '\0' || isspace((unsigned char)*end) ? (size_t)value : 0;
}

static const char *read_sizes(struct reader *in)
{
    const char *wrong;
    char *text = in->text;
    size_t columns;

    do {
        wrong = next_line(in, "the file has no line of sizes");
    } while (wrong == NULL && (in->text[0] == '%' || is_blank(in->text)));
    if (wrong != NULL) {
        return wrong;
    }
    in->side = take_number(&text);
    columns = take_number(&text);
    in->num = take_number(&text);
    if (in->side == 0 || columns == 0 || in->num == 0 || !is_blank(text)) {
        return "the line of sizes should be 'ROWS COLUMNS ENTRIES', none of them 0";
    }
    if (in->side != columns) {
        return "the matrix is not square";
    }
    return in->side > MATRIX_MAX_SIDE || in->num > MAX_ENTRIES ? "the matrix is too large" : NULL;
}

static const char *take_entry(struct reader *in, struct entry *entry)
{
    char *text = in->text, *end;
    size_t row = take_number(&text), column = take_number(&text);

    if (row == 0 || column == 0 || row > in->side || column > in->side) {
        return "a row or column is not in the matrix";
    }
    *entry = (struct entry){.row = (uint32_t)(row - 1), .column = (uint32_t)(column - 1)};
    entry->value = 1;
    if (!in->is_pattern) {
        entry->value = strtod(text, &end);
        if (end == text) {
            return "an entry has no value";
        }
        text = end;
    }
    if (!is_blank(text) || !isfinite(entry->value)) {
        return "an entry should be 'ROW COLUMN VALUE'";
    }
    return in->is_symmetric && row < column ? "an entry above the diagonal of a symmetric matrix"
                                            : NULL;
}

/* What a file promises takes no memory before it is there. */
static bool make_room(struct reader *in, size_t used)
{
    struct entry *more;

    if (used + 2 <= in->room) {
        return true;
    }
    in->room = in->room == 0 ? 1024 : 2 * in->room;
    more = realloc(in->entries, in->room * sizeof *more);
    if (more == NULL) {
        return false;
    }
    in->entries = more;
    return true;
}

/* All entries, those too that symmetry implies. */
static const char *read_entries(struct reader *in)
{
    size_t used = 0;

    for (size_t i = 0; i < in->num; i++) {
        const char *wrong;
        struct entry *entry;

        do {
            wrong = next_line(in, "fewer entries than the line of sizes says");
        } while (wrong == NULL && is_blank(in->text));
        if (wrong == NULL && (used + 2 > MAX_ENTRIES || !make_room(in, used))) {
            wrong = "there is no room for so many entries";
        }
        entry = in->entries + used;
        wrong = wrong == NULL ? take_entry(in, entry) : wrong;
        if (wrong != NULL) {
            return wrong;
        }
        used++;
        if (in->is_symmetric && entry->row != entry->column) {
            in->entries[used++] =
                (struct entry){.row = entry->column, .column = entry->row, .value = entry->value};
        }
    }
    in->num = used;
    while (next_line(in, "") == NULL) {
        if (!is_blank(in->text)) {
            return "more entries than the line of sizes says";
        }
    }
    return NULL;
}

static int by_place(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;

    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->column > b->column) - (a->column < b->column);
}

static bool allocate(struct matrix *matrix, size_t entries)
{
    matrix->begin = calloc(matrix->rows + 1, sizeof *matrix->begin);
    matrix->columns = malloc((entries + 1) * sizeof *matrix->columns);
    matrix->values = malloc((entries + 1) * sizeof *matrix->values);
    return matrix->begin != NULL && matrix->columns != NULL && matrix->values != NULL;
}

/* The entry at a place, or NULL. */
static const double *find(const struct matrix *matrix, size_t row, uint32_t column)
{
    size_t low = matrix->begin[row], end = matrix->begin[row + 1], high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (matrix->columns[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && matrix->columns[low] == column ? &matrix->values[low] : NULL;
}

/* What can be seen without solving: symmetric, and above 0 on the diagonal. */
static const char *check(const struct matrix *matrix)
{
    for (size_t row = 0; row < matrix->rows; row++) {
        const double *diagonal = find(matrix, row, (uint32_t)row);

        if (diagonal == NULL || *diagonal <= 0) {
            return "the matrix is not positive definite: not all of its diagonal is above 0";
        }
        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++) {
            const double *other = find(matrix, matrix->columns[i], (uint32_t)row);
            double here = matrix->values[i];

            if (other == NULL || fabs(here - *other) > SAME * (fabs(here) + fabs(*other))) {
                return "the matrix is not symmetric";
            }
        }
    }
    return NULL;
}

static const char *assemble(struct reader *in, struct matrix *matrix)
{
    *matrix = (struct matrix){.side = in->side, .rows = in->side};
    qsort(in->entries, in->num, sizeof *in->entries, by_place);
    if (!allocate(matrix, in->num)) {
        return "there is no memory for the matrix";
    }
    for (size_t i = 0; i < in->num; i++) {
        if (i > 0 && by_place(&in->entries[i], &in->entries[i - 1]) == 0) {
            return "an entry is there twice";
        }
        matrix->begin[in->entries[i].row + 1]++;
        matrix->columns[i] = in->entries[i].column;
        matrix->values[i] = in->entries[i].value;
    }
    for (size_t row = 0; row < matrix->rows; row++) {
        matrix->begin[row + 1] += matrix->begin[row];
    }
    return check(matrix);
}

bool matrix_read(FILE *file, const char *name, struct matrix *matrix, char message[MATRIX_TEXT])
{
    struct reader in = {.file = file};
    const char *wrong = read_banner(&in);

    *matrix = (struct matrix){0};
    wrong = wrong == NULL ? read_sizes(&in) : wrong;
    wrong = wrong == NULL ? read_entries(&in) : wrong;
    if (wrong != NULL) {
        snprintf(message, MATRIX_TEXT, "%.*s:%zu: %s", MATRIX_TEXT / 2, name, in.line, wrong);
    } else {
        wrong = assemble(&in, matrix);
        if (wrong != NULL) {
            snprintf(message, MATRIX_TEXT, "%.*s: %s", MATRIX_TEXT / 2, name, wrong);
            matrix_free(matrix);
        }
    }
    free(in.entries);
    return wrong == NULL;
}

/* The least number whose power is not below. */
static size_t root(size_t number, int power)
{
    size_t side = (size_t)pow((double)number, 1.0 / power);

    while (pow((double)side, power) < (double)number) {
        side++;
    }
    return side;
}

void matrix_poisson(struct matrix *matrix, size_t points, int stencil, size_t first, size_t rows)
{
    int dimensions = stencil / 2;
    size_t width = root(points, dimensions), used = 0;
    size_t step[] = {1, width, width * width};

    *matrix = (struct matrix){.side = points, .first = first, .rows = rows};
    matrix->begin = bench_alloc((rows + 1) * sizeof *matrix->begin);
    matrix->columns = bench_alloc(rows * (size_t)stencil * sizeof *matrix->columns);
    matrix->values = bench_alloc(rows * (size_t)stencil * sizeof *matrix->values);
    for (size_t row = first; row < first + rows; row++) {
        for (int k = -dimensions; k <= dimensions; k++) {
            size_t by = k == 0 ? 0 : step[abs(k) - 1];
            size_t at = k == 0 ? 0 : row / by % width; /* in this dimension */

            if ((k < 0 && (at == 0 || by > row)) ||
                (k > 0 && (at == width - 1 || row + by >= points))) {
                continue;
            }
            matrix->columns[used] = (uint32_t)(k < 0 ? row - by : row + by);
            matrix->values[used++] = k == 0 ? stencil - 1 : -1;
        }
        matrix->begin[row - first + 1] = used;
    }
}

void matrix_free(struct matrix *matrix)
{
    free(matrix->begin);
    free(matrix->columns);
    free(matrix->values);
    *matrix = (struct matrix){0};
}

void matrix_multiply(const struct matrix *matrix, const double in[], double out[])
{
    for (size_t row = 0; row < matrix->rows; row++) {
        double sum = 0;

        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++) {
            sum += matrix->values[i] * in[matrix->columns[i]];
        }
        out[row] = sum;
    }
}
