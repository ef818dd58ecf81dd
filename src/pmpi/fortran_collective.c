/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of MPI-4's initialisers of persistent collectives. Those of mpi_f08 of MPICH
 * end in _f08ts_, as in fortran_persistent.c, but that of the barrier, which has no buffer. */
#include <mpi.h>

#define INIT(name) MPI_##name
#define FORTRAN(name) MPIXQ_FORTRAN(name, mpi_##name)
#include "fortran_collective_body.h"
