/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The persistent initialisers of MPI-4 whose counts go beyond int. Built only where MPI has
 * them. */
#include "core/lib.h"
#include "core/request.h"
#include "next.h"

typedef int send_init_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int recv_init_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* As mpixq_next. */
static send_init_c *next_send_init_c = PMPI_Send_init_c;
static send_init_c *next_bsend_init_c = PMPI_Bsend_init_c;
static send_init_c *next_ssend_init_c = PMPI_Ssend_init_c;
static send_init_c *next_rsend_init_c = PMPI_Rsend_init_c;
static recv_init_c *next_recv_init_c = PMPI_Recv_init_c;

__attribute__((constructor)) static void find_all(void)
{
    mpixq_next_find("MPI_Send_init_c", &next_send_init_c);
    mpixq_next_find("MPI_Bsend_init_c", &next_bsend_init_c);
    mpixq_next_find("MPI_Ssend_init_c", &next_ssend_init_c);
    mpixq_next_find("MPI_Rsend_init_c", &next_rsend_init_c);
    mpixq_next_find("MPI_Recv_init_c", &next_recv_init_c);
}

void mpixq_pull_large(void)
{
}

static int capture(int rc, enum mpixq_mode mode, const void *buf, MPI_Count count,
                   MPI_Datatype type, int peer, int tag, MPI_Comm comm, const MPI_Request *request)
{
    const struct mpixq_captured args = {.mode = mode,
                                        .buffer = buf,
                                        .count = count,
                                        .type = {type, false},
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
    int rc = next_send_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_SEND, buf, count, type, dest, tag, comm, request);
}

MPIXQ_INTERPOSE int MPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = next_bsend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_BSEND, buf, count, type, dest, tag, comm, request);
}

MPIXQ_INTERPOSE int MPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = next_ssend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_SSEND, buf, count, type, dest, tag, comm, request);
}

MPIXQ_INTERPOSE int MPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = next_rsend_init_c(buf, count, type, dest, tag, comm, request);

    return capture(rc, MPIXQ_MODE_RSEND, buf, count, type, dest, tag, comm, request);
}

MPIXQ_INTERPOSE int MPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source,
                                    int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = next_recv_init_c(buf, count, type, source, tag, comm, request);

    return capture(rc, MPIXQ_MODE_RECV, buf, count, type, source, tag, comm, request);
}
