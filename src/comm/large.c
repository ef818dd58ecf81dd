/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What datatypes were made of, on an MPI that has MPI-4's functions for counts beyond int. */
#include "contents.h"

int mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope)
{
    return PMPI_Type_get_envelope_c(type, &envelope->n_ints, &envelope->n_addresses,
                                    &envelope->n_counts, &envelope->n_types, &envelope->combiner);
}

int mpixq_type_contents(MPI_Datatype type, const struct mpixq_envelope *envelope, int ints[],
                        MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[])
{
    return PMPI_Type_get_contents_c(type, envelope->n_ints, envelope->n_addresses,
                                    envelope->n_counts, envelope->n_types, ints, addresses, counts,
                                    types);
}
