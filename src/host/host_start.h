/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts of matched requests by the host: MPI_Start instead of a queue.
 *
 * The channel's start is asked with a queue of NULL, and the thread that starts executes the
 * operation itself. From then on the request is HOST_STARTED and driven by who waits for it or
 * tests it, by the channel's poll, as MPI drives its own; the progress thread has no part in it.
 * What MPI knows as the request stays inactive all the while, and its handle is not changed.
 *
 * An error of such a request is kept with it, as an MPI code, until the call that completes it.
 */
#ifndef MPIXQ_HOST_START_H
#define MPIXQ_HOST_START_H

#include <mpi.h>
#include <stdbool.h>

#include "core/fault.h"
#include "core/request.h"
#include "util/lock.h"

/* What the calls of all threads share. A process has one; mpixq_host_close leaves nothing in it
 * that needs to be freed. */
struct mpixq_host {
    _Atomic uint64_t last_call; /* number of the last one that the watchdog was shown */
    /* Calls for any with elements of ours and others: who is looked at first, so that neither
     * starves. And polls for any of ours, which begin elsewhere each time. */
    atomic_uint mixed, polls;
    atomic_uint misses; /* calls that found nothing complete */
    /* Records whose requests were freed while active. The lock guards the list. A leaf: who looks
     * at requests has taken them out, since a channel may call a GPU's library for it, and that
     * may block until others go on. */
    struct mpixq_lock freed_lock;
    struct mpixq_request *freed;
    atomic_long n_freed;           /* those that somebody has taken out included */
    _Atomic(MPI_Request) inactive; /* see mpixq_host_inactive; made when it is needed */
};
extern struct mpixq_host mpixq_host;

/* A request that is never started, for MPI in place of others; MPI_REQUEST_NULL without memory. */
MPI_Request mpixq_host_inactive(void);

/* Take a request for a start by the host: *req_p is its record, now HOST_STARTED, or NULL if MPI is
 * to start it. On an error *req_p is the record that it is about. */
enum mpixq_error mpixq_host_claim(MPI_Request handle, struct mpixq_request **req_p);
/* Give back what was claimed and not started. */
void mpixq_host_unclaim(struct mpixq_request *req);
/* MPI has started what is behind this handle: a collective that is not matched is active now. */
void mpixq_host_mpi_started(MPI_Request handle);
/* Start what was claimed; NULL entries are passed over. MPI_SUCCESS, or the code of the first start
 * that failed, whose handler has been invoked; the others have started. */
int mpixq_host_start(const struct mpixq_call *call, struct mpixq_request *const reqs[], int n);

/* Drive a request that the host has started. Has it completed, or failed? */
bool mpixq_host_is_done(struct mpixq_request *req);
/* Has it failed, here or at the peer, or can it never complete since the peer is gone? */
bool mpixq_host_has_failed(const struct mpixq_request *req);
/* It has: MPI_SUCCESS, or the code of its failure, which takes its end if the data came first. */
int mpixq_host_result(const struct mpixq_request *req);
/* It has, with this result, and a call completes it: it is inactive again, or has failed for good.
 * Writes the status only if it has succeeded. Returns the code. */
int mpixq_host_complete(struct mpixq_request *req, int code, MPI_Status *status);
/* Source, tag, count and cancellation of the last start; MPI_ERROR is left alone. */
void mpixq_host_write_status(const struct mpixq_request *req, MPI_Status *status);
/* A test has found nothing: now and then, listen to the peers, whose failures nobody else hears of,
 * and drive MPI. */
void mpixq_host_missed(void);
/* Without a progress thread a call that waits goes on with all that consist of parts, as others may
 * wait for what this process does for them. */
void mpixq_host_drive(void);

#endif
