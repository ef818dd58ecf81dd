/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Datatypes that are kept for as long as they are needed, whatever the program frees.
 */
#ifndef MPIXQ_TYPES_H
#define MPIXQ_TYPES_H

#include <mpi.h>
#include <stdbool.h>

/* A datatype of the program, or an equal one of ours. */
struct mpixq_held_type {
    MPI_Datatype handle;
    bool is_ours;
};

/* Keep the program's datatype: a derived one may be freed before what needs it is. False: that
 * cannot be done, and nothing is held. */
bool mpixq_type_hold(struct mpixq_held_type *type);
void mpixq_type_let_go(struct mpixq_held_type *type);

#endif
