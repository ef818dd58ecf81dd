/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Persistent MPI requests from captured arguments.
 */
#ifndef MPIXQ_PERSISTENT_H
#define MPIXQ_PERSISTENT_H

#include <mpi.h>

#include "core/request.h"

/* As the initialiser that the request came from, with another peer, tag and communicator. A
 * ready send becomes a standard one: ready says here that the buffer may be written, not that a
 * receive is active. */
int mpixq_persistent_init(const struct mpixq_request *req, int peer, int tag, MPI_Comm comm,
                          MPI_Request *request_p);
/* The same for counts beyond int; in large.c, or in no_large.c where MPI has no such functions. */
int mpixq_persistent_init_large(const struct mpixq_request *req, int peer, int tag, MPI_Comm comm,
                                MPI_Request *request_p);

#endif
