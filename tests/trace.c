/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trace.c - lines, and the symbols in them
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"

enum { NAMES = 400, SYMBOLS = 4000, BELLS = 4000 };

struct lane {
    char *text;
    size_t length;
    FILE *file;
};
struct symbol {
    char letter;
    unsigned long value;
    int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lane lanes[TRACE_LANES]; /* under lock */
static atomic_bool is_on;
/* Of doorbells, which have no lock. */
static struct {
    unsigned counter;
    unsigned long offset, value;
    atomic_bool complete;
} bells[BELLS];
static atomic_int n_bells;

static struct {
    uintptr_t from;
    size_t bytes;
    const char *name;
} names[NAMES];
static int n_names;
static struct symbol symbols[SYMBOLS]; /* of the program */
static int n_symbols;
static char *all;
static size_t all_bytes;
static FILE *all_file;

static FILE *open_text(char **text_p, size_t *length_p)
{
    FILE *file = open_memstream(text_p, length_p);

    if (file == NULL) {
        perror("open_memstream");
        abort();
    }
    return file;
}

void trace_name(const void *memory, size_t bytes, const char *name)
{
    if (n_names == NAMES) {
        mtest_fail(__FILE__, __LINE__, "more than %d names", NAMES);
        return;
    }
    names[n_names].from = (uintptr_t)memory;
    names[n_names].bytes = bytes;
    names[n_names++].name = name;
}

void trace_begin(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TRACE_LANES; i++) {
        lanes[i].file = open_text(&lanes[i].text, &lanes[i].length);
    }
    atomic_store(&n_bells, 0);
    atomic_store(&is_on, true);
    pthread_mutex_unlock(&lock);
}

void trace_add(enum trace_lane lane, const char *format, ...)
{
    va_list args;

    pthread_mutex_lock(&lock);
    if (atomic_load(&is_on)) {
        va_start(args, format);
        vfprintf(lanes[lane].file, format, args);
        va_end(args);
        fputc('\n', lanes[lane].file);
    }
    pthread_mutex_unlock(&lock);
}

void trace_bell(unsigned counter, unsigned long offset, unsigned long value)
{
    int i = atomic_load(&is_on) ? atomic_fetch_add(&n_bells, 1) : BELLS;

    if (i < BELLS) {
        bells[i].counter = counter;
        bells[i].offset = offset;
        bells[i].value = value;
        atomic_store(&bells[i].complete, true);
    }
}

static void take_bells(void)
{
    int n = atomic_load(&n_bells);

    if (n > BELLS) {
        mtest_fail(__FILE__, __LINE__, "%d stores to doorbells are more than %d", n, BELLS);
        n = BELLS;
    }
    for (int i = 0; i < n; i++) {
        MTEST_CHECK(atomic_exchange(&bells[i].complete, false));
        fprintf(lanes[TRACE_BELLS].file, "add %lu to " TRACE_COUNTER "%s\n", bells[i].value,
                (unsigned long)bells[i].counter, bells[i].offset == 0 ? "" : " (other)");
    }
}

/* ---- What comes out ------------------------------------------------------------------------- */

static void put_symbol(FILE *file, char letter, unsigned long value)
{
    int n = 1;

    for (int i = 0; (letter == 'p' || letter == 'w') && i < n_names; i++) {
        if (value - names[i].from < names[i].bytes) {
            fprintf(file, "%s+%lu", names[i].name, value - (unsigned long)names[i].from);
            return;
        }
    }
    if (value == 0 && strchr("wp", letter) != NULL) {
        fputc('0', file);
        return;
    }
    for (int i = 0; i < n_symbols; i++) {
        if (symbols[i].letter == letter && symbols[i].value == value) {
            fprintf(file, "%c%d", letter, symbols[i].number);
            return;
        }
        n += symbols[i].letter == letter;
    }
    fprintf(file, "%c%d", letter, n);
    if (n_symbols == SYMBOLS) {
        mtest_fail(__FILE__, __LINE__, "more than %d symbols in a program", SYMBOLS);
        return;
    }
    symbols[n_symbols++] = (struct symbol){letter, value, n};
}

static void put_line(FILE *file, const char *line, const char *end)
{
    fputs("    ", file);
    while (line < end) {
        if (*line == '{') {
            char *rest;
            unsigned long value = strtoul(line + 2, &rest, 16);

            put_symbol(file, line[1], value);
            line = rest + 1;
        } else {
            fputc(*line++, file);
        }
    }
    fputc('\n', file);
}

static void put_lane(FILE *file, const char *title, const struct lane *lane)
{
    const char *line = lane->text, *end;

    if (lane->length == 0) {
        return;
    }
    fprintf(file, "  %s\n", title);
    for (; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        put_line(file, line, end);
    }
}

void trace_end(const char *program)
{
    static const char *const titles[] = {"calls", "posts", "doorbells", "MPI"};

    pthread_mutex_lock(&lock);
    atomic_store(&is_on, false);
    if (all_file == NULL) {
        all_file = open_text(&all, &all_bytes);
        fputs("# SPDX-License-Identifier: BSD-3-Clause\n"
              "# Copyright (c) 2026 the mpix-queue authors\n",
              all_file);
    }
    take_bells();
    fprintf(all_file, "%s\n", program);
    for (int i = 0; i < TRACE_LANES; i++) {
        fclose(lanes[i].file);
        put_lane(all_file, titles[i], &lanes[i]);
        free(lanes[i].text);
    }
    n_symbols = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fwrite(all, 1, all_bytes, file) != all_bytes || fclose(file) != 0) {
        mtest_fail(__FILE__, __LINE__, "cannot write %s", path);
    }
}

static char *read_file(const char *path)
{
    char *text = calloc(1, 1 << 22);
    FILE *file = fopen(path, "r");

    if (text == NULL || file == NULL) {
        mtest_fail(__FILE__, __LINE__, "cannot read %s", path);
        return text;
    }
    (void)!fread(text, 1, (1 << 22) - 1, file);
    fclose(file);
    return text;
}

static void compare(const char *golden, const char *path)
{
    const char *a = golden, *b = all;

    for (int line = 1; *a != '\0' || *b != '\0'; line++) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

        if (n != m || strncmp(a, b, n) != 0) {
            mtest_fail(__FILE__, __LINE__, "%s, line %d:\n  was  %.*s\n  now  %.*s", path, line,
                       (int)n, a, (int)m, b);
            return;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

void trace_compare(const char *name)
{
    const char *source = getenv("top_srcdir"), *build = getenv("top_builddir"),
               *what = getenv("MTEST_TRACES");
    char path[4096], now[4096], *golden;
    int failures = mtest_failures();

    fflush(all_file);
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s.%d", source != NULL ? source : ".", name,
                   mtest_rank);
    if (what != NULL && strcmp(what, "write") == 0) {
        write_file(path);
    } else {
        golden = read_file(path);
        compare(golden != NULL ? golden : "", path);
        free(golden);
    }
    if (mtest_failures() > failures) {
        (void)snprintf(now, sizeof now, "%s/tests/out/%s.%d.trace", build != NULL ? build : ".",
                       name, mtest_rank);
        write_file(now);
    }
    fclose(all_file);
    free(all);
}
