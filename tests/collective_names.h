/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * collective_names.h - persistent collectives by the names that this MPI has: COLLECTIVE(name),
 * PCOLLECTIVE(name) for tools, COLLECTIVE_F(name) of Fortran's for C. HAVE_COLLECTIVES is 1 if it
 * has any, and if it is 0 COLLECTIVE(name) takes any arguments and fails. After config.h.
 */
#ifndef COLLECTIVE_NAMES_H
#define COLLECTIVE_NAMES_H

#include <mpi.h>

#if HAVE_MPI_COLLECTIVE
#define HAVE_COLLECTIVES 1
#define COLLECTIVE(name) MPI_##name
#define PCOLLECTIVE(name) PMPI_##name
#define COLLECTIVE_F(name) mpi_##name
#elif HAVE_MPI_COLLECTIVE_EXT
#include <mpi-ext.h>
#define HAVE_COLLECTIVES 1
#define COLLECTIVE(name) MPIX_##name
#define PCOLLECTIVE(name) PMPIX_##name
#define COLLECTIVE_F(name) mpix_##name
#else
#define HAVE_COLLECTIVES 0
static inline int collective_none(int unused, ...)
{
    (void)unused;
    return MPI_ERR_OTHER;
}
#define COLLECTIVE_NONE(...) collective_none(0, __VA_ARGS__)
#define COLLECTIVE(name) COLLECTIVE_NONE
#endif

#endif
