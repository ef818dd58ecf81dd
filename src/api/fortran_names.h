/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The names of the specific procedures that src/fortran/mpix_queue.f90 declares: without handles of
 * MPI or with INTEGER ones, and with those of mpi_f08, which have the same form.
 */
#ifndef MPIXQ_FORTRAN_NAMES_H
#define MPIXQ_FORTRAN_NAMES_H

#include "lib/lib.h"
#include "pmpi/fortran.h"

#define PLAIN(function, name)                                                                      \
    MPIXQ_FORTRAN_ALIAS(function, name##_f_);                                                      \
    MPIXQ_FORTRAN_ALIAS(function, name##_f__)
#define HANDLES(function, name)                                                                    \
    PLAIN(function, name);                                                                         \
    MPIXQ_FORTRAN_ALIAS(function, name##_f08_);                                                    \
    MPIXQ_FORTRAN_ALIAS(function, name##_f08__)

/* While MPI is not up it must not be asked about handles, and C's functions look at none. */
static inline MPI_Info mpixq_fortran_info(const MPI_Fint *info)
{
    return mpixq_lib_is_up() ? PMPI_Info_f2c(*info) : MPI_INFO_NULL;
}

static inline MPI_Comm mpixq_fortran_comm(const MPI_Fint *comm)
{
    return mpixq_lib_is_up() ? PMPI_Comm_f2c(*comm) : MPI_COMM_NULL;
}

#endif
