/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Matching: finds the partner of each request, for good. The sender offers, the receiver pairs
 * by MPI's order rules (pairing.h) and answers.
 *
 *     sender                                    receiver
 *     begin: OFFER(envelope, size, blobs) --->  pairs with a posted receive, or is kept
 *                                               chooses the channel
 *     matched                             <---  ANSWER(channel's blob); matched
 *         (or both later, by a VERDICT of the sender: match_open.c)
 *     ...
 *     freed:  RELEASE(starts)             --->  once freed too, and all starts received: gone
 *                                         <---  freed first: RELEASE(completed receives)
 *     failed: FAILURE                    <--->  FAILURE
 *     given up before it was answered: WITHDRAW
 *
 * The matching lock guards everything here and in control.h; no call under it blocks.
 */
#ifndef MPIXQ_MATCH_H
#define MPIXQ_MATCH_H

#include <mpi.h>
#include <stdbool.h>

#include "comm/error.h"
#include "core/fault.h"
#include "core/request.h"
#include "util/age.h"
#include "wire.h"

struct mpixq_comm;
struct mpixq_comm_view;
struct mpixq_split;

/* One call of Match or Imatch. */
struct mpixq_match_op {
    atomic_int remaining; /* requests not yet matched or failed */
    atomic_int references;
    /* The first failure by index. Written under the matching lock, final when remaining is 0. */
    struct mpixq_fault fault;      /* but for its communicator, which may be freed meanwhile: */
    struct mpixq_comm *error_comm; /* held */
    enum mpixq_error error;
    const struct mpixq_call *call; /* that began it */
    bool has_handle; /* nobody waits in a call: it, or that of which the requests are parts */
    struct mpixq_split *split; /* of a partitioned request, whose parts these are; or NULL */
    uint16_t note;             /* of the handle (noted.h), while it is in the table */
    MPI_Request handle;        /* of Imatch: a generalized request */
    struct mpixq_match_op *next_done;
    int n; /* requests, constant once begun */
    /* Of the watchdog, under the matching lock. */
    struct mpixq_age age;
    uint64_t look;               /* in which it saw the op last, */
    struct mpixq_request *first; /* the first of its requests by index that was not matched */
    struct mpixq_match_op *next_watched;
    enum mpixq_error given_up; /* not NONE: those of its requests that are not matched end so */
    UT_hash_handle hh;
};

/* Check that all requests may be matched now; null handles are left out of records, in which
 * *n_p are returned. On an error *fault_p is what it is about. */
enum mpixq_error mpixq_match_check(int count, MPI_Request requests[],
                                   struct mpixq_request **records, int *n_p,
                                   struct mpixq_fault *fault_p);
/* What the match of a request of parts needs, if this is one, before it begins, and what is left of
 * an earlier one given back. */
enum mpixq_error mpixq_match_prepare_split(struct mpixq_request *req,
                                           const struct mpixq_call *call);
/* Begin to match; requests that cannot be begun fail in op. */
void mpixq_match_begin(struct mpixq_request **records, int n, struct mpixq_match_op *op);
/* Block until op is complete, progressing. */
void mpixq_match_wait(struct mpixq_match_op *op);

/* A new op with a handle for Imatch; NULL on failure with *rc_p set and its handler invoked. */
struct mpixq_match_op *mpixq_match_op_create(const struct mpixq_call *call, int *rc_p);
/* An op without a handle: begin and end it. */
void mpixq_match_op_init(struct mpixq_match_op *op, const struct mpixq_call *call);
void mpixq_match_op_end(struct mpixq_match_op *op);
/* The communicator whose error handler is to hear of the op's failure. */
MPI_Comm mpixq_match_op_comm(const struct mpixq_match_op *op);
/* The code of a complete op's failure, or MPI_SUCCESS; with a text that says which request of the
 * call that began it has failed. */
int mpixq_match_op_code(const struct mpixq_match_op *op);
/* The op of an Imatch handle, with a reference, or NULL. */
struct mpixq_match_op *mpixq_match_op_find(MPI_Request handle);
void mpixq_match_op_put(struct mpixq_match_op *op);
/* Is there any handle of Imatch? */
bool mpixq_match_has_ops(void);
/* The user freed the handle: it may come back as another request's. */
void mpixq_match_op_forget(struct mpixq_match_op *op);
static inline bool mpixq_match_op_is_complete(const struct mpixq_match_op *op)
{
    return atomic_load_explicit(&op->remaining, memory_order_acquire) == 0;
}

/* Is anything being matched, or any control message under way? Written under the matching lock. */
extern atomic_bool mpixq_match_pending;
static inline bool mpixq_match_is_pending(void)
{
    return atomic_load(&mpixq_match_pending);
}
/* Progress, if something is pending. Any thread; gives way to another that is at it. */
void mpixq_match_advance(void);
/* Progress in any case: also drives MPI itself. Then those look who were added, under the matching
 * lock: at what has waited for long, say. */
void mpixq_match_kick(void);
typedef void mpixq_match_look(void *state);
/* Before any request is matched. The state is the caller's, and what the function is given. */
void mpixq_match_add_look(mpixq_match_look *look, void *state);
/* Open what pairs need that are being matched. Threads that may call a GPU's library, with no lock:
 * it may block until GPUs go on. False: there was nothing. The second one in calls of MPI, of which
 * some wait for a match; from others, that leaves it to the opener, if there is one. */
bool mpixq_match_open(void);
void mpixq_match_open_in(bool is_for_match);

/* The user frees a matched or failed request. Takes over the record. */
void mpixq_match_release(struct mpixq_request *req);
/* What it does when failures are announced (failure.h): it tells the peer; and also the queue. */
void mpixq_match_abandon(struct mpixq_pair *pair);
void mpixq_match_fail(uint64_t id, int code, const char *operation);
/* The other end of a pair in this process, or NULL. Under the matching lock. */
struct mpixq_pair *mpixq_match_by_id(uint64_t id);

/* Return when no thread is inside the matching lock that was when this was called. */
void mpixq_match_fence(void);

/* As what waits for a match, or is started, is polled under the matching lock: what fails then need
 * not take it. Some channels say in a word of their own what has completed, and done follows in a
 * poll only. */
void mpixq_match_poll(struct mpixq_pair *pair);

/* A control record has arrived. Under the matching lock. */
void mpixq_match_record(const struct mpixq_record *record, int source);

/* Nothing can be matched with a process: end what waits for it. Under the matching lock. */
void mpixq_match_end_strange(int world_rank);

/* In MPI_Finalize, before control messages end: pair nothing any more. Then, after they have
 * ended: let go of everything that is left, and tell of the sends that MPI still reads. */
void mpixq_match_stop(void);
bool mpixq_match_has_stopped(void);
void mpixq_match_close(void);

#endif
