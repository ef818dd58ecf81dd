/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranges in rocTX, if its library is in the process: rocprof loads it, and so may the program. It
 * is never loaded for us. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "ranges.h"

/* Where all libraries see it, or where only who loaded it does. */
static bool find(const char *name, void *function_p)
{
    static const char *const files[] = {"libroctx64.so.4", "libroctx64.so"};
    void *found = dlsym(RTLD_DEFAULT, name);

    for (size_t i = 0; found == NULL && i < sizeof files / sizeof files[0]; i++) {
        void *library = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD); /* and from now on it stays */

        found = library != NULL ? dlsym(library, name) : NULL;
    }
    memcpy(function_p, &found, sizeof found); /* POSIX's way around data and function pointers */
    return found != NULL;
}

static bool open_roctx(struct mpixq_range_calls *calls_p)
{
    return find("roctxRangePushA", &calls_p->push) && find("roctxRangePop", &calls_p->pop);
}

static void push(const struct mpixq_range_calls *calls, const char *name, int n)
{
    (void)n;
    (void)calls->push(name);
}

static void pop(const struct mpixq_range_calls *calls)
{
    (void)calls->pop();
}

const struct mpixq_range_taker mpixq_roctx = {.open = open_roctx, .push = push, .pop = pop};
