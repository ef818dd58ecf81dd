/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A profiling tool for interpose.sh: counts calls and passes them on by their PMPI_ names.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "collective_names.h"

int probe_tool_calls(void);
unsigned probe_tool_others(void);

static int calls;       /* of MPI_Send_init */
static unsigned others; /* bits of functions that were called */

int MPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    calls++;
    return PMPI_Send_init(buf, count, datatype, dest, tag, comm, request);
}

int MPI_Op_free(MPI_Op *op)
{
    others |= 1u;
    return PMPI_Op_free(op);
}

#if HAVE_COLLECTIVES

int COLLECTIVE(Barrier_init)(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    others |= 2u;
    return PCOLLECTIVE(Barrier_init)(comm, info, request);
}

int COLLECTIVE(Bcast_init)(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                           MPI_Info info, MPI_Request *request)
{
    others |= 4u;
    return PCOLLECTIVE(Bcast_init)(buffer, count, type, root, comm, info, request);
}

int COLLECTIVE(Allreduce_init)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    others |= 8u;
    return PCOLLECTIVE(Allreduce_init)(sendbuf, recvbuf, count, type, op, comm, info, request);
}

int COLLECTIVE(Allgather_init)(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                               void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                               MPI_Info info, MPI_Request *request)
{
    others |= 16u;
    return PCOLLECTIVE(Allgather_init)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                       comm, info, request);
}

int COLLECTIVE(Neighbor_alltoall_init)(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void *recvbuf, int recvcount, MPI_Datatype recvtype,
                                       MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    others |= 32u;
    return PCOLLECTIVE(Neighbor_alltoall_init)(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                               recvtype, comm, info, request);
}

int COLLECTIVE(Neighbor_alltoallv_init)(const void *sendbuf, const int sendcounts[],
                                        const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                                        const int recvcounts[], const int rdispls[],
                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                        MPI_Request *request)
{
    others |= 64u;
    return PCOLLECTIVE(Neighbor_alltoallv_init)(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                recvcounts, rdispls, recvtype, comm, info, request);
}

#endif

unsigned probe_tool_others(void)
{
    return others;
}

int probe_tool_calls(void)
{
    return calls;
}
