/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Persistent MPI requests for the messages of pairs.
 */
#ifndef MPIXQ_PERSISTENT_H
#define MPIXQ_PERSISTENT_H

#include <mpi.h>

#include "core/pair.h"

/* Start the message of a pair, with this peer, tag and communicator. *request_p is
 * MPI_REQUEST_NULL at first and afterwards what the last start left there. A ready send becomes a
 * standard one: ready says here that the buffer may be written, not that a receive is active. */
int mpixq_persistent_start(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                           MPI_Request *request_p);
/* For counts beyond int; in large.c, or in no_large.c where MPI has no such functions. */
int mpixq_persistent_init_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                                MPI_Request *request_p);
int mpixq_ibsend_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                       MPI_Request *request_p);

#endif
