/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every MPI function that the library defines: MPIXQ_NEXT(name without MPI_, parameters).
 */
MPIXQ_NEXT(Init, (int *, char ***))
MPIXQ_NEXT(Init_thread, (int *, char ***, int, int *))
MPIXQ_NEXT(Finalize, (void))
MPIXQ_NEXT(Send_init, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Bsend_init, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Ssend_init, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Rsend_init, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Recv_init, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))
MPIXQ_NEXT(Start, (MPI_Request *))
MPIXQ_NEXT(Startall, (int, MPI_Request[]))
MPIXQ_NEXT(Wait, (MPI_Request *, MPI_Status *))
MPIXQ_NEXT(Waitany, (int, MPI_Request[], int *, MPI_Status *))
MPIXQ_NEXT(Waitall, (int, MPI_Request[], MPI_Status[]))
MPIXQ_NEXT(Waitsome, (int, MPI_Request[], int *, int[], MPI_Status[]))
MPIXQ_NEXT(Test, (MPI_Request *, int *, MPI_Status *))
MPIXQ_NEXT(Testany, (int, MPI_Request[], int *, int *, MPI_Status *))
MPIXQ_NEXT(Testall, (int, MPI_Request[], int *, MPI_Status[]))
MPIXQ_NEXT(Testsome, (int, MPI_Request[], int *, int[], MPI_Status[]))
MPIXQ_NEXT(Request_free, (MPI_Request *))
MPIXQ_NEXT(Cancel, (MPI_Request *))
MPIXQ_NEXT(Request_get_status, (MPI_Request, int *, MPI_Status *))
MPIXQ_NEXT(Comm_create, (MPI_Comm, MPI_Group, MPI_Comm *))
MPIXQ_NEXT(Comm_create_group, (MPI_Comm, MPI_Group, int, MPI_Comm *))
MPIXQ_NEXT(Comm_split, (MPI_Comm, int, int, MPI_Comm *))
MPIXQ_NEXT(Comm_split_type, (MPI_Comm, int, int, MPI_Info, MPI_Comm *))
MPIXQ_NEXT(Cart_create, (MPI_Comm, int, const int[], const int[], int, MPI_Comm *))
MPIXQ_NEXT(Cart_sub, (MPI_Comm, const int[], MPI_Comm *))
MPIXQ_NEXT(Graph_create, (MPI_Comm, int, const int[], const int[], int, MPI_Comm *))
MPIXQ_NEXT(Dist_graph_create, (MPI_Comm, int, const int[], const int[], const int[], const int[],
                               MPI_Info, int, MPI_Comm *))
MPIXQ_NEXT(Dist_graph_create_adjacent, (MPI_Comm, int, const int[], const int[], int, const int[],
                                        const int[], MPI_Info, int, MPI_Comm *))
MPIXQ_NEXT(Intercomm_create, (MPI_Comm, int, MPI_Comm, int, int, MPI_Comm *))
MPIXQ_NEXT(Intercomm_merge, (MPI_Comm, int, MPI_Comm *))
