/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The initialisers of persistent collectives by MPI-4's names. Built only where MPI has them. */
#include <mpi.h>

#define INIT(name) MPI_##name
#define PINIT(name) PMPI_##name
#include "collective_body.h"
