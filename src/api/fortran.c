/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The public functions for Fortran: the external procedures whose interfaces src/fortran/
 * mpix_queue.f90 declares. Each takes all arguments by their address, an absent ierror as NULL, and
 * calls the C function. */
#include "pmpi/fortran.h"

#include <dlfcn.h>

#include "api.h"
#include "fortran_names.h"
#include "lib/lib.h"

/* While MPI is not up it must not be asked about handles, and C's functions look at none. */
static int begin(struct mpixq_fortran_requests *r, int count, MPI_Fint *requests)
{
    return mpixq_fortran_requests_begin(r, mpixq_lib_is_up() ? count : 0, requests);
}

/* ---- Library -------------------------------------------------------------------------------- */

static void get_version(MPI_Fint *major, MPI_Fint *minor, MPI_Fint *patch, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Get_version(major, minor, patch));
}
PLAIN(get_version, mpixq_get_version);

static void error_kind(const MPI_Fint *errorcode, MPI_Fint *kind, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Error_kind(*errorcode, kind));
}
PLAIN(error_kind, mpixq_error_kind);

static MPI_Fint queue_eq(const MPIXQ_Queue *a, const MPIXQ_Queue *b)
{
    return mpixq_fortran_logical(*a == *b);
}
PLAIN(queue_eq, mpixq_queue_eq);

static MPI_Fint queue_ne(const MPIXQ_Queue *a, const MPIXQ_Queue *b)
{
    return mpixq_fortran_logical(*a != *b);
}
PLAIN(queue_ne, mpixq_queue_ne);

static MPI_Fint stream_eq(const MPIXQ_Host_stream *a, const MPIXQ_Host_stream *b)
{
    return mpixq_fortran_logical(*a == *b);
}
PLAIN(stream_eq, mpixq_host_stream_eq);

static MPI_Fint stream_ne(const MPIXQ_Host_stream *a, const MPIXQ_Host_stream *b)
{
    return mpixq_fortran_logical(*a != *b);
}
PLAIN(stream_ne, mpixq_host_stream_ne);

/* ---- Queues --------------------------------------------------------------------------------- */

/* A stream that is declared to be a host's: so a null handle of it is none, and not the default
 * stream of a GPU, which the C function would take it for. */
static int init_host(MPIXQ_Queue *queue, MPI_Fint type, MPIXQ_Host_stream *stream, MPI_Info hints)
{
    MPI_Info info = MPI_INFO_NULL;
    int rc;

    if (*stream != MPIXQ_HOST_STREAM_NULL || !mpixq_lib_is_up()) {
        return MPIXQ_Queue_init_info(queue, (MPIXQ_Queue_type)type, stream, hints);
    }
    rc = hints == MPI_INFO_NULL ? PMPI_Info_create(&info) : PMPI_Info_dup(hints, &info);
    rc = rc ? rc : PMPI_Info_set(info, "type", "mpix_host_stream");
    rc = rc ? rc : MPIXQ_Queue_init_info(queue, (MPIXQ_Queue_type)type, stream, info);
    if (info != MPI_INFO_NULL) {
        (void)PMPI_Info_free(&info);
    }
    return rc;
}

static void queue_init(MPIXQ_Queue *queue, const MPI_Fint *type, MPIXQ_Host_stream *stream,
                       MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, *stream != MPIXQ_HOST_STREAM_NULL
                                     ? MPIXQ_Queue_init(queue, (MPIXQ_Queue_type)*type, stream)
                                     : init_host(queue, *type, stream, MPI_INFO_NULL));
}
PLAIN(queue_init, mpixq_queue_init);

/* The stream of another kind, by the address of its handle. */
static void queue_init_ptr(MPIXQ_Queue *queue, const MPI_Fint *type, void *const *address,
                           MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_init(queue, (MPIXQ_Queue_type)*type, *address));
}
PLAIN(queue_init_ptr, mpixq_queue_init_ptr);

static void queue_init_info(MPIXQ_Queue *queue, const MPI_Fint *type, MPIXQ_Host_stream *stream,
                            const MPI_Fint *info, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, init_host(queue, *type, stream, mpixq_fortran_info(info)));
}
HANDLES(queue_init_info, mpixq_queue_init_info);

static void queue_init_info_ptr(MPIXQ_Queue *queue, const MPI_Fint *type, void *const *address,
                                const MPI_Fint *info, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_init_info(queue, (MPIXQ_Queue_type)*type, *address,
                                                       mpixq_fortran_info(info)));
}
HANDLES(queue_init_info_ptr, mpixq_queue_init_info_ptr);

static void queue_free(MPIXQ_Queue *queue, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_free(queue));
}
PLAIN(queue_free, mpixq_queue_free);

static void queue_wait(const MPIXQ_Queue *queue, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_wait(*queue));
}
PLAIN(queue_wait, mpixq_queue_wait);

static void queue_test(const MPIXQ_Queue *queue, MPI_Fint *flag, MPI_Fint *ierror)
{
    int done, rc = MPIXQ_Queue_test(*queue, &done);

    if (rc == MPI_SUCCESS) {
        *flag = mpixq_fortran_logical(done);
    }
    mpixq_fortran_return(ierror, rc);
}
PLAIN(queue_test, mpixq_queue_test);

static void queue_get_stream(const MPIXQ_Queue *queue, MPIXQ_Host_stream *stream, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_get_stream(*queue, stream));
}
PLAIN(queue_get_stream, mpixq_queue_get_stream);

/* A handle of another kind, by its address. */
static void queue_get_stream_ptr(const MPIXQ_Queue *queue, void *const *address, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Queue_get_stream(*queue, *address));
}
PLAIN(queue_get_stream_ptr, mpixq_queue_get_stream_ptr);

static void queue_get_info(const MPIXQ_Queue *queue, MPI_Fint *info_used, MPI_Fint *ierror)
{
    MPI_Info info;
    int rc = MPIXQ_Queue_get_info(*queue, &info);

    if (rc == MPI_SUCCESS) {
        *info_used = PMPI_Info_c2f(info);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(queue_get_info, mpixq_queue_get_info);

/* ---- Matching ------------------------------------------------------------------------------- */

static void matchall(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Matchall(*count, r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(matchall, mpixq_matchall);

static void matchall_info(const MPI_Fint *count, MPI_Fint *requests, const MPI_Fint *info,
                          MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Matchall_info(*count, r.c, mpixq_fortran_info(info));
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(matchall_info, mpixq_matchall_info);

static void match(MPI_Fint *request, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Match(r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(match, mpixq_match);

static void imatchall(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *op, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Request made;
    int rc = begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Imatchall(*count, r.c, &made);
        mpixq_fortran_requests_end(&r);
    }
    if (rc == MPI_SUCCESS) {
        *op = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(imatchall, mpixq_imatchall);

static void imatchall_info(const MPI_Fint *count, MPI_Fint *requests, const MPI_Fint *info,
                           MPI_Fint *op, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Request made;
    int rc = begin(&r, *count, requests);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Imatchall_info(*count, r.c, mpixq_fortran_info(info), &made);
        mpixq_fortran_requests_end(&r);
    }
    if (rc == MPI_SUCCESS) {
        *op = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(imatchall_info, mpixq_imatchall_info);

static void imatch(MPI_Fint *request, MPI_Fint *op, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    MPI_Request made;
    int rc = begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = MPIXQ_Imatch(r.c, &made);
        mpixq_fortran_requests_end(&r);
    }
    if (rc == MPI_SUCCESS) {
        *op = PMPI_Request_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(imatch, mpixq_imatch);

static void is_matched(const MPI_Fint *request, MPI_Fint *flag, MPI_Fint *ierror)
{
    MPI_Request c = mpixq_lib_is_up() ? PMPI_Request_f2c(*request) : MPI_REQUEST_NULL;
    int is, rc = MPIXQ_Is_matched(c, &is);

    if (rc == MPI_SUCCESS) {
        *flag = mpixq_fortran_logical(is);
    }
    mpixq_fortran_return(ierror, rc);
}
HANDLES(is_matched, mpixq_is_matched);

/* ---- Enqueueing ----------------------------------------------------------------------------- */

typedef int enqueue_fn(MPIXQ_Queue, MPI_Request *);
typedef int enqueue_all_fn(MPIXQ_Queue, int, MPI_Request *);

static void enqueue_by(enqueue_fn *fn, const MPIXQ_Queue *queue, MPI_Fint *request,
                       MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = begin(&r, 1, request);

    if (rc == MPI_SUCCESS) {
        rc = fn(*queue, r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}

static void enqueue_all_by(enqueue_all_fn *fn, const MPIXQ_Queue *queue, int count,
                           MPI_Fint *requests, MPI_Fint *ierror)
{
    struct mpixq_fortran_requests r;
    int rc = begin(&r, count, requests);

    if (rc == MPI_SUCCESS) {
        rc = fn(*queue, count, r.c);
        mpixq_fortran_requests_end(&r);
    }
    mpixq_fortran_return(ierror, rc);
}

static void enqueue_start(const MPIXQ_Queue *queue, MPI_Fint *request, MPI_Fint *ierror)
{
    enqueue_by(MPIXQ_Enqueue_start, queue, request, ierror);
}
HANDLES(enqueue_start, mpixq_enqueue_start);

static void enqueue_wait(const MPIXQ_Queue *queue, MPI_Fint *request, MPI_Fint *ierror)
{
    enqueue_by(MPIXQ_Enqueue_wait, queue, request, ierror);
}
HANDLES(enqueue_wait, mpixq_enqueue_wait);

static void enqueue_startall(const MPIXQ_Queue *queue, const MPI_Fint *count, MPI_Fint *requests,
                             MPI_Fint *ierror)
{
    enqueue_all_by(MPIXQ_Enqueue_startall, queue, *count, requests, ierror);
}
HANDLES(enqueue_startall, mpixq_enqueue_startall);

static void enqueue_waitall(const MPIXQ_Queue *queue, const MPI_Fint *count, MPI_Fint *requests,
                            MPI_Fint *ierror)
{
    enqueue_all_by(MPIXQ_Enqueue_waitall, queue, *count, requests, ierror);
}
HANDLES(enqueue_waitall, mpixq_enqueue_waitall);

static void enqueue_startwaitall(const MPIXQ_Queue *queue, const MPI_Fint *count,
                                 MPI_Fint *requests, MPI_Fint *ierror)
{
    enqueue_all_by(MPIXQ_Enqueue_startwaitall, queue, *count, requests, ierror);
}
HANDLES(enqueue_startwaitall, mpixq_enqueue_startwaitall);

/* Everything that was started: without an array. */
static void enqueue_wait_started(const MPIXQ_Queue *queue, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Enqueue_waitall(*queue, MPIXQ_ALL_STARTED, NULL));
}
PLAIN(enqueue_wait_started, mpixq_enqueue_wait_started);

/* ---- Host streams --------------------------------------------------------------------------- */

static void stream_create(MPIXQ_Host_stream *stream, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Host_stream_create(stream));
}
PLAIN(stream_create, mpixq_host_stream_create);

static void stream_destroy(MPIXQ_Host_stream *stream, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Host_stream_destroy(stream));
}
PLAIN(stream_destroy, mpixq_host_stream_destroy);

/* An internal procedure that uses variables of its host is called by a few instructions which the
 * compiler writes where the host keeps its variables. Both are gone when the host returns, and a
 * stream may get to the call later. They are in no file that is loaded, as procedures are. */
static int is_in_its_host(void (*fn)(void *))
{
    Dl_info info;

    return fn != NULL && dladdr(*(void **)&fn, &info) == 0;
}

static void stream_launch(const MPIXQ_Host_stream *stream, void (*const *fn)(void *),
                          void *const *arg, MPI_Fint *ierror)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_launch", false};
    int rc;

    if (is_in_its_host(*fn)) {
        rc = mpixq_api_enter(&call);
        rc = rc ? rc : mpixq_api_fail(&call, MPIXQ_E_ARG_FN_INTERNAL);
    } else {
        rc = MPIXQ_Host_stream_launch(*stream, *fn, *arg);
    }
    mpixq_fortran_return(ierror, rc);
}
PLAIN(stream_launch, mpixq_host_stream_launch);

static void stream_synchronize(const MPIXQ_Host_stream *stream, MPI_Fint *ierror)
{
    mpixq_fortran_return(ierror, MPIXQ_Host_stream_synchronize(*stream));
}
PLAIN(stream_synchronize, mpixq_host_stream_synchronize);

static void stream_query(const MPIXQ_Host_stream *stream, MPI_Fint *flag, MPI_Fint *ierror)
{
    int done, rc = MPIXQ_Host_stream_query(*stream, &done);

    if (rc == MPI_SUCCESS) {
        *flag = mpixq_fortran_logical(done);
    }
    mpixq_fortran_return(ierror, rc);
}
PLAIN(stream_query, mpixq_host_stream_query);
