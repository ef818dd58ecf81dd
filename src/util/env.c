/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "env.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

extern char **environ;

enum kind { CHOICE, INT, CPUS, CHANNELS, TEXT };

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
#define MPIXQ_ENV_CHANNELS(field, name_, def, choices_, help_)                                     \
    {.name = name_,                                                                                \
     .kind = CHANNELS,                                                                             \
     .text = def,                                                                                  \
     .choices = choices_,                                                                          \
     .help = help_,                                                                                \
     .offset = offsetof(struct mpixq_env, field)},
#define MPIXQ_ENV_TEXT(field, name_, def, choices_, help_)                                         \
    {.name = name_,                                                                                \
     .kind = TEXT,                                                                                 \
     .text = def,                                                                                  \
     .choices = choices_,                                                                          \
     .help = help_,                                                                                \
     .offset = offsetof(struct mpixq_env, field)},
#include "env_defs.h"
#undef MPIXQ_ENV_CHOICE
#undef MPIXQ_ENV_INT
#undef MPIXQ_ENV_CPUS
#undef MPIXQ_ENV_CHANNELS
#undef MPIXQ_ENV_TEXT
};

#define N_VARIABLES (sizeof variables / sizeof variables[0])

/* What was parsed: a number, or the index of a choice, of which the last may stand for the list of
 * CPUs; or channels; or the text itself. */
struct value {
    long number;
    struct mpixq_cpus cpus;
    struct mpixq_channel_set channels;
    const char *text;
};

/* Older variables that MPIXQ_CHANNELS stands for, and what to set instead. */
static const struct {
    const char *name, *instead;
} deprecated[] = {
    {"MPIXQ_FALLBACK", "MPIXQ_CHANNELS=ipc,cxi does without the channel fallback"},
    {"MPIXQ_IPC", "MPIXQ_CHANNELS=cxi,fallback does without the channel ipc"},
};

struct mpixq_env mpixq_env;

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

/* False, with the reason in why, which has room for 128 characters. */
static bool parse(const struct variable *v, const char *text, struct value *value_p, char *why)
{
    enum { ROOM = 128 };
    long index;

    if (v->kind == CHANNELS) {
        return mpixq_channel_set_parse(text, &value_p->channels, why, ROOM);
    }
    if (v->kind == TEXT) {
        value_p->text = text;
        return true;
    }
    if (v->kind == INT) {
        (void)snprintf(why, ROOM, "not a number from %ld to %ld", v->low, v->high);
        return parse_number(v, text, &value_p->number);
    }
    (void)snprintf(why, ROOM, "not one of %s", v->choices);
    index = choice_index(v->choices, text);
    if (v->kind == CPUS && (index < 0 || index == MPIXQ_AFFINITY_LIST)) {
        index = mpixq_cpus_parse(text, &value_p->cpus) ? MPIXQ_AFFINITY_LIST : -1;
    }
    if (index < 0) {
        return false;
    }
    value_p->number = index;
    return true;
}

static void *field(const struct variable *v)
{
    return (char *)&mpixq_env + v->offset;
}

/* The program may change its environment. Without memory it is as if it were not set. */
static void store_text(const struct variable *v, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = NULL;

    if (text != v->text && bytes > 1) {
        copy = mpixq_alloc(bytes); /* kept until the process ends */
    }
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    *(const char **)field(v) = copy != NULL ? copy : v->text;
}

static void store(const struct variable *v, const struct value *value)
{
    if (v->kind == TEXT) {
        store_text(v, value->text);
        return;
    }
    if (v->kind == CHANNELS) {
        *(struct mpixq_channel_set *)field(v) = value->channels;
        return;
    }
    *(long *)field(v) = value->number;
    if (v->kind == CPUS && value->number == MPIXQ_AFFINITY_LIST) {
        ((struct mpixq_env_cpus *)field(v))->list = value->cpus;
    }
}

static const struct variable *find_variable(const char *name)
{
    size_t i = 0;

    while (strcmp(variables[i].name, name) != 0) {
        i++;
    }
    return &variables[i];
}

/* Is a variable set, to a value that can be parsed? */
static bool is_set(const struct variable *v)
{
    const char *text = getenv(v->name);
    struct value value;
    char why[128];

    return text != NULL && parse(v, text, &value, why);
}

static void read_one(const struct variable *v)
{
    const char *text = getenv(v->name);
    struct value value = {.number = v->number};
    char why[128];

    if (v->kind != INT) {
        (void)parse(v, v->text, &value, why);
    }
    store(v, &value);
    /* mpixq_env_warn tells of what cannot be parsed, once there is a rank. */
    if (text != NULL && parse(v, text, &value, why)) {
        store(v, &value);
    }
}

void mpixq_env_read(void)
{
    if (mpixq_env.was_read) {
        return;
    }
    mpixq_env.was_read = true;
    for (size_t i = 0; i < N_VARIABLES; i++) {
        read_one(&variables[i]);
    }
    if (is_set(find_variable("MPIXQ_CHANNELS"))) {
        return;
    }
    if (mpixq_env.fallback == MPIXQ_FALLBACK_FORBID) {
        mpixq_channel_set_remove(&mpixq_env.channels, MPIXQ_CHANNEL_FALLBACK);
    }
    if (mpixq_env.ipc == MPIXQ_IPC_NO) {
        mpixq_channel_set_remove(&mpixq_env.channels, MPIXQ_CHANNEL_IPC);
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

/* Looks like one of ours and is none. */
static bool is_stray(const char *entry)
{
    return strncmp(entry, "MPIXQ_", 6) == 0 && !is_known(entry);
}

static void warn_of_malformed(const struct variable *v)
{
    const char *text = getenv(v->name);
    struct value ignored;
    char why[128];

    if (text == NULL || parse(v, text, &ignored, why)) {
        return;
    }
    if (v->kind == INT) {
        mpixq_warn("%s is %s: %s, using %ld", v->name, text, why, v->number);
    } else {
        mpixq_warn("%s is %s: %s, using %s", v->name, text, why, v->text);
    }
}

static void warn_of_deprecated(void)
{
    bool ignored = is_set(find_variable("MPIXQ_CHANNELS"));

    for (size_t i = 0; i < sizeof deprecated / sizeof deprecated[0]; i++) {
        if (getenv(deprecated[i].name) != NULL) {
            mpixq_warn("%s is deprecated%s: %s", deprecated[i].name,
                       ignored ? ", and ignored since MPIXQ_CHANNELS is set" : "",
                       deprecated[i].instead);
        }
    }
}

void mpixq_env_warn(void)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        warn_of_malformed(&variables[i]);
    }
    warn_of_deprecated();
    for (char **e = environ; *e != NULL; e++) {
        if (is_stray(*e)) {
            mpixq_warn("%.*s is no variable of this library", (int)strcspn(*e, "="), *e);
        }
    }
}

/* The value of a variable as it is to be set, into text. */
static const char *value_text(const struct variable *v, char *text, size_t room)
{
    const char *choice = v->choices;
    long number = v->kind == CHANNELS || v->kind == TEXT ? 0 : *(const long *)field(v);

    if (v->kind == TEXT) {
        return *(const char **)field(v);
    }
    if (v->kind == CHANNELS) {
        return mpixq_channel_set_text(field(v), text, room);
    }
    if (v->kind == INT) {
        (void)snprintf(text, room, "%ld", number);
        return text;
    }
    if (v->kind == CPUS && number == MPIXQ_AFFINITY_LIST) {
        return getenv(v->name);
    }
    while (number-- > 0) {
        choice += strcspn(choice, "|") + 1;
    }
    (void)snprintf(text, room, "%.*s", (int)strcspn(choice, "|"), choice);
    return text;
}

/* Who gave a variable its value; by is the deprecated one that did. */
static const char *source_of(const struct variable *v, const char **by_p)
{
    *by_p = NULL;
    if (is_set(v)) {
        return "environment";
    }
    if (v->kind == CHANNELS) {
        *by_p = mpixq_env.fallback == MPIXQ_FALLBACK_FORBID ? "MPIXQ_FALLBACK"
                : mpixq_env.ipc == MPIXQ_IPC_NO             ? "MPIXQ_IPC"
                                                            : NULL;
    }
    return *by_p != NULL ? "alias" : "default";
}

static void tell_one(const struct variable *v,
                     void (*tell)(void *arg, const struct mpixq_env_fact *fact), void *arg)
{
    struct mpixq_env_fact fact = {.name = v->name, .help = v->help};
    const char *set_to = getenv(v->name);
    char value[64], usual[64], why[128];
    struct value ignored;

    (void)snprintf(usual, sizeof usual, "%ld", v->number);
    fact.usual = v->kind == INT ? usual : v->text;
    fact.value = value_text(v, value, sizeof value);
    fact.source = source_of(v, &fact.by);
    if (set_to != NULL && !parse(v, set_to, &ignored, why)) {
        fact.refused = set_to;
        fact.why = why;
    }
    tell(arg, &fact);
}

void mpixq_env_tell(void (*tell)(void *arg, const struct mpixq_env_fact *fact), void *arg)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        tell_one(&variables[i], tell, arg);
    }
    for (char **e = environ; *e != NULL; e++) {
        if (is_stray(*e)) {
            char name[128];
            struct mpixq_env_fact fact = {.name = name, .source = "unknown"};

            (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
            fact.value = getenv(name);
            tell(arg, &fact);
        }
    }
}

static void print_one(void *arg, const struct mpixq_env_fact *fact)
{
    (void)arg;
    if (fact->help != NULL) { /* what is no variable was warned of */
        mpixq_print("%s %s (%s%s%s): %s", fact->name, fact->value, fact->source,
                    fact->by != NULL ? " " : "", fact->by != NULL ? fact->by : "", fact->help);
    }
}

void mpixq_env_print(void)
{
    mpixq_env_tell(print_one, NULL);
}
