/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * print.c - the report as text and as JSON: the same facts in the same order
 */
#include <string.h>

#include "config.h"
#include "info.h"
#include "json.h"

enum { LEAST_COLUMN = 22, MOST_COLUMN = 54 };

/* "0-3,7" */
static void print_ranks(const struct fact *fact)
{
    for (int i = 0; i < fact->n_ranges; i++) {
        const struct range *range = &fact->ranks[i];

        printf(range->first == range->last ? "%s%d" : "%s%d-%d", i > 0 ? "," : "", range->first,
               range->last);
    }
}

static bool is_shown(const struct fact *fact, enum section section, bool all)
{
    return fact->section == section && (all || !fact->is_detail);
}

static int column_of(const struct report *report, enum section section, bool all)
{
    int column = LEAST_COLUMN;

    for (int i = 0; i < report->n; i++) {
        int length = (int)strlen(report->list[i].name) + 2;

        if (is_shown(&report->list[i], section, all) && length > column && length <= MOST_COLUMN) {
            column = length;
        }
    }
    return column;
}

/* A line for each fact, which says all of it, for grep. */
static void print_line(const struct report *report, const struct fact *fact, int column)
{
    printf("  %-*s  %s", column - 2, fact->name, fact->value);
    if (fact->source[0] != '\0') {
        printf("  (%s%s%s)", fact->source, fact->note[0] != '\0' ? ": " : "", fact->note);
    }
    if (fact->n_ranks < report->of_ranks) {
        printf("  [rank%s ", fact->n_ranks > 1 ? "s" : "");
        print_ranks(fact);
        printf("]");
    }
    printf("\n");
}

static void print_help(const struct fact *fact)
{
    if (fact->help != NULL) {
        printf("      default %s: %s\n", fact->usual, fact->help);
    }
}

void print_text(const struct report *report, unsigned shown, bool all)
{
    const char *between = "";

    for (int section = 0; section < SECTIONS; section++) {
        int column = column_of(report, (enum section)section, all);

        if ((shown & 1u << section) == 0) {
            continue;
        }
        printf("%s%s\n", between, section_names[section]);
        between = "\n";
        for (int i = 0; i < report->n; i++) {
            if (is_shown(&report->list[i], (enum section)section, all)) {
                print_line(report, &report->list[i], column);
                if (all) {
                    print_help(&report->list[i]);
                }
            }
        }
    }
}

static void print_value(const struct fact *fact)
{
    printf("{\"value\": ");
    json_string(fact->value);
    json_member("source", fact->source);
    json_member("note", fact->note);
    json_member("default", fact->usual);
    json_member("help", fact->help);
    printf(", \"ranks\": \"");
    print_ranks(fact);
    printf("\"}");
}

static void print_section(const struct report *report, enum section section)
{
    const struct fact *last = NULL;

    for (int i = 0; i < report->n; i++) {
        const struct fact *fact = &report->list[i];

        if (fact->section != section) {
            continue;
        }
        if (last != NULL && strcmp(last->name, fact->name) == 0) {
            printf(",\n      ");
        } else {
            printf("%s\n    ", last != NULL ? "]," : "");
            json_string(fact->name);
            printf(": [");
        }
        print_value(fact);
        last = fact;
    }
    printf("%s\n  }", last != NULL ? "]" : "");
}

void print_json(const struct report *report, unsigned shown)
{
    printf("{\n  \"version\": \"%s\",\n  \"ranks\": %d", PACKAGE_VERSION, report->of_ranks);
    for (int section = 0; section < SECTIONS; section++) {
        if ((shown & 1u << section) != 0) {
            printf(",\n  \"%s\": {", section_names[section]);
            print_section(report, (enum section)section);
        }
    }
    printf("\n}\n");
}
