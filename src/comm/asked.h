/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the calling thread has asked MPI for last, so that one which makes many requests of a kind
 * asks once.
 */
#ifndef MPIXQ_ASKED_H
#define MPIXQ_ASKED_H

#include <mpi.h>
#include <stdbool.h>

#include "util/thread.h"

struct mpixq_comm;

struct mpixq_asked {
    /* The record of a communicator (comm.c). Stale once any communicator was freed since. */
    MPI_Comm comm;
    struct mpixq_comm *record;
    unsigned long frees;
    bool makes_group; /* in MPI_Comm_create_group, which copies no attributes of ours */
    /* A predefined type (types.c): those are never freed, and programs use few. */
    MPI_Datatype type;
};
extern MPIXQ_THREAD_LOCAL struct mpixq_asked mpixq_asked __attribute__((visibility("hidden")));

#endif
