/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Counts beyond int, on an MPI without functions for them: no request can have been made with
 * one. */
#include "persistent.h"

int mpixq_persistent_init_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                                MPI_Request *request_p)
{
    (void)pair;
    (void)peer;
    (void)tag;
    (void)comm;
    (void)request_p;
    return MPI_ERR_COUNT;
}

int mpixq_ibsend_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                       MPI_Request *request_p)
{
    return mpixq_persistent_init_large(pair, peer, tag, comm, request_p);
}
