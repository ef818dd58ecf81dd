/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Request records: what MPI knows as a persistent request, found by its handle. What it starts and
 * completes is a pair (pair.h), of which it has one.
 *
 * The states and the events between them are drawn in doc/design.md, section 5:
 *
 *     UNMATCHED       MPI alone knows it
 *     MATCHING        given to a matching function
 *     MATCHED         inactive; may be started by the host or on a queue
 *     HOST_STARTED    active, started by MPI_Start
 *     STARTED         on a queue, without a wait
 *     WAITING         on a queue, with a wait
 *     FAILED          a start of it failed; only freeing is left
 *
 * A record lives from the persistent initialiser until MPI_Request_free; a matched receive
 * lives on, without a handle, until its sender has released the pair too. States change only in
 * mpixq_request_step.
 *
 * Threads: the table is looked up without a lock. A request's fields belong to the thread that
 * the user calls from, to the matching lock while it is MATCHING, and, as said at each field,
 * to the stream that runs its start and wait.
 */
#ifndef MPIXQ_REQUEST_H
#define MPIXQ_REQUEST_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pair.h"
#include "posted.h"
#include "util/age.h"
#include "util/channel_set.h"
#include "util/thread.h"

/* What a request that consists of others (parted.h) has in pair.end begins with this. */
struct mpixq_parts_base {
    void (*forget)(struct mpixq_parts_base *parts); /* the request is destroyed; with no lock */
};

enum mpixq_state {
    MPIXQ_UNMATCHED,
    MPIXQ_MATCHING,
    MPIXQ_MATCHED,
    MPIXQ_STARTED,
    MPIXQ_WAITING,
    MPIXQ_FAILED,
    MPIXQ_HOST_STARTED,
    MPIXQ_N_STATES
};

enum mpixq_event {
    MPIXQ_MATCH_BEGIN,
    MPIXQ_MATCH_OK,
    MPIXQ_MATCH_FAIL,
    MPIXQ_START,
    MPIXQ_WAIT,
    MPIXQ_DONE,
    MPIXQ_FAIL,
    MPIXQ_HOST_START,
    MPIXQ_N_EVENTS
};

/* What a request was made from. */
struct mpixq_captured {
    struct mpixq_message message;
    int peer, tag;
};

struct mpixq_request {
    /* In the table of handles (handles.h), which alone writes these two. */
    _Atomic(struct mpixq_request *) next_by_handle;
    _Atomic(MPI_Request) handle; /* the user's; MPI_REQUEST_NULL once freed */

    atomic_int state;        /* enum mpixq_state; only mpixq_request_step and _restart write it */
    int peer, tag;           /* it was made for, with pair.message; constant */
    _Atomic uint16_t note;   /* of its handle (noted.h), unless UNMATCHED or freed; or 0 */
    bool was_matching;       /* what follows may have been written to */
    bool released;           /* freed by the user */
    bool holds_type;         /* its datatype is one of ours, equal to the user's */
    bool is_partitioned : 1; /* these three are constant: it consists of parts (parted.h) */
    bool is_collective : 1;  /* so does this, or it is part of such a one */
    bool is_part : 1;        /* of another one, and unknown to the program */
    bool was_started;        /* a collective, by MPI */
    bool is_lost;            /* its buffer went with its device; of lost.c, under its lock */
    struct mpixq_channel_set channels; /* that may serve it; written before it is matched */
    uint8_t why_not[MPIXQ_N_CHANNELS]; /* of the others: numbers of reasons (served.h), or 0 */

    /* Its place on a queue. Written under the submission lock of the queue. */
    uint64_t mark; /* the array call that looked at it last: finds an element that stands twice */
    _Atomic(struct mpixq_request *) followed_by; /* in an array call, at some time; or NULL */
    uint64_t ticket; /* the stream has passed its last wait when it has passed this */

    struct mpixq_pair pair; /* in use from the match on; but for its message, which was captured */

    struct mpixq_request *next_member; /* of the queue, likewise */
    union {
        struct mpixq_request *prev_member;
        /* Freed while the host's start is active, so on no queue; under the lock of host_free.c. */
        struct mpixq_request *next_freed;
    };
    struct mpixq_comm *comm; /* constant */

    /* The match. Under the matching lock. */
    struct mpixq_posted posted;
    struct mpixq_match_op *op; /* while MATCHING, as is marked */
    int op_index;              /* in the array of the call that matches it */
    uint32_t marked;           /* channels that a send offers, or a receive gave up, as bits */
    uint64_t match_mark;       /* as mark, above */
    union {                    /* while MATCHING; once released */
        struct mpixq_opening *opening; /* memory of its peer is opened for it; or NULL */
        struct mpixq_request *next_released;
    };

    /* With the watchdog: twice the number of the call that waits for it, 1 more for the first that
     * the call lacks; 0: none. Written by the thread that calls. */
    _Atomic uint64_t host_call;
    /* Of the watchdog, under the matching lock. */
    struct mpixq_age age;  /* of the start that is the next to complete */
    const void *waited_at; /* where somebody waits for it: a stream, a queue or a call */
    uint64_t waited_ns;    /* and was seen to for the first time; 0: nobody does now */
};

/* Register a request that MPI has just made; args->message.type is the user's. May fail, with a
 * warning. */
void mpixq_request_capture(const struct mpixq_captured *args, MPI_Comm comm, MPI_Request handle);
/* The same for a request of parts, a collective if its mode says so: its record, or NULL without
 * memory. A partitioned one is noted from now on; so is a collective until MPI starts it, since
 * MPICH does not tell those that never were started from those that are active. */
struct mpixq_request *mpixq_request_capture_parts(const struct mpixq_captured *args, MPI_Comm comm,
                                                  MPI_Request handle,
                                                  struct mpixq_parts_base *parts);
/* MPI starts a collective that is not matched. */
void mpixq_request_is_mpis(struct mpixq_request *req);
/* A record without a handle for a part of it, of this datatype; NULL without memory. */
struct mpixq_request *mpixq_request_make_part(const struct mpixq_request *req, MPI_Datatype type);
/* The record of a handle, or NULL. */
struct mpixq_request *mpixq_request_find(MPI_Request handle);
/* To free a request: true if the record was unmatched and is gone. False if *req_p is matched
 * or being matched, and still in the table, or NULL: unknown. */
bool mpixq_request_drop(MPI_Request handle, struct mpixq_request **req_p);
/* MPI_Start has given a request another handle. */
void mpixq_request_rename(MPI_Request before, MPI_Request after);
void mpixq_request_forget(struct mpixq_request *req); /* takes it out of the table of handles */
/* The user has freed a matched request, and nothing of it is under way: the record may live on for
 * its peer, but the interposed functions need not look at it any more. Once. */
void mpixq_request_release(struct mpixq_request *req);
/* Free a record that is in no table. */
void mpixq_request_destroy(struct mpixq_request *req);
/* Call visit for each record with a handle. */
void mpixq_request_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg);

void mpixq_requests_close(void); /* in MPI_Finalize: destroy every record that is left */

/* Let event happen. False, and nothing changes, if the state does not allow it. */
bool mpixq_request_step(struct mpixq_request *req, enum mpixq_event event);
const char *mpixq_request_state_name(enum mpixq_state state);

/* The table of records by handle (handles.h). */
enum { MPIXQ_SMALLEST = 64 }; /* a power of 2 */
struct mpixq_handles {
    _Atomic(struct mpixq_chains *) current;
    _Atomic uint64_t version;
    uint64_t n_records;
    struct mpixq_chains {
        uint64_t mask;
        _Atomic(struct mpixq_request *) *first; /* of each chain */
        struct mpixq_chains *older;             /* a reader may be in it still */
    } smallest;                                 /* which is there before any memory is asked for */
    _Atomic(struct mpixq_request *) smallest_first[MPIXQ_SMALLEST];
};

struct mpixq_requests {
    /* Number of records that are not UNMATCHED and not released, plus requests of Imatch: while it
     * is 0, the interposed Start, Wait and Test functions pass calls on at once; else those whose
     * handles are not noted (host.h). */
    atomic_long active;
    /* Number of records of buffered sends, whose handles alone change when they are started. */
    atomic_long buffered;
    /* The rest is for request.c and handles.c alone. The lock guards changes of the table of
     * handles, and the spare records. A leaf: no other lock is taken under it. */
    struct mpixq_spin lock;
    /* Freed records, linked by next_member: a program that makes and frees requests does not
     * allocate each time, and a thread that walks through the table never meets anything but a
     * record. */
    struct mpixq_request *spare;
    struct mpixq_handles handles;
};
extern struct mpixq_requests mpixq_requests __attribute__((visibility("hidden"))); /* at once */

/* The communicator whose error handler speaks for the request; MPI_COMM_NULL if it was freed. */
MPI_Comm mpixq_request_comm(const struct mpixq_request *req);
/* The code for who would start one that has failed: why, if nobody has been told of it yet. */
int mpixq_request_failure(const struct mpixq_request *req);

static inline enum mpixq_state mpixq_request_state(const struct mpixq_request *req)
{
    return (enum mpixq_state)atomic_load_explicit(&req->state, memory_order_acquire);
}

/* Start a request again that its queue has waited for: the usual step. False: it is another one. */
static inline bool mpixq_request_restart(struct mpixq_request *req)
{
    int waiting = MPIXQ_WAITING;

    return atomic_compare_exchange_strong(&req->state, &waiting, MPIXQ_STARTED);
}

/* The persistent request in whose record this pair is. */
static inline struct mpixq_request *mpixq_request_of(struct mpixq_pair *pair)
{
    return (struct mpixq_request *)(void *)((char *)pair - offsetof(struct mpixq_request, pair));
}

static inline bool mpixq_request_is_parted(const struct mpixq_request *req)
{
    return req->is_partitioned || (req->is_collective && !req->is_part);
}

static inline bool mpixq_request_is_send(const struct mpixq_request *req)
{
    return mpixq_pair_is_send(&req->pair);
}

#endif
