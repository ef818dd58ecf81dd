/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The functions of mpix_queue_partitions.h for Fortran, as fortran.c has the others. */
#include "api.h"
#include "fortran_names.h"
#include "mpix_queue_partitions.h"

static MPI_Request request_of(const MPI_Fint *request)
{
    return mpixq_lib_is_up() ? PMPI_Request_f2c(*request) : MPI_REQUEST_NULL;
}

/* While MPI is not up, C's functions say so before they look at any of these. */
static MPI_Datatype type_of(const MPI_Fint *type)
{
    return mpixq_lib_is_up() ? PMPI_Type_f2c(*type) : MPI_DATATYPE_NULL;
}

static void give(int rc, MPI_Request made, MPI_Fint *request, MPI_Fint *ierror)
{
    if (rc == MPI_SUCCESS) {
        *request = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}

static void psend_init(void *const *buf, const MPI_Fint *partitions, const MPI_Count *count,
                       const MPI_Fint *datatype, const MPI_Fint *dest, const MPI_Fint *tag,
                       const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                       MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = MPIXQ_Psend_init(*buf, *partitions, *count, type_of(datatype), *dest, *tag,
                              mpixq_fortran_comm(comm), mpixq_fortran_info(info), &made);

    give(rc, made, request, ierror);
}
HANDLES(psend_init, mpixq_psend_init);

static void precv_init(void *const *buf, const MPI_Fint *partitions, const MPI_Count *count,
                       const MPI_Fint *datatype, const MPI_Fint *source, const MPI_Fint *tag,
                       const MPI_Fint *comm, const MPI_Fint *info, MPI_Fint *request,
                       MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    int rc = MPIXQ_Precv_init(*buf, *partitions, *count, type_of(datatype), *source, *tag,
                              mpixq_fortran_comm(comm), mpixq_fortran_info(info), &made);

    give(rc, made, request, ierror);
}
HANDLES(precv_init, mpixq_precv_init);

static void pready(const MPI_Fint *partition, const MPI_Fint *request, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Pready(*partition, request_of(request)));
}
HANDLES(pready, mpixq_pready);

static void pready_range(const MPI_Fint *low, const MPI_Fint *high, const MPI_Fint *request,
                         MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Pready_range(*low, *high, request_of(request)));
}
HANDLES(pready_range, mpixq_pready_range);

static void pready_list(const MPI_Fint *length, const MPI_Fint *list, const MPI_Fint *request,
                        MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Pready_list(*length, list, request_of(request)));
}
HANDLES(pready_list, mpixq_pready_list);

static void parrived(const MPI_Fint *request, const MPI_Fint *partition, MPI_Fint *flag,
                     MPI_Fint *ierror)
{
    int has, rc = MPIXQ_Parrived(request_of(request), *partition, &has);

    if (rc == MPI_SUCCESS) {
        *flag = mpixq_fortran_logical(has);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(parrived, mpixq_parrived);

static void pbuf_prepare(const MPI_Fint *request, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Pbuf_prepare(request_of(request)));
}
HANDLES(pbuf_prepare, mpixq_pbuf_prepare);
