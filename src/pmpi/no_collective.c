/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * An MPI without persistent collectives: there is nothing to interpose. */
#include "pull.h"

void mpixq_pull_collective(void)
{
}
