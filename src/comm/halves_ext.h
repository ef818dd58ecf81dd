/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Predefined datatypes of floating-point numbers of 16 bits, which no version of MPI has so far, by
 * the names that MPI libraries give them: MPICH and what comes of it; and Open MPI's extension
 * shortfloat, if it was built with that. MPI_DATATYPE_NULL: there is none. One that is there may be
 * of another size, such as 0, where the compiler of the MPI library did not know such numbers.
 */
#ifndef MPIXQ_HALVES_EXT_H
#define MPIXQ_HALVES_EXT_H

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef MPIX_C_FLOAT16
#define MPIXQ_MPI_FLOAT16 MPIX_C_FLOAT16
#else
#define MPIXQ_MPI_FLOAT16 MPI_DATATYPE_NULL
#endif

#if defined(MPIX_BFLOAT16) /* MPICH 5 */
#define MPIXQ_MPI_BFLOAT16 MPIX_BFLOAT16
#elif defined(MPIX_C_BF16) /* Intel MPI */
#define MPIXQ_MPI_BFLOAT16 MPIX_C_BF16
#else
#define MPIXQ_MPI_BFLOAT16 MPI_DATATYPE_NULL
#endif

#endif
