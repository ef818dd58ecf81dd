/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * As next_defs.h: the initialisers of persistent collectives, which begin with MPI_ in MPI-4 and
 * with MPIX_ in Open MPI's extension pcollreq.
 */
MPIXQ_NEXT(Barrier_init, (MPI_Comm, MPI_Info, MPI_Request *))
MPIXQ_NEXT(Bcast_init, (void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *))
MPIXQ_NEXT(Allreduce_init,
           (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *))
MPIXQ_NEXT(Allgather_init, (const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                            MPI_Info, MPI_Request *))
MPIXQ_NEXT(Neighbor_alltoall_init, (const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                                    MPI_Comm, MPI_Info, MPI_Request *))
MPIXQ_NEXT(Neighbor_alltoallv_init,
           (const void *, const int[], const int[], MPI_Datatype, void *, const int[], const int[],
            MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *))
