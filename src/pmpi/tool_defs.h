/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * As next_defs.h: the functions of MPI's tool interface, which not every MPI has.
 */
MPIXQ_NEXT(T_init_thread, (int, int *))
MPIXQ_NEXT(T_finalize, (void))
MPIXQ_NEXT(T_pvar_get_num, (int *))
MPIXQ_NEXT(T_pvar_get_info, (int, char *, int *, int *, int *, MPI_Datatype *, MPI_T_enum *, char *,
                             int *, int *, int *, int *, int *))
MPIXQ_NEXT(T_pvar_get_index, (const char *, int, int *))
MPIXQ_NEXT(T_pvar_session_free, (MPI_T_pvar_session *))
MPIXQ_NEXT(T_pvar_handle_alloc, (MPI_T_pvar_session, int, void *, MPI_T_pvar_handle *, int *))
MPIXQ_NEXT(T_pvar_handle_free, (MPI_T_pvar_session, MPI_T_pvar_handle *))
MPIXQ_NEXT(T_pvar_start, (MPI_T_pvar_session, MPI_T_pvar_handle))
MPIXQ_NEXT(T_pvar_stop, (MPI_T_pvar_session, MPI_T_pvar_handle))
MPIXQ_NEXT(T_pvar_read, (MPI_T_pvar_session, MPI_T_pvar_handle, void *))
MPIXQ_NEXT(T_pvar_write, (MPI_T_pvar_session, MPI_T_pvar_handle, const void *))
MPIXQ_NEXT(T_pvar_reset, (MPI_T_pvar_session, MPI_T_pvar_handle))
MPIXQ_NEXT(T_pvar_readreset, (MPI_T_pvar_session, MPI_T_pvar_handle, void *))
MPIXQ_NEXT(T_category_get_num, (int *))
MPIXQ_NEXT(T_category_get_info, (int, char *, int *, char *, int *, int *, int *, int *))
MPIXQ_NEXT(T_category_get_index, (const char *, int *))
MPIXQ_NEXT(T_category_get_cvars, (int, int, int[]))
MPIXQ_NEXT(T_category_get_pvars, (int, int, int[]))
MPIXQ_NEXT(T_category_get_categories, (int, int, int[]))
