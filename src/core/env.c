/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "env.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

extern char **environ;

enum kind { CHOICE, INT, CPUS };

struct variable {
    const char *name;
    enum kind kind;
    const char *text; /* the default, unless it is a number */
    const char *choices;
    long low, high, number;
    const char *help;
    size_t offset;
};

static const struct variable variables[] = {
#define MPIXQ_ENV_CHOICE(field, name_, def, choices_, help_)                                       \
    {.name = name_,                                                                                \
     .kind = CHOICE,                                                                               \
     .text = def,                                                                                  \
     .choices = choices_,                                                                          \
     .help = help_,                                                                                \
     .offset = offsetof(struct mpixq_env, field)},
#define MPIXQ_ENV_INT(field, name_, def, low_, high_, help_)                                       \
    {.name = name_,                                                                                \
     .kind = INT,                                                                                  \
     .number = def,                                                                                \
     .low = low_,                                                                                  \
     .high = high_,                                                                                \
     .help = help_,                                                                                \
     .offset = offsetof(struct mpixq_env, field)},
#define MPIXQ_ENV_CPUS(field, name_, def, choices_, help_)                                         \
    {.name = name_,                                                                                \
     .kind = CPUS,                                                                                 \
     .text = def,                                                                                  \
     .choices = choices_,                                                                          \
     .help = help_,                                                                                \
     .offset = offsetof(struct mpixq_env, field)},
#include "env_defs.h"
#undef MPIXQ_ENV_CHOICE
#undef MPIXQ_ENV_INT
#undef MPIXQ_ENV_CPUS
};

#define N_VARIABLES (sizeof variables / sizeof variables[0])

struct mpixq_env mpixq_env;
static bool env_was_read;

/* Index of text among choices, which are separated by bars; -1 if it is none of them. */
static long choice_index(const char *choices, const char *text)
{
    size_t length = strlen(text);
    long index = 0;

    for (const char *c = choices; *c != '\0'; index++) {
        size_t n = strcspn(c, "|");

        if (n == length && strncmp(c, text, n) == 0) {
            return index;
        }
        c += n;
        c += *c == '|';
    }
    return -1;
}

static bool parse_number(const struct variable *v, const char *text, long *value_p)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < v->low || number > v->high) {
        return false;
    }
    *value_p = number;
    return true;
}

/* A number goes to *value_p, or the index of a choice, of which the last may stand for a list. */
static bool parse(const struct variable *v, const char *text, long *value_p,
                  struct mpixq_cpus *list_p)
{
    long index;

    if (v->kind == INT) {
        return parse_number(v, text, value_p);
    }
    index = choice_index(v->choices, text);
    if (v->kind == CPUS && (index < 0 || index == MPIXQ_AFFINITY_LIST)) {
        index = mpixq_cpus_parse(text, list_p) ? MPIXQ_AFFINITY_LIST : -1;
    }
    if (index < 0) {
        return false;
    }
    *value_p = index;
    return true;
}

static long *field(const struct variable *v)
{
    return (long *)((char *)&mpixq_env + v->offset);
}

static long default_value(const struct variable *v)
{
    return v->kind == INT ? v->number : choice_index(v->choices, v->text);
}

void mpixq_env_read(void)
{
    struct mpixq_cpus list;

    if (env_was_read) {
        return;
    }
    env_was_read = true;
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        const char *text = getenv(v->name);

        *field(v) = default_value(v);
        /* mpixq_env_warn tells of what cannot be parsed, once there is a rank. */
        if (text != NULL && parse(v, text, field(v), &list) && v->kind == CPUS &&
            *field(v) == MPIXQ_AFFINITY_LIST) {
            ((struct mpixq_env_cpus *)(void *)field(v))->list = list;
        }
    }
}

static bool is_known(const char *entry)
{
    size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < N_VARIABLES; i++) {
        if (strlen(variables[i].name) == n && strncmp(variables[i].name, entry, n) == 0) {
            return true;
        }
    }
    /* MPIXQ_TEST_ is left to test programs. */
    return strncmp(entry, "MPIXQ_TEST_", 11) == 0;
}

void mpixq_env_warn(void)
{
    struct mpixq_cpus list;
    long ignored;

    for (size_t i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        const char *text = getenv(v->name);

        if (text == NULL || parse(v, text, &ignored, &list)) {
            continue;
        }
        if (v->kind != INT) {
            mpixq_warn("%s is %s: not one of %s, using %s", v->name, text, v->choices, v->text);
        } else {
            mpixq_warn("%s is %s: not a number from %ld to %ld, using %ld", v->name, text, v->low,
                       v->high, v->number);
        }
    }
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "MPIXQ_", 6) == 0 && !is_known(*e)) {
            mpixq_warn("%.*s is no variable of this library", (int)strcspn(*e, "="), *e);
        }
    }
}

void mpixq_env_print(void)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        const char *text = getenv(v->name);
        long value = *field(v);
        struct mpixq_cpus list;
        const char *source =
            text != NULL && parse(v, text, &value, &list) ? "environment" : "default";

        if (v->kind == CPUS && value == MPIXQ_AFFINITY_LIST) {
            mpixq_print("%s %s (%s): %s", v->name, text, source, v->help);
        } else if (v->kind != INT) {
            const char *c = v->choices;

            for (long k = 0; k < value; k++) {
                c += strcspn(c, "|") + 1;
            }
            mpixq_print("%s %.*s (%s): %s", v->name, (int)strcspn(c, "|"), c, source, v->help);
        } else {
            mpixq_print("%s %ld (%s): %s", v->name, value, source, v->help);
        }
    }
}

/* The first of the variables that has a number of at least low; otherwise otherwise. */
static int launcher_says(const char *const names[], size_t n_names, long low, int otherwise)
{
    for (size_t i = 0; i < n_names; i++) {
        const char *text = getenv(names[i]);
        char *end = NULL;
        long n = text != NULL ? strtol(text, &end, 10) : 0;

        if (end != text && n >= low && n < INT32_MAX) {
            return (int)n;
        }
    }
    return otherwise;
}

int mpixq_env_local_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS_PER_NODE", "PALS_LOCAL_SIZE",
                                        "SLURM_STEP_TASKS_PER_NODE"};

    return launcher_says(names, sizeof names / sizeof names[0], 1, 1);
}

int mpixq_env_local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID", "PALS_LOCAL_RANKID"};

    return launcher_says(names, sizeof names / sizeof names[0], 0, 0);
}
