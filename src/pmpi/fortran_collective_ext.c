/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of the initialisers of persistent collectives of Open MPI's extension
 * pcollreq, which it has for all its interfaces. */
#include <mpi.h>

#include <mpi-ext.h>

#define INIT(name) MPIX_##name
#define FORTRAN(name) MPIXQ_FORTRAN(name, mpix_##name)
#include "fortran_collective_body.h"
