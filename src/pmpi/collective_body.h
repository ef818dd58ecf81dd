/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The initialisers of persistent collectives: remember what each request is made from. For sources
 * that have defined INIT(name) and PINIT(name), the names that they have in this MPI, for programs
 * and for tools.
 */
#include "core/collective.h"
#include "lib/lib.h"
#include "next.h"
#include "pull.h"

/* Whom to pass a call on to. It is looked for in each, as these are made once and used many times;
 * so no table of them is kept. */
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define FIND_NEXT(name)                                                                            \
    __typeof(&PINIT(name)) next = PINIT(name);                                                     \
    mpixq_next_find(TEXT(INIT(name)), &next)

void mpixq_pull_collective(void)
{
}

/* All processes of a communicator make these calls in the same order. So one that failed is counted
 * as well, but where there is no communicator to count it for. */
static int capture(int rc, const struct mpixq_collective_args *args, MPI_Comm comm,
                   const MPI_Request *request)
{
    int class = MPI_SUCCESS;

    if (!mpixq_lib_is_up()) {
        return rc;
    }
    if (rc == MPI_SUCCESS) {
        mpixq_collective_capture(args, comm, *request);
    } else if (PMPI_Error_class(rc, &class) == MPI_SUCCESS && class != MPI_ERR_COMM) {
        mpixq_collective_capture(args, comm, MPI_REQUEST_NULL);
    }
    return rc;
}

MPIXQ_INTERPOSE int INIT(Barrier_init)(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_BARRIER,
                                               .sendtype = MPI_DATATYPE_NULL,
                                               .recvtype = MPI_DATATYPE_NULL,
                                               .op = MPI_OP_NULL,
                                               .info = info};
    FIND_NEXT(Barrier_init);

    return capture(next(comm, info, request), &args, comm, request);
}
MPIXQ_OWN_OF(INIT(Barrier_init), Barrier_init);

MPIXQ_INTERPOSE int INIT(Bcast_init)(void *buffer, int count, MPI_Datatype type, int root,
                                     MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_BCAST,
                                               .recvbuf = buffer,
                                               .recvcount = count,
                                               .sendtype = MPI_DATATYPE_NULL,
                                               .recvtype = type,
                                               .op = MPI_OP_NULL,
                                               .root = root};
    FIND_NEXT(Bcast_init);

    return capture(next(buffer, count, type, root, comm, info, request), &args, comm, request);
}
MPIXQ_OWN_OF(INIT(Bcast_init), Bcast_init);

MPIXQ_INTERPOSE int INIT(Allreduce_init)(const void *sendbuf, void *recvbuf, int count,
                                         MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                         MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_ALLREDUCE,
                                               .sendbuf = sendbuf,
                                               .recvbuf = recvbuf,
                                               .recvcount = count,
                                               .sendtype = MPI_DATATYPE_NULL,
                                               .recvtype = type,
                                               .op = op};
    FIND_NEXT(Allreduce_init);

    return capture(next(sendbuf, recvbuf, count, type, op, comm, info, request), &args, comm,
                   request);
}
MPIXQ_OWN_OF(INIT(Allreduce_init), Allreduce_init);

MPIXQ_INTERPOSE int INIT(Allgather_init)(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                         void *recvbuf, int recvcount, MPI_Datatype recvtype,
                                         MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_ALLGATHER,
                                               .sendbuf = sendbuf,
                                               .recvbuf = recvbuf,
                                               .sendcount = sendcount,
                                               .recvcount = recvcount,
                                               .sendtype = sendtype,
                                               .recvtype = recvtype,
                                               .op = MPI_OP_NULL};
    FIND_NEXT(Allgather_init);

    return capture(
        next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request),
        &args, comm, request);
}
MPIXQ_OWN_OF(INIT(Allgather_init), Allgather_init);

MPIXQ_INTERPOSE int INIT(Neighbor_alltoall_init)(const void *sendbuf, int sendcount,
                                                 MPI_Datatype sendtype, void *recvbuf,
                                                 int recvcount, MPI_Datatype recvtype,
                                                 MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_NEIGHBOR_ALLTOALL,
                                               .sendbuf = sendbuf,
                                               .recvbuf = recvbuf,
                                               .sendcount = sendcount,
                                               .recvcount = recvcount,
                                               .sendtype = sendtype,
                                               .recvtype = recvtype,
                                               .op = MPI_OP_NULL};
    FIND_NEXT(Neighbor_alltoall_init);

    return capture(
        next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request),
        &args, comm, request);
}
MPIXQ_OWN_OF(INIT(Neighbor_alltoall_init), Neighbor_alltoall_init);

MPIXQ_INTERPOSE int INIT(Neighbor_alltoallv_init)(const void *sendbuf, const int sendcounts[],
                                                  const int sdispls[], MPI_Datatype sendtype,
                                                  void *recvbuf, const int recvcounts[],
                                                  const int rdispls[], MPI_Datatype recvtype,
                                                  MPI_Comm comm, MPI_Info info,
                                                  MPI_Request *request)
{
    const struct mpixq_collective_args args = {.kind = MPIXQ_NEIGHBOR_ALLTOALLV,
                                               .sendbuf = sendbuf,
                                               .recvbuf = recvbuf,
                                               .sendcounts = sendcounts,
                                               .sdispls = sdispls,
                                               .recvcounts = recvcounts,
                                               .rdispls = rdispls,
                                               .sendtype = sendtype,
                                               .recvtype = recvtype,
                                               .op = MPI_OP_NULL};
    FIND_NEXT(Neighbor_alltoallv_init);

    return capture(next(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                        recvtype, comm, info, request),
                   &args, comm, request);
}
MPIXQ_OWN_OF(INIT(Neighbor_alltoallv_init), Neighbor_alltoallv_init);
