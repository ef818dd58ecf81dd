/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * switches.c - reads the environment variables of the double
 */
#include "double.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hip_switches hip_switches;

static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

static void refuse(const char *name, const char *value, const char *wanted)
{
    fprintf(stderr, "hip double: %s=%s is not one of %s\n", name, value, wanted);
    exit(EXIT_FAILURE);
}

static int read_choice(const char *name, const char *def, const char *choices)
{
    const char *value = value_of(name), *place = choices;
    size_t length;

    value = value == NULL ? def : value;
    length = strlen(value);
    for (int number = 0; place != NULL; number++) {
        if (strncmp(place, value, length) == 0 && (place[length] == '|' || place[length] == '\0')) {
            return number;
        }
        place = strchr(place, '|');
        place = place == NULL ? NULL : place + 1;
    }
    refuse(name, value, choices);
    return 0;
}

static int read_int(const char *name, int def, long low, long high)
{
    const char *value = value_of(name);
    char range[64], *end;
    long number;

    if (value == NULL) {
        return def;
    }
    errno = 0;
    number = strtol(value, &end, 10);
    if (errno != 0 || *end != '\0' || number < low || number > high) {
        snprintf(range, sizeof(range), "%ld to %ld", low, high);
        refuse(name, value, range);
    }
    return (int)number;
}

bool hip_is_wrong(const char *behaviour)
{
    return hip_switches.wrong != NULL && strcmp(hip_switches.wrong, behaviour) == 0;
}

void hip_switches_read(void)
{
#define SWITCH_CHOICE(field, name, def, choices, help)                                             \
    hip_switches.field = read_choice(name, def, choices);
#define SWITCH_INT(field, name, def, low, high, help)                                              \
    hip_switches.field = read_int(name, def, low, high);
#define SWITCH_TEXT(field, name, help) hip_switches.field = value_of(name);
#include "switch_defs.h"
}
