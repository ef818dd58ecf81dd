/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: what a datatype was made of. MPI-4 has other functions for types that were made with counts
 * beyond int, and ends the program that asks about those by the old ones. */
#ifndef MPIXQ_CONTENTS_H
#define MPIXQ_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>

/* How much there is to know. Types made by MPI-4's functions for large counts have counts in place
 * of integers and addresses. */
struct mpixq_envelope {
    MPI_Count n_ints, n_addresses, n_counts, n_types;
    int combiner;
};

/* As MPI_Type_get_envelope and MPI_Type_get_contents; arrays with room for what there is. MPI
 * codes. */
int mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope);
int mpixq_type_contents(MPI_Datatype type, const struct mpixq_envelope *envelope, int ints[],
                        MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[]);

/* Nobody frees these, and they are made of nothing: as those of Fortran that have no names. */
static inline bool mpixq_type_is_predefined(const struct mpixq_envelope *envelope)
{
    return envelope->combiner == MPI_COMBINER_NAMED ||
           envelope->combiner == MPI_COMBINER_F90_REAL ||
           envelope->combiner == MPI_COMBINER_F90_COMPLEX ||
           envelope->combiner == MPI_COMBINER_F90_INTEGER;
}

#endif
