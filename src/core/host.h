/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the interposed MPI functions do once anything is matched or being matched: check that
 * the user's call is allowed, and let matching progress while it waits.
 */
#ifndef MPIXQ_HOST_H
#define MPIXQ_HOST_H

#include <mpi.h>
#include <stdbool.h>

#include "backoff.h"
#include "match.h"

/* The requests of MPIX_Imatch among those of a call. */
struct mpixq_watch {
    int n;
    struct mpixq_watched {
        int index;
        struct mpixq_match_op *op;
    } * items;
    struct mpixq_watched few[4];
    struct mpixq_backoff backoff;
};

/* Is something going on that the interposed functions must look at? */
static inline bool mpixq_host_must_look(void)
{
    return atomic_load_explicit(&mpixq_active, memory_order_relaxed) != 0;
}

/* May these requests be started, completed, cancelled by the host? MPI_SUCCESS, or the code of
 * an error whose handler has been invoked. */
int mpixq_host_check_start(int count, MPI_Request requests[]);
int mpixq_host_check_complete(int count, MPI_Request requests[]);
int mpixq_host_check_cancel(MPI_Request request);

/* Before a completing call: find the requests of Imatch. Every begin that succeeds has its end. */
int mpixq_host_begin(struct mpixq_watch *watch, int count, MPI_Request requests[]);
/* A blocking call goes on as its testing form while this is true, and then, if it is not done, as
 * itself: while something of ours is under way a thread must not block inside MPI, where it would
 * not answer its peers. rc and done are those of the last test. Also pauses. */
bool mpixq_host_again(struct mpixq_watch *watch, int rc, bool done);
/* After a call that completed the request at index, or none if that is MPI_UNDEFINED: the code of a
 * match that failed, its handler invoked, or rc. Ends the watch. */
int mpixq_host_end_one(struct mpixq_watch *watch, int rc, int index);
/* After a call that completed n requests, the one with statuses[i] being indices[i], or i if
 * indices is NULL. */
int mpixq_host_end_some(struct mpixq_watch *watch, int rc, int n, const int indices[],
                        MPI_Status statuses[]);

/* Around MPI_Request_free of a request whose record, req, was not dropped; NULL: it has none.
 * Before: the code of an error whose handler has been invoked, or MPI_SUCCESS, and the handle
 * is forgotten, since MPI may give it to somebody else; then MPI is to be called, and the
 * second function. */
int mpixq_host_free(MPI_Request handle, struct mpixq_request *req);
void mpixq_host_freed(struct mpixq_request *req);
/* MPI_Request_get_status of a request that a queue has started. False: MPI is to be asked. */
bool mpixq_host_get_status(MPI_Request handle, int *flag, MPI_Status *status);

#endif
