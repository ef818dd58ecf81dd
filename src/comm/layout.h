/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How much data a datatype describes, and whether it is one piece of memory.
 */
#ifndef MPIXQ_LAYOUT_H
#define MPIXQ_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of the data of so many elements, gaps not counted. */
uint64_t mpixq_type_bytes(MPI_Datatype type, MPI_Count count);

/* Where the data of so many elements, at least one, begins, in bytes from the buffer on, and how
 * many bytes lie from there to its end, gaps counted. False: MPI does not say. */
bool mpixq_type_reach(MPI_Datatype type, MPI_Count count, MPI_Count *first_p, uint64_t *bytes_p);

/* Is the data of so many elements one piece of memory, in the order of the type map, wherever it
 * begins? */
bool mpixq_is_in_order(MPI_Datatype type, MPI_Count count);

/* Is an array of the type one piece of memory, in the order of the type map, that begins at the
 * buffer's address? */
bool mpixq_is_contiguous(MPI_Datatype type);

#endif
