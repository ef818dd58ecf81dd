/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * report.c - facts: collected, gathered from all ranks, merged where they say the same
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "info.h"

const char *const section_names[SECTIONS] = {"build", "run",    "channels", "serves",
                                             "gpus",  "fabric", "variables"};

enum { FIELDS = 6, SEPARATOR = '\t', END = '\n' };

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "mpixq_info: no memory\n");
        exit(1);
    }
    return memory;
}

/* In one line of printable characters. */
static char *copy_of(const char *text)
{
    char *copy = need(strdup(text));

    for (char *c = copy; *c != '\0'; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : *c == '\t' || *c == '\n' ? ' ' : '?';
    }
    return copy;
}

static struct fact *append(struct report *report, const struct fact *fact)
{
    if (report->n == report->room) {
        report->room = 2 * report->room + 64;
        report->list = need(realloc(report->list, (size_t)report->room * sizeof *report->list));
    }
    report->list[report->n] = *fact;
    return &report->list[report->n++];
}

/* The rank says so, after all before it. */
static void say(struct fact *fact, int rank)
{
    struct range *end = fact->n_ranges > 0 ? &fact->ranks[fact->n_ranges - 1] : NULL;

    fact->n_ranks++;
    if (end != NULL && end->last == rank - 1) {
        end->last = rank;
        return;
    }
    fact->ranks = need(realloc(fact->ranks, (size_t)(fact->n_ranges + 1) * sizeof *fact->ranks));
    fact->ranks[fact->n_ranges++] = (struct range){.first = rank, .last = rank};
}

static void take(struct mpixq_facts *facts, const char *name, const char *value, int is_detail)
{
    struct report *report = (struct report *)facts;
    struct fact fact = {.section = report->section,
                        .is_detail = is_detail != 0,
                        .name = copy_of(name),
                        .value = copy_of(value),
                        .source = copy_of(""),
                        .note = copy_of("")};

    append(report, &fact);
}

static void take_variable(void *arg, const struct mpixq_env_fact *found)
{
    struct fact fact = {.section = VARIABLES,
                        .name = copy_of(found->name),
                        .value = copy_of(found->value),
                        .source = copy_of(found->source)};
    char note[300] = "";

    if (found->refused != NULL) {
        (void)snprintf(note, sizeof note, "\"%s\" in the environment is %s", found->refused,
                       found->why);
    } else if (found->by != NULL) {
        (void)snprintf(note, sizeof note, "by %s", found->by);
    } else if (found->help == NULL) {
        (void)snprintf(note, sizeof note, "no variable of the library");
    }
    fact.note = copy_of(note);
    fact.usual = found->usual != NULL ? copy_of(found->usual) : NULL;
    fact.help = found->help != NULL ? copy_of(found->help) : NULL;
    append(arg, &fact);
}

void report_init(struct report *report)
{
    *report = (struct report){.facts = {.take = take}, .of_ranks = 1};
}

struct mpixq_facts *report_of(struct report *report, enum section section)
{
    report->section = section;
    return &report->facts;
}

void report_variables(struct report *report)
{
    mpixq_env_tell(take_variable, report);
}

static void fact_free(struct fact *fact)
{
    free(fact->name);
    free(fact->value);
    free(fact->source);
    free(fact->note);
    free(fact->usual);
    free(fact->help);
    free(fact->ranks);
}

void report_free(struct report *report)
{
    for (int i = 0; i < report->n; i++) {
        fact_free(&report->list[i]);
    }
    free(report->list);
}

/* One line for each fact. What all builds know is not sent. */
static char *packed(const struct report *report, int *bytes_p)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = need(open_memstream(&text, &bytes));

    for (int i = 0; i < report->n; i++) {
        const struct fact *fact = &report->list[i];

        fprintf(file, "%d\t%d\t%s\t%s\t%s\t%s\n", (int)fact->section, fact->is_detail, fact->name,
                fact->value, fact->source, fact->note);
    }
    fclose(file);
    *bytes_p = (int)bytes;
    return need(text);
}

/* Take the next line apart, in place. NULL: there is none. */
static char *unpack(char *text, char *end, struct fact *fact_p)
{
    char *fields[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        char *stop = memchr(text, i < FIELDS - 1 ? SEPARATOR : END, (size_t)(end - text));

        if (stop == NULL) {
            return NULL;
        }
        *stop = '\0';
        fields[i] = text;
        text = stop + 1;
    }
    *fact_p = (struct fact){.section = (enum section)atoi(fields[0]),
                            .is_detail = atoi(fields[1]) != 0,
                            .name = fields[2],
                            .value = fields[3],
                            .source = fields[4],
                            .note = fields[5]};
    return text;
}

static bool is_same_name(const struct fact *a, const struct fact *b)
{
    return a->section == b->section && strcmp(a->name, b->name) == 0;
}

static bool is_same(const struct fact *a, const struct fact *b)
{
    return is_same_name(a, b) && strcmp(a->value, b->value) == 0 &&
           strcmp(a->source, b->source) == 0 && strcmp(a->note, b->note) == 0;
}

/* Behind those of its name, or else where the last fact of this rank was found. */
static int insert(struct report *all, int at, const struct fact *fact)
{
    struct fact own = {.section = fact->section,
                       .is_detail = fact->is_detail,
                       .name = copy_of(fact->name),
                       .value = copy_of(fact->value),
                       .source = copy_of(fact->source),
                       .note = copy_of(fact->note)};

    for (int i = 0; i < all->n; i++) {
        if (is_same_name(&all->list[i], fact)) {
            at = i;
            if (own.help == NULL && all->list[i].help != NULL) {
                own.usual = copy_of(all->list[i].usual);
                own.help = copy_of(all->list[i].help);
            }
        }
    }
    append(all, &own);
    own = all->list[all->n - 1];
    memmove(&all->list[at + 2], &all->list[at + 1], (size_t)(all->n - at - 2) * sizeof *all->list);
    all->list[at + 1] = own;
    return at + 1;
}

/* Most often a rank says what those before it said, in the same order. */
static int find(const struct report *all, int after, const struct fact *fact)
{
    for (int i = 0; i < all->n; i++) {
        int at = (after + 1 + i) % all->n;

        if (is_same(&all->list[at], fact)) {
            return at;
        }
    }
    return -1;
}

static void merge_one(struct report *all, int rank, char *text, int bytes)
{
    char *end = text + bytes;
    struct fact fact;
    int at = -1;

    while ((text = unpack(text, end, &fact)) != NULL) {
        int found = all->n > 0 ? find(all, at, &fact) : -1;

        at = found >= 0 ? found : insert(all, at, &fact);
        say(&all->list[at], rank);
    }
}

void report_alone(struct report *report)
{
    for (int i = 0; i < report->n; i++) {
        say(&report->list[i], 0);
    }
}

/* Rank 0's own comes first, which has the help of the variables. */
static void merge_all(struct report *report, char *text, const int counts[], const int starts[],
                      int n)
{
    report_alone(report);
    for (int rank = 1; rank < n; rank++) {
        merge_one(report, rank, text + starts[rank], counts[rank]);
    }
    report->of_ranks = n;
}

void report_merge(struct report *report)
{
    int rank, n, bytes, sum = 0, *counts = NULL, *starts = NULL;
    char *own = packed(report, &bytes), *text = NULL;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (rank == 0) {
        counts = need(calloc((size_t)n, sizeof *counts));
        starts = need(calloc((size_t)n, sizeof *starts));
    }
    MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < n; i++) {
        starts[i] = sum;
        sum += counts[i];
    }
    text = need(malloc((size_t)sum + 1));
    MPI_Gatherv(own, bytes, MPI_CHAR, text, counts, starts, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        merge_all(report, text, counts, starts, n);
    }
    free(own);
    free(text);
    free(counts);
    free(starts);
}
