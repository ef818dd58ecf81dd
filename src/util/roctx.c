/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranges in rocTX, if its library is in the process: rocprof loads it, and so may the program. It
 * is never loaded for us. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "ranges.h"

/* As roctx.h has them. */
static struct {
    int (*push)(const char *message);
    int (*pop)(void);
} roctx;

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

static bool open_roctx(void)
{
    return find("roctxRangePushA", &roctx.push) && find("roctxRangePop", &roctx.pop);
}

static void push(const char *name, int n)
{
    (void)n;
    (void)roctx.push(name);
}

static void pop(void)
{
    (void)roctx.pop();
}

const struct mpixq_range_taker mpixq_roctx = {.open = open_roctx, .push = push, .pop = pop};
