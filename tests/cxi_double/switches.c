/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * switches.c - reads the environment variables of the double
 */
#include "switches.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct nic_switches nic_switches;
static const char *wrong;

static void refuse(const char *name, const char *value, const char *wanted)
{
    fprintf(stderr, "cxi double: %s=%s is not one of %s\n", name, value, wanted);
    exit(EXIT_FAILURE);
}

static int read_choice(const char *name, const char *def, const char *choices)
{
    const char *value = getenv(name);
    const char *place = choices;
    size_t length;

    if (value == NULL || *value == '\0') {
        value = def;
    }
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
    const char *value = getenv(name);
    char range[64];
    char *end;
    long number;

    if (value == NULL || *value == '\0') {
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

bool nic_is_wrong(const char *behaviour)
{
    return wrong != NULL && strcmp(wrong, behaviour) == 0;
}

size_t nic_max_message(void)
{
    return nic_switches.max_message > 0 ? (size_t)nic_switches.max_message : UINT32_MAX;
}

/* As libfabric reads its variables. */
static bool is_true(const char *value)
{
    return value != NULL && (strcmp(value, "1") == 0 || strcasecmp(value, "yes") == 0 ||
                             strcasecmp(value, "true") == 0 || strcasecmp(value, "on") == 0);
}

void nic_switches_read(void)
{
    wrong = getenv("CXI_DOUBLE_WRONG");
#define SWITCH_CHOICE(field, name, def, choices, help)                                             \
    nic_switches.field = read_choice(name, def, choices);
#define SWITCH_INT(field, name, def, low, high, help)                                              \
    nic_switches.field = read_int(name, def, low, high);
#include "switch_defs.h"
    if (is_true(getenv("FI_CXI_ENABLE_TRIG_OP_LIMIT"))) {
        nic_switches.full = NIC_FULL_REFUSE;
    }
}
