/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * As no_collective.c. */
#include "fortran.h"

void mpixq_pull_fortran_collective(void)
{
}
