/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "channel_set.h"

#include <stdio.h>
#include <string.h>

static const char *const names[MPIXQ_N_CHANNELS] = {
    [MPIXQ_CHANNEL_NULL] = "null",
#define MPIXQ_CHANNEL(number, NAME, name, build, choice) [number] = #name,
#include "channel_defs.h"
#undef MPIXQ_CHANNEL
};

/* Those that can be chosen, best first. All builds know all names: a set may be written for several
 * machines. */
#define CHOSEN(NAME) MPIXQ_CHANNEL_##NAME,
#define KEPT(NAME)
static const uint8_t choices[] = {
#define MPIXQ_CHANNEL(number, NAME, name, build, choice) choice(NAME)
#include "channel_defs.h"
#undef MPIXQ_CHANNEL
};
#undef CHOSEN
#undef KEPT
enum { N_CHOICES = sizeof choices / sizeof choices[0] };

const char *mpixq_channel_name(uint32_t id)
{
    return id < MPIXQ_N_CHANNELS ? names[id] : "unknown";
}

bool mpixq_channel_set_has(const struct mpixq_channel_set *set, uint32_t id)
{
    for (int i = 0; i < set->n; i++) {
        if (set->ids[i] == id) {
            return true;
        }
    }
    return false;
}

void mpixq_channel_set_remove(struct mpixq_channel_set *set, uint32_t id)
{
    int n = 0;

    for (int i = 0; i < set->n; i++) {
        if (set->ids[i] != id) {
            set->ids[n++] = set->ids[i];
        }
    }
    set->n = (uint8_t)n;
}

void mpixq_channel_set_limit(struct mpixq_channel_set *set, const struct mpixq_channel_set *limit)
{
    for (int i = 0; i < N_CHOICES; i++) {
        if (!mpixq_channel_set_has(limit, choices[i])) {
            mpixq_channel_set_remove(set, choices[i]);
        }
    }
}

/* The id of a name of n characters, or NULL's. */
static uint8_t find(const char *name, size_t n)
{
    for (int i = 0; i < N_CHOICES; i++) {
        if (strlen(names[choices[i]]) == n && strncmp(names[choices[i]], name, n) == 0) {
            return choices[i];
        }
    }
    return MPIXQ_CHANNEL_NULL;
}

/* The channel self copies by the host, but no network can be faster than that; only ipc, which
 * leaves the copy to the GPU, may stand before it. */
static void insert_self(struct mpixq_channel_set *set)
{
    int at = set->n > 0 && set->ids[0] == MPIXQ_CHANNEL_IPC ? 1 : 0;

    memmove(&set->ids[at + 1], &set->ids[at], (size_t)(set->n - at));
    set->ids[at] = MPIXQ_CHANNEL_SELF;
    set->n++;
}

static void say_bad(const char *name, size_t n, bool twice, char *why_p, size_t room)
{
    char known[64] = "";

    if (!twice) {
        (void)mpixq_channel_bits_text(UINT32_MAX, known, sizeof known);
    }
    (void)snprintf(why_p, room, twice ? "\"%.*s\" stands twice" : "\"%.*s\" is none of %s",
                   n < 40 ? (int)n : 40, name, known);
}

bool mpixq_channel_set_parse(const char *text, struct mpixq_channel_set *set_p, char *why_p,
                             size_t room)
{
    struct mpixq_channel_set set = {.n = 0};

    for (const char *name = text;; name++) {
        size_t n = strcspn(name, ",");
        uint8_t id = find(name, n);
        bool twice = mpixq_channel_set_has(&set, id);

        if (id == MPIXQ_CHANNEL_NULL || twice) {
            say_bad(name, n, twice, why_p, room);
            return false;
        }
        set.ids[set.n++] = id;
        name += n;
        if (*name == '\0') {
            break;
        }
    }
    insert_self(&set);
    *set_p = set;
    return true;
}

uint32_t mpixq_channel_set_bits(const struct mpixq_channel_set *set)
{
    uint32_t bits = 0;

    for (int i = 0; i < set->n; i++) {
        bits |= set->ids[i] != MPIXQ_CHANNEL_SELF ? UINT32_C(1) << set->ids[i] : 0;
    }
    return bits;
}

static size_t add_name(char *text, size_t used, size_t room, uint32_t id)
{
    if (used < room) {
        used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? "," : "", names[id]);
    }
    return used;
}

const char *mpixq_channel_set_text(const struct mpixq_channel_set *set, char *text_p, size_t room)
{
    size_t used = 0;

    (void)snprintf(text_p, room, "none");
    for (int i = 0; i < set->n; i++) {
        if (set->ids[i] != MPIXQ_CHANNEL_SELF) {
            used = add_name(text_p, used, room, set->ids[i]);
        }
    }
    return text_p;
}

const char *mpixq_channel_bits_text(uint32_t bits, char *text_p, size_t room)
{
    size_t used = 0;

    (void)snprintf(text_p, room, "none");
    for (int i = 0; i < N_CHOICES; i++) {
        if ((bits & UINT32_C(1) << choices[i]) != 0) {
            used = add_name(text_p, used, room, choices[i]);
        }
    }
    return text_p;
}
