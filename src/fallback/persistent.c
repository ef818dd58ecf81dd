/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "persistent.h"

#include <limits.h>

static int init(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                MPI_Request *request_p)
{
    int count = (int)pair->message.count;

    if (pair->message.count > INT_MAX) {
        return mpixq_persistent_init_large(pair, peer, tag, comm, request_p);
    }
    switch (pair->message.mode) {
    case MPIXQ_MODE_SSEND:
        return PMPI_Ssend_init(mpixq_pair_buffer(pair), count, pair->message.type, peer, tag, comm,
                               request_p);
    case MPIXQ_MODE_RECV:
        return PMPI_Recv_init((void *)mpixq_pair_buffer(pair), count, pair->message.type, peer, tag,
                              comm, request_p);
    default:
        return PMPI_Send_init(mpixq_pair_buffer(pair), count, pair->message.type, peer, tag, comm,
                              request_p);
    }
}

int mpixq_persistent_start(const struct mpixq_pair *pair, int peer, int tag, MPI_Comm comm,
                           MPI_Request *request_p)
{
    int rc = MPI_SUCCESS;

    /* Open MPI 4.1 sends zeros when a persistent buffered send of more than an eager message is
     * started again; and there is nothing to gain, as the data is copied anyway. */
    if (pair->message.mode == MPIXQ_MODE_BSEND) {
        return pair->message.count > INT_MAX
                   ? mpixq_ibsend_large(pair, peer, tag, comm, request_p)
                   : PMPI_Ibsend(mpixq_pair_buffer(pair), (int)pair->message.count,
                                 pair->message.type, peer, tag, comm, request_p);
    }
    if (*request_p == MPI_REQUEST_NULL) {
        rc = init(pair, peer, tag, comm, request_p);
    }
    return rc ? rc : PMPI_Start(request_p);
}
