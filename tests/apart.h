/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * For programs of which so many ranks, MTEST_NODE_RANKS, are to pass for those of a node: MPI says
 * so to the library, and the GPUs of others are out of reach, if they are those of the double and
 * it opens no memory of GPUs that a process does not see (HIP_DOUBLE_HIDDEN=refused). Included once
 * in a program. */
#ifndef APART_H
#define APART_H

#include "mtest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0: what the machine is. */
static int apart_ranks(void)
{
    const char *ranks = getenv("MTEST_NODE_RANKS");

    return ranks != NULL ? atoi(ranks) : 0;
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    int (*next)(MPI_Comm, int, int, MPI_Info, MPI_Comm *) = NULL;
    void *found = dlsym(RTLD_NEXT, "PMPI_Comm_split_type");
    int rank = 0;

    if (apart_ranks() > 0 && type == MPI_COMM_TYPE_SHARED) {
        PMPI_Comm_rank(comm, &rank);
        return PMPI_Comm_split(comm, rank / apart_ranks(), key, part);
    }
    memcpy(&next, &found, sizeof next); /* ISO C has no cast from an object to a function */
    return next(comm, type, key, info, part);
}

/* Before the first call of the GPU's library. */
static void apart_begin(void)
{
    char domain[32];

    if (apart_ranks() > 0) {
        (void)snprintf(domain, sizeof domain, "%d", 1 + mtest_rank / apart_ranks());
        (void)setenv("HIP_DOUBLE_DOMAIN", domain, 1);
    }
}

#endif
