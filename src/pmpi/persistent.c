/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The persistent initialisers: remember what each request is made from. And what ends it. */
#include <stddef.h>

#include "core/request.h"
#include "host/host.h"
#include "lib/lib.h"
#include "next.h"
#include "pull.h"

/* Out of line, so that passing on is a jump and needs no frame. */
#define SLOW __attribute__((noinline)) static

void mpixq_pull_persistent(void)
{
}

static void capture(enum mpixq_mode mode, const void *buf, int count, MPI_Datatype type, int peer,
                    int tag, MPI_Comm comm, const MPI_Request *request)
{
    const struct mpixq_captured args = {
        .message = {.buffer = buf, .count = count, .type = type, .mode = mode},
        .peer = peer,
        .tag = tag};

    if (mpixq_lib_is_up()) {
        mpixq_request_capture(&args, comm, *request);
    }
}

MPIXQ_INTERPOSE int MPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                  MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Send_init(buf, count, type, dest, tag, comm, request);

    if (rc == MPI_SUCCESS) {
        capture(MPIXQ_MODE_SEND, buf, count, type, dest, tag, comm, request);
    }
    return rc;
}
MPIXQ_OWN(Send_init);

MPIXQ_INTERPOSE int MPI_Bsend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                   MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Bsend_init(buf, count, type, dest, tag, comm, request);

    if (rc == MPI_SUCCESS) {
        capture(MPIXQ_MODE_BSEND, buf, count, type, dest, tag, comm, request);
    }
    return rc;
}
MPIXQ_OWN(Bsend_init);

MPIXQ_INTERPOSE int MPI_Ssend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                   MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Ssend_init(buf, count, type, dest, tag, comm, request);

    if (rc == MPI_SUCCESS) {
        capture(MPIXQ_MODE_SSEND, buf, count, type, dest, tag, comm, request);
    }
    return rc;
}
MPIXQ_OWN(Ssend_init);

MPIXQ_INTERPOSE int MPI_Rsend_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                   MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Rsend_init(buf, count, type, dest, tag, comm, request);

    if (rc == MPI_SUCCESS) {
        capture(MPIXQ_MODE_RSEND, buf, count, type, dest, tag, comm, request);
    }
    return rc;
}
MPIXQ_OWN(Rsend_init);

MPIXQ_INTERPOSE int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag,
                                  MPI_Comm comm, MPI_Request *request)
{
    int rc = mpixq_next.Recv_init(buf, count, type, source, tag, comm, request);

    if (rc == MPI_SUCCESS) {
        capture(MPIXQ_MODE_RECV, buf, count, type, source, tag, comm, request);
    }
    return rc;
}
MPIXQ_OWN(Recv_init);

/* Anything but a request that was never matched. */
SLOW int free_checked(MPI_Request *request, struct mpixq_request *req)
{
    static const struct mpixq_call call = {"MPI_Request_free", false};
    int rc = mpixq_host_free(&call, *request, req);

    if (rc == MPI_SUCCESS) {
        rc = mpixq_next.Request_free(request);
        mpixq_host_freed(req);
    }
    return rc;
}

MPIXQ_INTERPOSE int MPI_Request_free(MPI_Request *request)
{
    struct mpixq_request *req;

    if (mpixq_lib_is_up() && request != NULL && !mpixq_request_drop(*request, &req)) {
        return free_checked(request, req);
    }
    return mpixq_next.Request_free(request);
}
MPIXQ_OWN(Request_free);
