/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which datatypes are one piece of memory. Equal size and extent are not enough: a type may name
 * its parts in another order than they lie in memory, and that is the order of the message. So only
 * constructors that keep the order are followed. */
#include "layout.h"

/* Deeper than any sensible type; what is deeper goes by another channel. */
enum { MAX_DEPTH = 16 };

uint64_t mpixq_type_bytes(MPI_Datatype type, MPI_Count count)
{
    MPI_Count bytes = 0;

    (void)PMPI_Type_size_x(type, &bytes); /* one that a request was made with */
    return (uint64_t)count * (uint64_t)bytes;
}

static bool is_dense(MPI_Datatype type)
{
    MPI_Count size = 0, low = 0, extent = 0;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           PMPI_Type_get_extent_x(type, &low, &extent) == MPI_SUCCESS && low == 0 && size == extent;
}

static void free_derived(MPI_Datatype type)
{
    int n_ints, n_addresses, n_types, combiner;

    if (PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED) {
        (void)PMPI_Type_free(&type);
    }
}

static bool keeps_order(MPI_Datatype type, int depth)
{
    int n_ints, n_addresses, n_types, combiner, ints[3];
    MPI_Aint addresses[2];
    MPI_Datatype inner;
    bool result;

    if (depth == 0 ||
        PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &combiner) != MPI_SUCCESS) {
        return false;
    }
    if (combiner == MPI_COMBINER_NAMED) {
        return is_dense(type);
    }
    if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS &&
        combiner != MPI_COMBINER_VECTOR && combiner != MPI_COMBINER_RESIZED) {
        return false;
    }
    if (n_ints > 3 || n_addresses > 2 || n_types != 1 ||
        PMPI_Type_get_contents(type, 3, 2, 1, ints, addresses, &inner) != MPI_SUCCESS) {
        return false;
    }
    result = is_dense(inner) && keeps_order(inner, depth - 1);
    free_derived(inner);
    return result;
}

bool mpixq_is_contiguous(MPI_Datatype type)
{
    MPI_Count low = 0, extent = 0, true_low = 0, true_extent = 0;

    /* A vector with a negative stride is dense too, but begins elsewhere. */
    if (!is_dense(type) || PMPI_Type_get_extent_x(type, &low, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(type, &true_low, &true_extent) != MPI_SUCCESS ||
        true_low != 0 || true_extent != extent) {
        return false;
    }
    return keeps_order(type, MAX_DEPTH);
}
