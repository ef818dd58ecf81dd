/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu.h"

#include <dlfcn.h>

#include "core/log.h"

static void *open_first(const char *const libraries[], bool load)
{
    void *library = NULL;

    /* One that the process has loaded, whatever its number, before one from the disk. */
    for (int i = 0; library == NULL && libraries[i] != NULL; i++) {
        library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
    }
    for (int i = 0; library == NULL && load && libraries[i] != NULL; i++) {
        library = dlopen(libraries[i], RTLD_NOW);
    }
    return library;
}

bool mpixq_gpu_open(const char *const libraries[], bool load,
                    const struct mpixq_gpu_symbol symbols[])
{
    void *library = open_first(libraries, load); /* never closed */

    if (library == NULL) {
        return false;
    }
    for (int i = 0; symbols[i].name != NULL; i++) {
        *symbols[i].address_p = dlsym(library, symbols[i].name);
        if (*symbols[i].address_p == NULL && !symbols[i].optional) {
            mpixq_warn("%s lacks %s: its streams cannot be used", libraries[0], symbols[i].name);
            (void)dlclose(library);
            return false;
        }
    }
    return true;
}
