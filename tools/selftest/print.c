/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * print.c - as text, with what is alike in one line; and as JSON, each test by itself
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../info/json.h"
#include "../info/missed.h"
#include "config.h"
#include "selftest.h"

enum { MOST_FINDINGS = 20 };

struct line {
    const struct row *row;
    enum where where;
};

static int place_of(const struct row *row)
{
    int place = 0;

    while (place < N_USUAL && (int)usual[place] != row->channel) {
        place++;
    }
    return place;
}

/* Lines that say the same next to each other, with the times of all from least to most. */
static int by_kind(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = x->row->lane - y->row->lane;

    order = order != 0 ? order : (int)x->where - (int)y->where;
    order = order != 0 ? order : place_of(x->row) - place_of(y->row);
    order = order != 0 ? order : y->row->is_default - x->row->is_default;
    order = order != 0 ? order : x->row->state - y->row->state;
    order = order != 0 || x->row->state >= FAILED ? order : strcmp(x->row->text, y->row->text);
    if (order == 0) {
        order = (x->row->small_us > y->row->small_us) - (x->row->small_us < y->row->small_us);
    }
    return order;
}

static bool is_alike(const struct line *x, const struct line *y)
{
    return x->row->lane == y->row->lane && x->where == y->where &&
           x->row->channel == y->row->channel && x->row->is_default == y->row->is_default &&
           x->row->state == y->row->state &&
           (x->row->state >= FAILED || strcmp(x->row->text, y->row->text) == 0);
}

static double slowest_large(const struct line lines[], int n)
{
    double most = 0.0;

    for (int i = 0; i < n; i++) {
        most = lines[i].row->large_us > most ? lines[i].row->large_us : most;
    }
    return most;
}

static double rate(double us)
{
    return us > 0.0 ? ROOM / us / 1e3 : 0.0; /* in GB/s */
}

static void print_lines(const struct line lines[], int n)
{
    const struct row *row = lines[0].row, *middle = lines[(n - 1) / 2].row;

    printf("  %-6s  %-6s  %-11s  %-8s%c  %5d", lane_memory(row->lane), lane_stream(row->lane),
           where_names[lines[0].where], mpixq_channel_name((uint32_t)row->channel),
           row->is_default ? '*' : ' ', n);
    if (row->state == SERVED) {
        printf("  %9.2f  %9.2f  %7.2f  %7.2f  verified\n", middle->small_us,
               lines[n - 1].row->small_us, rate(middle->large_us), rate(slowest_large(lines, n)));
    } else {
        printf("  %s: %s\n", state_names[row->state],
               row->state >= FAILED ? "see errors" : row->text);
    }
}

static void print_table(const struct plan *plan, const struct rows *rows)
{
    struct line *lines = need(calloc((size_t)rows->n + 1, sizeof *lines));

    for (int i = 0; i < rows->n; i++) {
        const struct row *row = &rows->list[i];
        struct pair pair = {.low = row->low, .high = row->high};

        lines[i] = (struct line){.row = row, .where = plan_where(plan, &pair, row->lane)};
    }
    qsort(lines, (size_t)rows->n, sizeof *lines, by_kind);
    printf("  %-6s  %-6s  %-11s  %-9s  %5s  %9s  %9s  %7s  %7s\n", "memory", "stream", "between",
           "channel", "pairs", "us of 8 B", "slowest", "GB/s", "slowest");
    for (int i = 0, n; i < rows->n; i += n) {
        for (n = 1; i + n < rows->n && is_alike(&lines[i], &lines[i + n]); n++) {
        }
        print_lines(&lines[i], n);
    }
    printf("  *: serves if nobody chooses; GB/s: of 1 MiB, one way\n");
    free(lines);
}

static void print_tests(const struct rows *rows)
{
    printf("\ntests\n");
    for (int i = 0; i < rows->n; i++) {
        const struct row *row = &rows->list[i];

        printf("  %d-%d  %s memory, stream of %s, channel %s%s: ", row->low, row->high,
               lane_memory(row->lane), lane_stream(row->lane),
               mpixq_channel_name((uint32_t)row->channel), row->is_default ? "*" : "");
        if (row->state == SERVED) {
            printf("%.2f us, %.2f GB/s\n", row->small_us, rate(row->large_us));
        } else {
            printf("%s: %s\n", state_names[row->state], row->text);
        }
    }
}

static void print_findings(const char *title, const struct finding list[], int n)
{
    if (n > 0) {
        printf("\n%s\n", title);
    }
    for (int i = 0; i < n && (opts.all || i < MOST_FINDINGS); i++) {
        const struct finding *it = &list[i];

        if (it->low == it->high) {
            printf("  %s  [rank %d", it->text, it->low);
        } else {
            printf("  %s  [ranks %d and %d", it->text, it->low, it->high);
        }
        printf(it->n > 1 ? ", and %d more]\n" : "]\n", it->n - 1);
    }
    if (!opts.all && n > MOST_FINDINGS) {
        printf("  and %d more, which --all tells\n", n - MOST_FINDINGS);
    }
}

static const char *verdict_name(const struct verdict *verdict)
{
    return verdict->rc == BAD    ? "FAILED"
           : verdict->rc == SLOW ? "works, slower than it could"
                                 : "ok";
}

void print_text(const struct plan *plan, const struct rows *rows, const struct verdict *verdict)
{
    print_table(plan, rows);
    if (opts.all) {
        print_tests(rows);
    }
    print_findings("NICs", verdict->nics, verdict->n_nics);
    print_findings("errors", verdict->errors, verdict->n_errors);
    print_findings("slow", verdict->slow, verdict->n_slow);
    printf("\nselftest: %s: %d tests verified, %d errors, %d reasons to be slow",
           verdict_name(verdict), verdict->n_served, verdict->n_errors, verdict->n_slow);
    printf(verdict->n_left_out > 0 ? ", %d tests left out\n" : "\n", verdict->n_left_out);
}

static void print_json_test(const struct plan *plan, const struct row *row)
{
    struct pair pair = {.low = row->low, .high = row->high};

    printf("    {\"ranks\": [%d, %d], \"between\": \"%s\", \"memory\": \"%s\", \"stream\": \"%s\", "
           "\"channel\": \"%s\", \"default\": %s, \"outcome\": \"%s\"",
           row->low, row->high, where_names[plan_where(plan, &pair, row->lane)],
           lane_memory(row->lane), lane_stream(row->lane),
           mpixq_channel_name((uint32_t)row->channel), row->is_default ? "true" : "false",
           state_names[row->state]);
    if (row->state == SERVED) {
        printf(", \"us\": %.3f, \"gb_per_s\": %.3f", row->small_us, rate(row->large_us));
    } else {
        json_member("why", row->text);
    }
    printf("}");
}

static void print_json_findings(const char *name, const struct finding list[], int n)
{
    printf(",\n  \"%s\": [", name);
    for (int i = 0; i < n; i++) {
        printf("%s\n    {\"text\": ", i > 0 ? "," : "");
        json_string(list[i].text);
        printf(", \"ranks\": [%d, %d], \"times\": %d}", list[i].low, list[i].high, list[i].n);
    }
    printf("%s]", n > 0 ? "\n  " : "");
}

void print_json(const struct plan *plan, const struct rows *rows, const struct verdict *verdict)
{
    printf("{\n  \"version\": \"%s\",\n  \"ranks\": %d,\n  \"nodes\": %d,\n", PACKAGE_VERSION,
           plan->ranks, plan->nodes);
    printf("  \"verdict\": \"%s\",\n  \"exit\": %d,\n", verdict_name(verdict), verdict->rc);
    printf("  \"verified\": %d,\n  \"left_out\": %d,\n  \"tests\": [", verdict->n_served,
           verdict->n_left_out);
    for (int i = 0; i < rows->n; i++) {
        printf("%s\n", i > 0 ? "," : "");
        print_json_test(plan, &rows->list[i]);
    }
    printf("\n  ]");
    print_json_findings("nics", verdict->nics, verdict->n_nics);
    print_json_findings("errors", verdict->errors, verdict->n_errors);
    print_json_findings("slow", verdict->slow, verdict->n_slow);
    printf("\n}\n");
}
