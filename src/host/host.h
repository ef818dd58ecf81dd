/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the interposed MPI functions do once anything is matched or being matched: find out whether
 * a call is MPI's alone, as most are; check that the user's call is allowed, complete what the host
 * has started, and let matching progress while it waits.
 */
#ifndef MPIXQ_HOST_H
#define MPIXQ_HOST_H

#include <mpi.h>
#include <stdbool.h>

#include "host_start.h"
#include "match/match.h"
#include "util/backoff.h"
#include "util/noted.h"

/* What a completing call has to look after. Lives on the stack; a call with many elements allocates
 * before it does anything else. */
struct mpixq_watch {
    const struct mpixq_call *function; /* that was called */

    /* The requests of MPIX_Imatch among the elements. */
    int n;
    struct mpixq_watched {
        int index;
        struct mpixq_match_op *op;
    } * items;
    struct mpixq_watched few[4];

    /* The matched requests that the host has started: ours, which MPI knows nothing of. And, in
     * calls that may return without them, n_queued that a queue still waits for: never done. */
    int n_ours, n_queued;
    struct mpixq_ours {
        int index;
        bool queued;
        bool done; /* completed or failed, as the last poll saw it, */
        int code;  /* and with what result */
        struct mpixq_request *req;
    } * ours;
    struct mpixq_ours few_ours[16];
    bool failed;   /* one of them has */
    uint64_t call; /* number of the call, for the watchdog; 0: it has none */

    /* If there are any of them: the elements for MPI, with null handles in their place; and whether
     * any other is left. */
    bool has_rest;
    MPI_Request *rest;
    MPI_Request few_rest[32];
    /* Of these, matched collectives that are inactive: MPICH takes one that it never started for
     * active. In their place MPI gets a request of ours that is inactive, also if there are none of
     * the above. */
    int n_hidden, count;
    bool copies_back;      /* MPI got rest, and none of them is ours */
    MPI_Request *requests; /* of the program */

    struct mpixq_backoff backoff;
};

/* Are there any that were freed while active? Let go of those that have completed. */
static inline bool mpixq_host_has_freed(void)
{
    return atomic_load(&mpixq_host.n_freed) > 0;
}
void mpixq_host_reap(void);
/* The progress thread, which does not do so itself: have that done, if no call comes by soon. */
void mpixq_host_reap_later(void);

/* Is anything matched, or being matched? */
static inline bool mpixq_host_may_have(void)
{
    return atomic_load_explicit(&mpixq_requests.active, memory_order_relaxed) != 0;
}

/* Is there anything that calls do for others: matching to go on with, or requests to let go of? */
static inline bool mpixq_host_is_needed(void)
{
    return mpixq_match_is_pending() || mpixq_host_has_freed();
}

/* Can any of these handles be ours? It never is where this is false. */
static inline bool mpixq_host_may_be_ours(int count, const MPI_Request requests[])
{
    for (int i = 0; requests != NULL && i < count; i++) {
        if (mpixq_is_noted(requests[i])) {
            return true;
        }
    }
    return false;
}

/* The first look of a completing call, in few instructions and as a leaf. False: it is passed on as
 * it is. */
static inline bool mpixq_host_may_look(int count, const MPI_Request requests[])
{
    return mpixq_host_may_have() &&
           (mpixq_host_is_needed() || mpixq_host_may_be_ours(count, requests));
}

/* Is any of these matched or being matched, or may it be of Imatch? */
bool mpixq_host_has_any(int count, const MPI_Request requests[]);
/* The second look, which is not misled by handles that look like those of ours. */
static inline bool mpixq_host_must_look(int count, const MPI_Request requests[])
{
    return mpixq_host_is_needed() || mpixq_host_has_any(count, requests);
}

/* May this request be cancelled by the host? MPI_SUCCESS, or the code of an error whose handler has
 * been invoked. */
int mpixq_host_check_cancel(const struct mpixq_call *call, MPI_Request request);

/* What MPI gets if none of the elements is ours: the array, or one in its place, from which
 * mpixq_host_end_one and _some copy back. */
MPI_Request *mpixq_host_for_mpi(struct mpixq_watch *watch);

/* Before a completing call: check and find the elements that are not MPI's alone. needs_all: it
 * cannot return before the last of them is complete, and so refuses those that a queue waits for.
 * Every begin that succeeds has its end. */
int mpixq_host_begin(struct mpixq_watch *watch, const struct mpixq_call *call, bool needs_all,
                     int count, MPI_Request requests[]);
/* Nothing but what queues wait for could end the call. Its error, the handler invoked. */
int mpixq_host_refuse_queued(const struct mpixq_watch *watch);
/* Make watch->rest where none is ours, which begin leaves out. An MPI code, its handler invoked. */
int mpixq_host_set_apart(struct mpixq_watch *watch, int count, MPI_Request requests[]);
/* Let the watchdog see which of ours a call waits for. */
void mpixq_watch_show(struct mpixq_watch *watch);
/* Without any of ours, a blocking call goes on as its testing form while this is true, and then, if
 * it is not done, as itself: while something of ours is under way a thread must not block inside
 * MPI, where it would not answer its peers. rc and done are those of the last test. Also pauses. */
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
int mpixq_host_free(const struct mpixq_call *call, MPI_Request handle, struct mpixq_request *req);
void mpixq_host_freed(struct mpixq_request *req);
/* In MPI_Finalize: of all of them. */
void mpixq_host_close(void);

/* MPI_Request_get_status of a matched request. *ask_p: MPI is to be asked instead, of *handle_p. */
int mpixq_host_get_status(const struct mpixq_call *call, MPI_Request *handle_p, int *flag,
                          MPI_Status *status, bool *ask_p);

#endif
