/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stddef.h>

#include "api.h"

int PMPIXQ_Error_kind(int errorcode, int *kind)
{
    if (kind == NULL) {
        return MPI_ERR_OTHER;
    }
    *kind = mpixq_error_kind(errorcode);
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Error_kind);
