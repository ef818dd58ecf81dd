/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Finding a vendor's library.
 */
#ifndef MPIXQ_GPU_LIBRARY_H
#define MPIXQ_GPU_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "util/lock.h"

/* A function of a vendor's library: where its address goes, and whether we can do without. */
struct mpixq_gpu_symbol {
    const char *name;
    void **address_p;
    bool optional;
};

/* Open the first of these libraries that is there and look up the symbols, which end with one
 * without name. False: there is none, or it lacks one that we cannot do without. */
bool mpixq_gpu_open(const char *const libraries[], bool load,
                    const struct mpixq_gpu_symbol symbols[]);

/* What is looked for again and again, until it is found. */
struct mpixq_gpu_library {
    struct mpixq_lock lock;
    bool found;
    unsigned long long loaded; /* how much the process had loaded at the last look */
};

/* Is it there? load: look for it on disk too; else what the process has loaded is looked at, if it
 * has loaded anything since the last look. Calls first (NULL: nothing) once, when it is found. */
bool mpixq_gpu_find(struct mpixq_gpu_library *library, bool load, const char *const libraries[],
                    const struct mpixq_gpu_symbol symbols[], void (*first)(void));

#endif
