/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Nothing in this directory uses this file, which uses all of it. Entered by any thread. */
#include "pull.h"

#include <string.h>

#include "next.h"

extern __typeof(MPI_Send_init) mpixq_own_Send_init;

bool mpixq_pull_is_interposed(char *why, size_t size)
{
    __typeof(MPI_Send_init) *function = mpixq_own_Send_init;
    void *own;

    memcpy(&own, &function, sizeof own); /* POSIX's way around data and function pointers */
    return mpixq_next_comes_to(own, "MPI_Send_init", why, size) &&
           mpixq_fortran_is_interposed(why, size);
}

bool mpixq_pull(void)
{
    int comes_by = atomic_load_explicit(&mpixq_next.comes_by, memory_order_relaxed);

    if (comes_by == 0) {
        mpixq_pull_init();
        mpixq_pull_persistent();
        mpixq_pull_start();
        mpixq_pull_complete();
        mpixq_pull_comm();
        mpixq_pull_op();
        mpixq_pull_collective();
        mpixq_pull_large();
        mpixq_pull_fortran();
        comes_by = mpixq_pull_is_interposed(NULL, 0) ? 1 : 2;
        atomic_store_explicit(&mpixq_next.comes_by, comes_by, memory_order_relaxed);
    }
    return comes_by == 1;
}
