/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The persistent initialisers of MPI-4 whose counts go beyond int. Built only where MPI has
 * them. */
#include "core/request.h"
#include "lib/lib.h"
#include "next.h"
#include "pull.h"

__attribute__((constructor)) static void find_all(void)
{
#define MPIXQ_NEXT(name, parameters)                                                               \
    mpixq_next.name = PMPI_##name;                                                                 \
    mpixq_next_find("MPI_" #name, &mpixq_next.name);
#include "large_defs.h"
#undef MPIXQ_NEXT
}

void mpixq_pull_large(void)
{
}

static int capture(int rc, enum mpixq_mode mode, const void *buf, MPI_Count count,
                   MPI_Datatype type, int peer, int tag, MPI_Comm comm, const MPI_Request *request)
{
    const struct mpixq_captured args = {
        .message = {.buffer = buf, .count = count, .type = type, .mode = mode},
        .peer = peer,
        .tag = tag};

    if (rc == MPI_SUCCESS && mpixq_lib_is_up()) {
        mpixq_request_capture(&args, comm, *request);
    }
    return rc;
}

MPIXQ_INTERPOSE int MPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                    int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Send_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_SEND, buf, count, type, dest, tag, comm, request);
}
MPIXQ_OWN(Send_init_c);

MPIXQ_INTERPOSE int MPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Bsend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_BSEND, buf, count, type, dest, tag, comm, request);
}
MPIXQ_OWN(Bsend_init_c);

MPIXQ_INTERPOSE int MPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Ssend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_SSEND, buf, count, type, dest, tag, comm, request);
}
MPIXQ_OWN(Ssend_init_c);

MPIXQ_INTERPOSE int MPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Rsend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_RSEND, buf, count, type, dest, tag, comm, request);
}
MPIXQ_OWN(Rsend_init_c);

MPIXQ_INTERPOSE int MPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source,
                                    int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Recv_init_c(buf, count, type, source, tag, comm, request);

    return capture(rc, MPIXQ_MODE_RECV, buf, count, type, source, tag, comm, request);
}
MPIXQ_OWN(Recv_init_c);
