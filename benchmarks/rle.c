/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rle.c - reader of run-length encoded patterns of the Game of Life
 *
 *     #N Glider                          lines with '#' in front are comments
 *     x = 3, y = 3, rule = B3/S23        the header: size, and the rule, which may be left out
 *     bob$2bo$3o!                        runs of b (dead), o (alive), $ (end of row), up to '!'
 *
 * A file comes from anywhere, so every number is checked before it is used.
 */
#include "rle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024

/* Where the next run goes, and how long it is; -1 as long as it has no number. */
struct cursor {
    int x, y, count;
};

/* The first line that is neither empty nor a comment. */
static const char *read_header(FILE *file, int *line, struct rle_pattern *pattern)
{
    char text[MAX_LINE];
    int used = 0;

    do {
        ++*line;
        if (fgets(text, sizeof text, file) == NULL) {
            return "the file has no header";
        }
        if (strchr(text, '\n') == NULL && !feof(file)) {
            return "the line is too long";
        }
    } while (text[0] == '#' || text[strspn(text, " \t\r\n")] == '\0');
    if (sscanf(text, " x = %6d , y = %6d %n, rule = B3/S23 %n", &pattern->width, &pattern->height,
               &used, &used) < 2 ||
        text[used] != '\0') {
        return "the header should be 'x = WIDTH, y = HEIGHT, rule = B3/S23'";
    }
    if (pattern->width < 1 || pattern->width > RLE_MAX_SIDE || pattern->height < 1 ||
        pattern->height > RLE_MAX_SIDE) {
        return "a side is less than 1 or too large";
    }
    return NULL;
}

static const char *put_run(struct rle_pattern *pattern, struct cursor *at, int tag, int count)
{
    if (count > (tag == '$' ? pattern->height - at->y : pattern->width - at->x) ||
        at->y >= pattern->height) {
        return "more cells than the header says";
    }
    if (tag == '$') {
        at->y += count;
        at->x = 0;
        return NULL;
    }
    memset(pattern->cells + (size_t)at->y * (size_t)pattern->width + at->x, tag == 'o',
           (size_t)count);
    at->x += count;
    return NULL;
}

/* Take one character of the runs. */
static const char *take(struct rle_pattern *pattern, struct cursor *at, int c)
{
    int run = at->count < 0 ? 1 : at->count;

    if (isdigit(c)) {
        at->count = (at->count < 0 ? 0 : at->count) * 10 + (c - '0');
        return at->count <= RLE_MAX_SIDE ? NULL : "a number is too large";
    }
    if (c != 'b' && c != 'o' && c != '$') {
        return "a character is none of b, o, $, ! and digits";
    }
    at->count = -1;
    return run == 0 ? "a number is 0" : put_run(pattern, at, c, run);
}

static const char *read_runs(FILE *file, int *line, struct rle_pattern *pattern)
{
    struct cursor at = {0, 0, -1};
    const char *mistake = NULL;
    int c;

    ++*line;
    while (mistake == NULL && (c = getc(file)) != '!') {
        if (c == EOF) {
            return "the pattern does not end with '!'";
        }
        *line += c == '\n';
        mistake = isspace(c) ? NULL : take(pattern, &at, c);
    }
    return mistake == NULL && at.count >= 0 ? "a number stands before '!'" : mistake;
}

bool rle_read(FILE *file, const char *name, struct rle_pattern *pattern, char *message,
              size_t message_size)
{
    int line = 0;
    const char *mistake = read_header(file, &line, pattern);

    pattern->cells = NULL;
    if (mistake == NULL) {
        pattern->cells = calloc((size_t)pattern->width * (size_t)pattern->height, 1);
        mistake = pattern->cells == NULL ? "no memory" : read_runs(file, &line, pattern);
    }
    if (mistake != NULL) {
        snprintf(message, message_size, "%s:%d: %s", name, line, mistake);
        rle_free(pattern);
    }
    return mistake == NULL;
}

void rle_free(struct rle_pattern *pattern)
{
    free(pattern->cells);
    pattern->cells = NULL;
}
