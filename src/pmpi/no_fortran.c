/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * An MPI without Fortran, or whose INTEGER is not int: there is nothing to interpose. */
#include "pull.h"

void mpixq_pull_fortran(void)
{
}

bool mpixq_fortran_is_interposed(char *why, size_t size)
{
    (void)why;
    (void)size;
    return true;
}
