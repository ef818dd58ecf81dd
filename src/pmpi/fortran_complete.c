/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of what completes requests and tells about them. */
#include "comm/error.h"
#include "fortran.h"
#include "next.h"
#include "util/alloc.h"

enum { STATUS_SIZE = sizeof(MPI_Status) / sizeof(MPI_Fint) };

/* No error code: MPI has not written this MPI_ERROR. */
enum { UNWRITTEN = -1 };

void mpixq_pull_fortran_complete(void)
{
}

/* A status for C. What MPI leaves alone, MPI_ERROR as a rule, keeps the value it had. */
static MPI_Status *status_in(const MPI_Fint *fortran, MPI_Status *c)
{
    if (mpixq_fortran_ignores(fortran)) {
        return MPI_STATUS_IGNORE;
    }
    (void)PMPI_Status_f2c(fortran, c); /* fails for MPI_STATUS_IGNORE only */
    return c;
}

static void status_out(const MPI_Status *c, MPI_Fint *fortran)
{
    if (c != MPI_STATUS_IGNORE) {
        (void)PMPI_Status_c2f(c, fortran); /* as above */
    }
}

/* The arguments of an array function. */
struct arrays {
    struct mpixq_fortran_requests r;
    MPI_Fint *fortran;
    MPI_Status *statuses;
    MPI_Status few[16];
};

static int arrays_begin(struct arrays *a, int count, MPI_Fint *requests, MPI_Fint *statuses)
{
    int rc = mpixq_fortran_requests_begin(&a->r, count, requests);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    a->fortran = statuses;
    a->statuses = a->few;
    if (mpixq_fortran_ignores(statuses)) {
        a->statuses = MPI_STATUSES_IGNORE;
    } else if ((size_t)a->r.n > sizeof a->few / sizeof a->few[0]) {
        a->statuses = mpixq_alloc((size_t)a->r.n * sizeof *a->statuses);
        if (a->statuses == NULL) {
            mpixq_fortran_requests_end(&a->r);
            return mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code(MPIXQ_E_NO_MEMORY));
        }
    }
    for (int i = 0; i < a->r.n && a->statuses != MPI_STATUSES_IGNORE; i++) {
        a->statuses[i].MPI_ERROR = UNWRITTEN;
    }
    return MPI_SUCCESS;
}

/* After a call that returned rc and wrote the first n statuses, if it wrote any. The program need
 * not have room for more than these, so none of its own are looked at before. */
static void arrays_end(struct arrays *a, int rc, int n)
{
    if (a->statuses != MPI_STATUSES_IGNORE && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS)) {
        for (int i = 0; i < n; i++) {
            MPI_Fint *fortran = a->fortran + (ptrdiff_t)i * STATUS_SIZE;
            MPI_Status before;

            if (a->statuses[i].MPI_ERROR == UNWRITTEN) {
                (void)PMPI_Status_f2c(fortran, &before);
                a->statuses[i].MPI_ERROR = before.MPI_ERROR;
            }
            status_out(&a->statuses[i], fortran);
        }
    }
    if (a->statuses != MPI_STATUSES_IGNORE && a->statuses != a->few) {
        mpixq_free(a->statuses);
    }
    mpixq_fortran_requests_end(&a->r);
}

/* Fortran counts from 1. */
static MPI_Fint index_out(int index)
{
    return index == MPI_UNDEFINED ? index : index + 1;
}

static int indices_out(int rc, int n, MPI_Fint *indices)
{
    if (n == MPI_UNDEFINED || (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS)) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        indices[i]++;
    }
    return n;
}

static void wait(MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Status room, *s = status_in(status, &room);
    int rc = mpixq_fortran_requests_begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Wait(r.c, s);
        mpixq_fortran_requests_end(&r);
        status_out(s, status);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(wait, mpi_wait);

static void waitany(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status,
                    MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Status room, *s = status_in(status, &room);
    int done = MPI_UNDEFINED, rc = mpixq_fortran_requests_begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Waitany(*count, r.c, &done, s);
        mpixq_fortran_requests_end(&r);
        status_out(s, status);
        *index = index_out(done);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(waitany, mpi_waitany);

static void waitall(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *ierror)
{
    struct arrays a;
    int rc = arrays_begin(&a, *count, requests, statuses);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Waitall(*count, a.r.c, a.statuses);
        arrays_end(&a, rc, a.r.n);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(waitall, mpi_waitall);

static void waitsome(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *n, MPI_Fint *indices,
                     MPI_Fint *statuses, MPI_Fint *ierror)
{
    struct arrays a;
    int rc = arrays_begin(&a, *count, requests, statuses);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Waitsome(*count, a.r.c, n, indices, a.statuses);
        arrays_end(&a, rc, indices_out(rc, *n, indices));
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(waitsome, mpi_waitsome);

static void test(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Status room, *s = status_in(status, &room);
    int done = 0, rc = mpixq_fortran_requests_begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Test(r.c, &done, s);
        mpixq_fortran_requests_end(&r);
        status_out(s, status);
        *flag = mpixq_fortran_logical(done);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(test, mpi_test);

static void testany(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag,
                    MPI_Fint *status, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Status room, *s = status_in(status, &room);
    int which = MPI_UNDEFINED, done = 0;
    int rc = mpixq_fortran_requests_begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Testany(*count, r.c, &which, &done, s);
        mpixq_fortran_requests_end(&r);
        status_out(s, status);
        *index = index_out(which);
        *flag = mpixq_fortran_logical(done);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(testany, mpi_testany);

static void testall(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, MPI_Fint *statuses,
                    MPI_Fint *ierror)
{
    struct arrays a;
    int done = 0, rc = arrays_begin(&a, *count, requests, statuses);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Testall(*count, a.r.c, &done, a.statuses);
        /* A failure is told in the statuses, whatever the flag says. */
        arrays_end(&a, rc, done || rc != MPI_SUCCESS ? a.r.n : 0);
        *flag = mpixq_fortran_logical(done);
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(testall, mpi_testall);

static void testsome(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *n, MPI_Fint *indices,
                     MPI_Fint *statuses, MPI_Fint *ierror)
{
    struct arrays a;
    int rc = arrays_begin(&a, *count, requests, statuses);

    if (rc == MPI_SUCCESS) {
        rc = MPI_Testsome(*count, a.r.c, n, indices, a.statuses);
        arrays_end(&a, rc, indices_out(rc, *n, indices));
    }
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(testsome, mpi_testsome);

static void request_get_status(const MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status,
                               MPI_Fint *ierror)
{
    MPI_Status room, *s = status_in(status, &room);
    int done = 0, rc = MPI_Request_get_status(PMPI_Request_f2c(*request), &done, s);

    status_out(s, status);
    *flag = mpixq_fortran_logical(done);
    mpixq_fortran_return(ierror, rc);
}
MPIXQ_FORTRAN(request_get_status, mpi_request_get_status);
