/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Persistent collective operations of MPI that a program has made. While one is not matched, it is
 * MPI's own alone; once it is, the library moves its data by pairs, one for each message.
 */
#ifndef MPIXQ_COLLECTIVE_H
#define MPIXQ_COLLECTIVE_H

#include <mpi.h>

enum mpixq_collective_kind {
    MPIXQ_BARRIER,
    MPIXQ_BCAST,
    MPIXQ_ALLREDUCE,
    MPIXQ_ALLGATHER,
    MPIXQ_NEIGHBOR_ALLTOALL,
    MPIXQ_NEIGHBOR_ALLTOALLV
};

/* What one was made from, as MPI's initialiser was given it; what a kind does not have is 0, NULL
 * or MPI's null handle. The buffer of a broadcast is recvbuf, with recvcount and recvtype, and so
 * are count and type of a reduction. */
struct mpixq_collective_args {
    enum mpixq_collective_kind kind;
    const void *sendbuf; /* or MPI_IN_PLACE */
    void *recvbuf;
    int sendcount, recvcount;
    const int *sendcounts, *sdispls, *recvcounts, *rdispls; /* of alltoallv; valid in this call */
    MPI_Datatype sendtype, recvtype;
    MPI_Op op;
    int root;
    MPI_Info info; /* of a barrier; valid in this call */
};

/* MPI has just made this request from these arguments, or, with a handle of MPI_REQUEST_NULL, has
 * refused to: the call counts all the same, as others may have succeeded. May fail, with a warning:
 * then it cannot be matched. */
void mpixq_collective_capture(const struct mpixq_collective_args *args, MPI_Comm comm,
                              MPI_Request handle);

#endif
