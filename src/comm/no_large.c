/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What datatypes were made of, on an MPI without functions for counts beyond int. */
#include "contents.h"

int mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope)
{
    int n_ints, n_addresses, n_types;
    int rc = PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &envelope->combiner);

    if (rc == MPI_SUCCESS) {
        envelope->n_ints = n_ints;
        envelope->n_addresses = n_addresses;
        envelope->n_counts = 0;
        envelope->n_types = n_types;
    }
    return rc;
}

int mpixq_type_contents(MPI_Datatype type, const struct mpixq_envelope *envelope, int ints[],
                        MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[])
{
    (void)counts;
    return PMPI_Type_get_contents(type, (int)envelope->n_ints, (int)envelope->n_addresses,
                                  (int)envelope->n_types, ints, addresses, types);
}
