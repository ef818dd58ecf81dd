/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of the initialisers of persistent collectives. For sources that have defined
 * INIT(name), a C function, and FORTRAN(name), which makes of a function here what Fortran calls.
 */
#include "fortran.h"
#include "next.h"
#include "pull.h"

void mpixq_pull_fortran_collective(void)
{
}

static void done(int rc, MPI_Request made, MPI_Fint *request, MPI_Fint *ierror)
{
    if (rc == MPI_SUCCESS) {
        *request = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}

static void barrier_init(const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                         MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = INIT(Barrier_init)(PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);

    done(rc, made, request, ierror);
}
FORTRAN(barrier_init);

static void bcast_init(void *buffer, const MPI_Fint *count, const MPI_Fint *type,
                       const MPI_Fint *root, const MPI_Fint *comm, const MPI_Fint *info,
                       MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = INIT(Bcast_init)((void *)mpixq_fortran_buffer(buffer), *count, PMPI_Type_f2c(*type),
                              *root, PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);

    done(rc, made, request, ierror);
}
FORTRAN(bcast_init);

static void allreduce_init(const void *sendbuf, void *recvbuf, const MPI_Fint *count,
                           const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,
                           const MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = INIT(Allreduce_init)(
        mpixq_fortran_in_place(sendbuf), (void *)mpixq_fortran_buffer(recvbuf), *count,
        PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);

    done(rc, made, request, ierror);
}
FORTRAN(allreduce_init);

typedef int blocks_init_fn(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                           MPI_Info, MPI_Request *);

/* What Allgather_init and Neighbor_alltoall_init have in common. */
static void blocks_init_by(blocks_init_fn *fn, const void *sendbuf, const MPI_Fint *sendcount,
                           const MPI_Fint *sendtype, void *recvbuf, const MPI_Fint *recvcount,
                           const MPI_Fint *recvtype, const MPI_Fint *comm, const MPI_Fint *info,
                           MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = fn(mpixq_fortran_in_place(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype),
                (void *)mpixq_fortran_buffer(recvbuf), *recvcount, PMPI_Type_f2c(*recvtype),
                PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);

    done(rc, made, request, ierror);
}

static void allgather_init(const void *sendbuf, const MPI_Fint *sendcount, const MPI_Fint *sendtype,
                           void *recvbuf, const MPI_Fint *recvcount, const MPI_Fint *recvtype,
                           const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                           MPI_Fint *ierror)
{
    blocks_init_by(INIT(Allgather_init), sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                   comm, info, request, ierror);
}
FORTRAN(allgather_init);

static void neighbor_alltoall_init(const void *sendbuf, const MPI_Fint *sendcount,
                                   const MPI_Fint *sendtype, void *recvbuf,
                                   const MPI_Fint *recvcount, const MPI_Fint *recvtype,
                                   const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                                   MPI_Fint *ierror)
{
    blocks_init_by(INIT(Neighbor_alltoall_init), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                   recvtype, comm, info, request, ierror);
}
FORTRAN(neighbor_alltoall_init);

static void neighbor_alltoallv_init(const void *sendbuf, const MPI_Fint *sendcounts,
                                    const MPI_Fint *sdispls, const MPI_Fint *sendtype,
                                    void *recvbuf, const MPI_Fint *recvcounts,
                                    const MPI_Fint *rdispls, const MPI_Fint *recvtype,
                                    const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                                    MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = INIT(Neighbor_alltoallv_init)(
        mpixq_fortran_in_place(sendbuf), sendcounts, sdispls, PMPI_Type_f2c(*sendtype),
        (void *)mpixq_fortran_buffer(recvbuf), recvcounts, rdispls, PMPI_Type_f2c(*recvtype),
        PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);

    done(rc, made, request, ierror);
}
FORTRAN(neighbor_alltoallv_init);
