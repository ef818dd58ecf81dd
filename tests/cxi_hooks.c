/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_hooks.c - finds the hooks of the double of the cxi provider
 */
#include "cxi_hooks.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mtest.h"

const struct cxi_double_hooks *cxi_hooks(void)
{
    const char *folder = getenv("FI_PROVIDER_PATH");
    char path[PATH_MAX];
    void *module, *hooks = NULL;

    (void)snprintf(path, sizeof path, "%s/libcxi-fi.so", folder != NULL ? folder : ".");
    module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (module != NULL) {
        hooks = dlsym(module, "cxi_double_hooks");
        (void)dlclose(module); /* libfabric keeps it */
    }
    if (hooks == NULL) {
        mtest_fail(__FILE__, __LINE__, "the double is not loaded from %s", path);
    }
    return hooks;
}
