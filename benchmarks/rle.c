/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rle.c - reader of run-length encoded patterns
 *
 *     #N Glider                          lines with '#' are comments
 *     x = 3, y = 3, rule = B3/S23        the header: size, and the rule (Life if it is left out)
 *     bob$2bo$3o!                        runs of b (dead), o (alive), $ (end of row), up to '!'
 *
 * A file comes from anywhere, so every number is checked before it is used.
 */
#include "rle.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 4096

struct reader {
    FILE *file;
    const char *name;
    int line;
    char *message;
    size_t message_size;
};

static bool fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct reader *reader, const char *format, ...)
{
    va_list args;
    int used =
        snprintf(reader->message, reader->message_size, "%s:%d: ", reader->name, reader->line);

    if (used >= 0 && (size_t)used < reader->message_size) {
        va_start(args, format);
        vsnprintf(reader->message + used, reader->message_size - (size_t)used, format, args);
        va_end(args);
    }
    return false;
}

/* Digits 0 to 8 as bits; returns the first character that is none. */
static const char *parse_digits(const char *text, uint16_t *bits)
{
    *bits = 0;
    while (*text >= '0' && *text <= '8') {
        *bits = (uint16_t)(*bits | 1u << (*text - '0'));
        text++;
    }
    return text;
}

/* B3/S23, or the older form 23/3 that names survival first. */
bool rle_parse_rule(const char *text, struct life_rule *rule_p)
{
    struct life_rule rule;
    bool named = toupper((unsigned char)*text) == 'B';

    text = parse_digits(text + named, named ? &rule.birth : &rule.survive);
    if (*text++ != '/') {
        return false;
    }
    if (named && toupper((unsigned char)*text++) != 'S') {
        return false;
    }
    text = parse_digits(text, named ? &rule.survive : &rule.birth);
    if (*text != '\0') {
        return false;
    }
    *rule_p = rule;
    return true;
}

/* "x = 36" or the like: leaves *text behind the number and a comma, if there is one. */
static bool parse_side(const char **text, char letter, int *side_p)
{
    int used = 0, side;
    char name;

    if (sscanf(*text, " %c = %7d %n", &name, &side, &used) < 2 || used == 0 || name != letter ||
        side < 1 || side > RLE_MAX_SIDE) {
        return false;
    }
    *text += used;
    *text += **text == ',';
    *side_p = side;
    return true;
}

static bool parse_header(struct reader *reader, const char *text, struct rle_pattern *pattern)
{
    char rule[64] = "B3/S23";
    int used = 0;

    if (!parse_side(&text, 'x', &pattern->width) || !parse_side(&text, 'y', &pattern->height)) {
        return fail(reader,
                    "the header should be 'x = WIDTH, y = HEIGHT, rule = B3/S23', sides "
                    "from 1 to %d",
                    RLE_MAX_SIDE);
    }
    if ((long)pattern->width * pattern->height > RLE_MAX_CELLS) {
        return fail(reader, "the pattern has more than %ld cells", RLE_MAX_CELLS);
    }
    text += strspn(text, " \t\r\n");
    if (*text != '\0' && (sscanf(text, "rule = %63s %n", rule, &used) < 1 || text[used] != '\0')) {
        return fail(reader, "'rule = ...' should follow the sides, and nothing else");
    }
    if (!rle_parse_rule(rule, &pattern->rule)) {
        return fail(reader, "rule '%s' is not of the form B3/S23 or 23/3", rule);
    }
    return true;
}

/* The first line that is neither empty nor a comment must be the header. */
static bool read_header(struct reader *reader, struct rle_pattern *pattern)
{
    char line[MAX_LINE];

    while (fgets(line, sizeof line, reader->file) != NULL) {
        reader->line++;
        if (strchr(line, '\n') == NULL && !feof(reader->file)) {
            return fail(reader, "the line is longer than %d characters or holds a zero byte",
                        MAX_LINE - 2);
        }
        if (line[0] != '#' && line[strspn(line, " \t\r\n")] != '\0') {
            return parse_header(reader, line, pattern);
        }
    }
    return fail(reader, ferror(reader->file) ? "cannot read the file" : "the file has no header");
}

/* Where the next run goes. */
struct cursor {
    int x, y;
};

static bool put_run(struct reader *reader, struct rle_pattern *pattern, struct cursor *at, int tag,
                    int count)
{
    if (tag == '$') {
        if (count > pattern->height - at->y) {
            return fail(reader, "more rows than y = %d", pattern->height);
        }
        at->y += count;
        at->x = 0;
        return true;
    }
    if (at->y >= pattern->height) {
        return fail(reader, "more rows than y = %d", pattern->height);
    }
    if (count > pattern->width - at->x) {
        return fail(reader, "row %d has more cells than x = %d", at->y + 1, pattern->width);
    }
    memset(pattern->cells + (size_t)at->y * (size_t)pattern->width + at->x, tag == 'o',
           (size_t)count);
    at->x += count;
    return true;
}

/* Take one character of the runs. *count is the run count read so far, -1 if there is none. */
static bool take(struct reader *reader, struct rle_pattern *pattern, struct cursor *at, int c,
                 int *count)
{
    int run = *count < 0 ? 1 : *count;

    if (isdigit(c)) {
        *count = (*count < 0 ? 0 : *count) * 10 + (c - '0');
        return *count <= RLE_MAX_SIDE ? true : fail(reader, "the run count is too large");
    }
    if (c == 'b' || c == 'o' || c == '$') {
        if (run == 0) {
            return fail(reader, "the run count is 0");
        }
        *count = -1;
        return put_run(reader, pattern, at, c, run);
    }
    return isprint(c) ? fail(reader, "'%c' is none of b, o, $, ! and digits", c)
                      : fail(reader, "byte 0x%02x is none of b, o, $, ! and digits", (unsigned)c);
}

static bool read_runs(struct reader *reader, struct rle_pattern *pattern)
{
    struct cursor at = {0, 0};
    int c, count = -1;
    bool line_start = true;

    reader->line++;
    while ((c = getc(reader->file)) != EOF && c != '!') {
        if (line_start && c == '#') {
            while (c != '\n' && c != EOF) {
                c = getc(reader->file);
            }
        }
        line_start = c == '\n';
        reader->line += c == '\n';
        if (c != EOF && !isspace(c) && !take(reader, pattern, &at, c, &count)) {
            return false;
        }
    }
    if (c == EOF) {
        return fail(reader, "the pattern does not end with '!'");
    }
    return count < 0 ? true : fail(reader, "a run count stands before '!'");
}

bool rle_read(FILE *file, const char *name, struct rle_pattern *pattern, char *message,
              size_t message_size)
{
    struct reader reader = {
        .file = file, .name = name, .message = message, .message_size = message_size};

    pattern->cells = NULL;
    if (!read_header(&reader, pattern)) {
        return false;
    }
    pattern->cells = calloc((size_t)pattern->width * (size_t)pattern->height, 1);
    if (pattern->cells == NULL) {
        return fail(&reader, "no memory for %d x %d cells", pattern->width, pattern->height);
    }
    if (!read_runs(&reader, pattern)) {
        rle_free(pattern);
        return false;
    }
    return true;
}

void rle_free(struct rle_pattern *pattern)
{
    free(pattern->cells);
    pattern->cells = NULL;
}
