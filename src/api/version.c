/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * version.c - the version of the library that runs
 */
#include <stddef.h>

#include "api.h"

int PMPIXQ_Get_version(int *major, int *minor, int *patch)
{
    if (major != NULL) {
        *major = MPIXQ_VERSION_MAJOR;
    }
    if (minor != NULL) {
        *minor = MPIXQ_VERSION_MINOR;
    }
    if (patch != NULL) {
        *patch = MPIXQ_VERSION_PATCH;
    }
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Get_version);
