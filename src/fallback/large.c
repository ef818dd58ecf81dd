/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Counts beyond int, on an MPI that has MPI-4's functions for them. */
#include "persistent.h"

int mpixq_persistent_init_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                                MPI_Request *request_p)
{
    MPI_Count count = pair->message.count;

    switch (pair->message.mode) {
    case MPIXQ_MODE_SSEND:
        return PMPI_Ssend_init_c(mpixq_pair_buffer(pair), count, pair->message.type, peer, tag,
                                 comm, request_p);
    case MPIXQ_MODE_RECV:
        return PMPI_Recv_init_c((void *)mpixq_pair_buffer(pair), count, pair->message.type, peer,
                                tag, comm, request_p);
    default:
        return PMPI_Send_init_c(mpixq_pair_buffer(pair), count, pair->message.type, peer, tag, comm,
                                request_p);
    }
}

int mpixq_ibsend_large(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                       MPI_Request *request_p)
{
    return PMPI_Ibsend_c(mpixq_pair_buffer(pair), pair->message.count, pair->message.type, peer,
                         tag, comm, request_p);
}
