/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The initialisers of persistent collectives by the names of Open MPI's extension pcollreq. Built
 * only where MPI has that and has not MPI-4's. */
#include <mpi.h>

#include <mpi-ext.h>

#define INIT(name) MPIX_##name
#define PINIT(name) PMPIX_##name
#include "collective_body.h"
