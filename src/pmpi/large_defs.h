/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * As next_defs.h: the functions with counts beyond int, which not every MPI has.
 */
MPIXQ_NEXT(Send_init_c, (const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Bsend_init_c, (const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Ssend_init_c, (const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Rsend_init_c, (const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Recv_init_c, (void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
