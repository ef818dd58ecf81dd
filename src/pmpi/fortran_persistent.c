/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of what begins and ends MPI, of the persistent initialisers of messages, of
 * what starts and frees requests, and of what frees operations. Where mpi_f08 takes buffers by
 * descriptor the names end in _f08ts_; they are not here, as those functions of MPICH call
 * MPI_Send_init and its like in C. */
#include <string.h>

#include "fortran.h"
#include "next.h"
#include "pull.h"

void mpixq_pull_fortran(void)
{
    mpixq_pull_fortran_comm();
    mpixq_pull_fortran_complete();
    mpixq_pull_fortran_collective();
}

static void init(MPI_Fint *ierror)
{
    mpixq_fortran_constants();
    mpixq_fortran_return(ierror, MPI_Init(NULL, NULL));
}
MPIXQ_FORTRAN(init, mpi_init);

static void init_thread(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    mpixq_fortran_constants();
    mpixq_fortran_return(ierror, MPI_Init_thread(NULL, NULL, *required, provided));
}
MPIXQ_FORTRAN(init_thread, mpi_init_thread);

static void finalize(MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPI_Finalize());
}
MPIXQ_FORTRAN(finalize, mpi_finalize);

typedef int send_init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void send_init_by(send_init_fn *fn, const void *buf, const MPI_Fint *count,
                         const MPI_Fint *type, const MPI_Fint *dest, const MPI_Fint *tag,
                         const MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made;
    int rc = fn(mpixq_fortran_buffer(buf), *count, PMPI_Type_f2c(*type), *dest, *tag,
                PMPI_Comm_f2c(*comm), &made);

    if (rc == MPI_SUCCESS) {
        *request = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}

static void send_init(const void *buf, const MPI_Fint *count, const MPI_Fint *type,
                      const MPI_Fint *dest, const MPI_Fint *tag, const MPI_Fint *comm,
                      MPI_Fint *request, MPI_Fint *ierror)
{
    send_init_by(MPI_Send_init, buf, count, type, dest, tag, comm, request, ierror);
}
MPIXQ_FORTRAN(send_init, mpi_send_init);

static void bsend_init(const void *buf, const MPI_Fint *count, const MPI_Fint *type,
                       const MPI_Fint *dest, const MPI_Fint *tag, const MPI_Fint *comm,
                       MPI_Fint *request, MPI_Fint *ierror)
{
    send_init_by(MPI_Bsend_init, buf, count, type, dest, tag, comm, request, ierror);
}
MPIXQ_FORTRAN(bsend_init, mpi_bsend_init);

static void ssend_init(const void *buf, const MPI_Fint *count, const MPI_Fint *type,
                       const MPI_Fint *dest, const MPI_Fint *tag, const MPI_Fint *comm,
                       MPI_Fint *request, MPI_Fint *ierror)
{
    send_init_by(MPI_Ssend_init, buf, count, type, dest, tag, comm, request, ierror);
}
MPIXQ_FORTRAN(ssend_init, mpi_ssend_init);

static void rsend_init(const void *buf, const MPI_Fint *count, const MPI_Fint *type,
                       const MPI_Fint *dest, const MPI_Fint *tag, const MPI_Fint *comm,
                       MPI_Fint *request, MPI_Fint *ierror)
{
    send_init_by(MPI_Rsend_init, buf, count, type, dest, tag, comm, request, ierror);
}
MPIXQ_FORTRAN(rsend_init, mpi_rsend_init);

static void recv_init(void *buf, const MPI_Fint *count, const MPI_Fint *type,
                      const MPI_Fint *source, const MPI_Fint *tag, const MPI_Fint *comm,
                      MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made;
    int rc = MPI_Recv_init((void *)mpixq_fortran_buffer(buf), *count, PMPI_Type_f2c(*type), *source,
                           *tag, PMPI_Comm_f2c(*comm), &made);

    if (rc == MPI_SUCCESS) {
        *request = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(recv_init, mpi_recv_init);

static void start(MPI_Fint *request, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = mpixq_fortran_requests_begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Start(r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(start, mpi_start);

static void startall(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = mpixq_fortran_requests_begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Startall(*count, r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(startall, mpi_startall);

static void request_free(MPI_Fint *request, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = mpixq_fortran_requests_begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Request_free(r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(request_free, mpi_request_free);

static void cancel(const MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request c = PMPI_Request_f2c(*request);

    mpixq_fortran_return(ierror, MPI_Cancel(&c));
}
MPIXQ_FORTRAN(cancel, mpi_cancel);

static void op_free(MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op c = PMPI_Op_f2c(*op);
    int rc = MPI_Op_free(&c);

    if (rc == MPI_SUCCESS) {
        *op = PMPI_Op_c2f(c);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(op_free, mpi_op_free);

typedef void any_fn(void);

static bool comes_to(any_fn *function, const char *name, char *why, size_t size)
{
    void *own;

    memcpy(&own, &function, sizeof own); /* POSIX's way around data and function pointers */
    return mpixq_next_comes_to(own, name, why, size);
}

/* One that Open MPI would serve, and one of mpi_f08, which MPICH would serve as well: there a
 * request could be made by a call that comes by us and be started by one that does not. */
bool mpixq_fortran_is_interposed(char *why, size_t size)
{
    return comes_to((any_fn *)send_init, "mpi_send_init_", why, size) &&
           comes_to((any_fn *)start, "mpi_start_f08_", why, size);
}
