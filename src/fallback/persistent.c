/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "persistent.h"

#include <limits.h>

int mpixq_persistent_init(const struct mpixq_request *req, int peer, int tag, MPI_Comm comm,
                          MPI_Request *request_p)
{
    int count = (int)req->made.count;

    if (req->made.count > INT_MAX) {
        return mpixq_persistent_init_large(req, peer, tag, comm, request_p);
    }
    switch (req->made.mode) {
    case MPIXQ_MODE_BSEND:
        return PMPI_Bsend_init(req->made.buffer, count, req->made.type.handle, peer, tag, comm,
                               request_p);
    case MPIXQ_MODE_SSEND:
        return PMPI_Ssend_init(req->made.buffer, count, req->made.type.handle, peer, tag, comm,
                               request_p);
    case MPIXQ_MODE_RECV:
        return PMPI_Recv_init((void *)req->made.buffer, count, req->made.type.handle, peer, tag,
                              comm, request_p);
    default:
        return PMPI_Send_init(req->made.buffer, count, req->made.type.handle, peer, tag, comm,
                              request_p);
    }
}
