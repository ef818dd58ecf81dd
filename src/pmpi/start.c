/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What starts requests: those that are matched are started by their channels, all others by MPI. */
#include <stddef.h>

#include "core/fault.h"
#include "core/request.h"
#include "host/host.h"
#include "host/host_start.h"
#include "next.h"
#include "pull.h"
#include "util/alloc.h"

/* Out of line, so that passing on is a jump and needs no frame. */
#define SLOW __attribute__((noinline)) static

enum { FEW = 64 }; /* elements of an array for which nothing is allocated */

/* The elements of a call, apart. */
struct starts {
    int n, n_ours;
    struct mpixq_request **ours; /* of each element; NULL: MPI starts it */
    MPI_Request *rest;           /* the others, one after the other */
};

void mpixq_pull_start(void)
{
}

static const struct mpixq_call start_call = {"MPI_Start", false};
static const struct mpixq_call startall_call = {"MPI_Startall", true};

/* The request at this index cannot be started. One whose peer has failed is failed from now on: a
 * completing call after this one says so too, and does not take it for inactive. */
static int raise_for(const struct mpixq_call *call, int index, struct mpixq_request *req,
                     enum mpixq_error error)
{
    struct mpixq_fault fault;
    int code = mpixq_error_code(error);

    if (error == MPIXQ_E_REQUEST_FAILED) {
        code = mpixq_request_failure(req);
        (void)mpixq_request_step(req, MPIXQ_FAIL);
    }
    mpixq_fault_at(&fault, index, req);
    return mpixq_fault_raise_code(call, &fault, code);
}

/* Do starts need a look afterwards? */
static inline bool has_buffered(void)
{
    return atomic_load_explicit(&mpixq_requests.buffered, memory_order_relaxed) != 0;
}

SLOW int start_checked(MPI_Request *request)
{
    MPI_Request before = *request;
    struct mpixq_request *req;
    enum mpixq_error error = mpixq_host_claim(before, &req);
    int rc;

    if (error != MPIXQ_E_NONE) {
        return raise_for(&start_call, 0, req, error);
    }
    if (req != NULL) {
        return mpixq_host_start(&start_call, &req, 1);
    }
    rc = mpixq_next.Start(request);
    if (rc == MPI_SUCCESS) {
        mpixq_host_mpi_started(before);
    }
    /* Open MPI gives a buffered send whose last message has not left another handle. */
    if (*request != before) {
        mpixq_request_rename(before, *request);
    }
    return rc;
}

static void unclaim(const struct starts *starts, int n)
{
    for (int i = 0; i < n; i++) {
        if (starts->ours[i] != NULL) {
            mpixq_host_unclaim(starts->ours[i]);
        }
    }
}

/* Claim what is ours, all or nothing. Returns an MPI code whose handler has been invoked. */
static int claim(struct starts *starts, const MPI_Request requests[])
{
    int n_rest = 0;

    for (int i = 0; i < starts->n; i++) {
        enum mpixq_error error = mpixq_host_claim(requests[i], &starts->ours[i]);

        if (error != MPIXQ_E_NONE) {
            unclaim(starts, i);
            return raise_for(&startall_call, i, starts->ours[i], error);
        }
        if (starts->ours[i] == NULL) {
            starts->rest[n_rest++] = requests[i];
        }
    }
    starts->n_ours = starts->n - n_rest;
    return MPI_SUCCESS;
}

/* MPI was to start the rest: give the user the handles that it has changed. */
static void copy_back(const struct starts *starts, MPI_Request requests[], bool are_started)
{
    int n_rest = 0;

    for (int i = 0; i < starts->n; i++) {
        if (starts->ours[i] == NULL) {
            MPI_Request after = starts->rest[n_rest++];

            if (are_started) {
                mpixq_host_mpi_started(requests[i]);
            }
            if (after != requests[i]) {
                mpixq_request_rename(requests[i], after);
                requests[i] = after;
            }
        }
    }
}

static int start_apart(struct starts *starts, MPI_Request requests[])
{
    int rc = claim(starts, requests), n_rest = starts->n - starts->n_ours;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (n_rest > 0) {
        rc = mpixq_next.Startall(n_rest, starts->rest);
        copy_back(starts, requests, rc == MPI_SUCCESS);
    }
    if (rc != MPI_SUCCESS) {
        unclaim(starts, starts->n);
        return rc;
    }
    return starts->n_ours > 0 ? mpixq_host_start(&startall_call, starts->ours, starts->n)
                              : MPI_SUCCESS;
}

SLOW int startall_checked(int count, MPI_Request requests[])
{
    struct mpixq_request *few_ours[FEW];
    MPI_Request few_rest[FEW];
    struct starts starts = {.n = count, .ours = few_ours, .rest = few_rest};
    int rc;

    mpixq_host_reap();
    if (!has_buffered() && !mpixq_host_has_any(count, requests)) {
        return mpixq_next.Startall(count, requests);
    }
    if (count <= FEW) {
        return start_apart(&starts, requests);
    }
    starts.ours = mpixq_alloc((size_t)count * sizeof *starts.ours);
    starts.rest = mpixq_alloc((size_t)count * sizeof *starts.rest);
    rc = starts.ours != NULL && starts.rest != NULL
             ? start_apart(&starts, requests)
             : mpixq_fault_raise(&startall_call, &MPIXQ_FAULT_NONE, MPIXQ_E_NO_MEMORY);
    mpixq_free(starts.rest);
    mpixq_free(starts.ours);
    return rc;
}

/* Nearly all that a program pays which neither matches nor buffers. */
static inline bool may_look(void)
{
    return (atomic_load_explicit(&mpixq_requests.active, memory_order_relaxed) |
            atomic_load_explicit(&mpixq_requests.buffered, memory_order_relaxed)) != 0;
}

MPIXQ_INTERPOSE int MPI_Start(MPI_Request *request)
{
    bool look =
        may_look() && request != NULL && (has_buffered() || mpixq_host_may_be_ours(1, request));

    return look ? start_checked(request) : mpixq_next.Start(request);
}
MPIXQ_OWN(Start);

/* An array also lets go of others. */
MPIXQ_INTERPOSE int MPI_Startall(int count, MPI_Request requests[])
{
    bool look =
        may_look() && requests != NULL && count > 0 &&
        (has_buffered() || mpixq_host_has_freed() || mpixq_host_may_be_ours(count, requests));

    return look ? startall_checked(count, requests) : mpixq_next.Startall(count, requests);
}
MPIXQ_OWN(Startall);
