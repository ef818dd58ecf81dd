/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Request records: what the library knows of each persistent request, found by its MPI handle.
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
#include <stdint.h>

#include "age.h"
#include "channel_set.h"
#include "pairing.h"
#include "stream/memory.h"
#include "table.h"

enum mpixq_mode {
    MPIXQ_MODE_SEND,
    MPIXQ_MODE_BSEND,
    MPIXQ_MODE_SSEND,
    MPIXQ_MODE_RSEND,
    MPIXQ_MODE_RECV
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

/* A datatype that the user may free: so an equal one of ours if it is derived. */
struct mpixq_type {
    MPI_Datatype handle;
    bool is_ours;
};

/* What a request was made from. */
struct mpixq_captured {
    enum mpixq_mode mode;
    const void *buffer;
    MPI_Count count;
    struct mpixq_type type;
    int peer, tag;
};

struct mpixq_request {
    /* In the table of handles (handles.h), which alone writes these two. */
    _Atomic(struct mpixq_request *) next_by_handle;
    _Atomic(MPI_Request) handle; /* the user's; MPI_REQUEST_NULL once freed */

    struct mpixq_captured made; /* constant; from here on a record that is used again is zeroed */
    struct mpixq_comm *comm;

    atomic_int state;   /* enum mpixq_state; only mpixq_request_step and _restart write it */
    bool was_matching;  /* what follows may have been written to */
    bool released;      /* freed by the user */
    uint8_t reached_by; /* id of the channel to which reached belongs; or 0 */
    struct mpixq_channel_set channels; /* that may serve it; written before it is matched */
    uint8_t why_not[MPIXQ_N_CHANNELS]; /* of the others: numbers of reasons (served.h), or 0 */
    uint32_t life;                     /* of the place of the buffer, if that is in_gpu */

    /* The pair. Written under the matching lock, constant once MATCHED. */
    uint64_t id, peer_id; /* the names of the two ends in control messages */
    UT_hash_handle hh_id; /* in the table of ids */
    int peer_world;       /* rank in MPI_COMM_WORLD; MPI_PROC_NULL for the null channel */
    int source, source_tag;
    bool in_gpu;        /* the buffer is in memory that the host cannot access */
    bool moves;         /* it is in memory whose pages go from host to GPU and back */
    bool in_place;      /* reached is for the buffer itself, in memory of a GPU */
    bool peer_released; /* of a receive: the sender has freed its end */
    uint64_t bytes;     /* of the message: what the sender sends */
    const struct mpixq_channel *channel;
    void *end;         /* the channel's data of this end */
    void *offered_end; /* of a send being matched: the same, of a channel that only offered */
    struct mpixq_posted posted;
    struct mpixq_match_op *op;     /* while MATCHING, as is marked */
    int op_index;                  /* in the array of the call that matches it */
    uint32_t marked;               /* channels that a send offers, or a receive gave up, as bits */
    uint64_t match_mark;           /* as mark, below */
    struct mpixq_staging *staging; /* with which twin of it channels work; NULL: itself */
    void *reached;                 /* what that channel needs for it, while MATCHING; else NULL */
    struct mpixq_prepared *prepared;   /* of it, by a channel whose data GPUs move */
    const char *unprepared;            /* why such a channel could not; or NULL */
    union {                            /* while MATCHING; once released */
        struct mpixq_opening *opening; /* memory of its peer is opened for it; or NULL */
        struct mpixq_request *next_released;
    };
    uint64_t peer_started;

    /* Starts and waits. Written in the turn of the queue; epoch also by who starts by the host. */
    _Atomic(struct mpixq_queue *) queue;               /* to which it belongs; NULL if to none */
    struct mpixq_request *next_member, *prev_member;   /* of the queue */
    struct mpixq_request *next_started, *prev_started; /* on the queue, without a wait */
    _Atomic uint64_t epoch; /* starts enqueued so far; others than the starter look at it too */
    uint64_t ticket;        /* the stream has passed its last wait when it has passed this */
    uint64_t mark; /* the array call that looked at it last: finds an element that stands twice */
    _Atomic(struct mpixq_request *) followed_by; /* in an array call, at some time; or NULL */

    /* Starts that the stream, or the host, has executed. Written by it. */
    _Atomic uint64_t started;
    /* The completion word: starts that have completed. Written by whoever completes them (a stream,
     * the progress thread, a NIC), release; read by all, acquire. */
    _Atomic uint64_t done;

    /* Starts by the host: see host_start.h. Once the peer has freed its end: 1 + the starts that it
     * took part in; 0 before. Written under the matching lock. */
    _Atomic uint64_t peer_end;
    _Atomic bool by_host; /* the last start was; written by the thread that starts it */
    atomic_bool failed;   /* a start of it failed; written like done */
    atomic_int error;     /* MPI code of the first failure, if MPI gave one; written like done */
    struct mpixq_request *next_freed; /* freed while active; under the lock of host_free.c */
    /* With the watchdog: twice the number of the call that waits for it, 1 more for the first that
     * the call lacks; 0: none. Written by the thread that calls. */
    _Atomic uint64_t host_call;
    /* Of the watchdog, under the matching lock. */
    struct mpixq_age age;  /* of the start that is the next to complete */
    const void *waited_at; /* where somebody waits for it: a stream, a queue or a call */
    uint64_t waited_ns;    /* and was seen to for the first time; 0: nobody does now */
};

/* Register a request that MPI has just made; args->type is the user's. May fail, with a warning. */
void mpixq_request_capture(const struct mpixq_captured *args, MPI_Comm comm, MPI_Request handle);
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

/* Number of records that are not UNMATCHED and not released, plus requests of Imatch: while it is
 * 0, the interposed Start, Wait and Test functions pass calls on at once. */
extern atomic_long mpixq_active;
/* Number of records of buffered sends, whose handles alone change when they are started. */
extern atomic_long mpixq_buffered;

/* The communicator whose error handler speaks for the request; MPI_COMM_NULL if it was freed. */
MPI_Comm mpixq_request_comm(const struct mpixq_request *req);
/* "send to", "receive from" and the like. */
const char *mpixq_request_verb(const struct mpixq_request *req);
/* "send to 3 tag 7" and the like, for messages. Returns buffer. */
const char *mpixq_request_describe(const struct mpixq_request *req, char *buffer, size_t size);
/* The code of a failure that the peer reported; its text names request and peer. */
int mpixq_request_peer_failed(const struct mpixq_request *req);
/* The code for who would start one that has failed: why, if nobody has been told of it yet. */
int mpixq_request_failure(const struct mpixq_request *req);

/* What channels, and MPI, are given as the buffer. */
static inline const void *mpixq_request_buffer(const struct mpixq_request *req)
{
    return req->staging != NULL ? req->staging->buffer : req->made.buffer;
}

/* The channel that serves it works with the buffer itself. */
static inline void mpixq_request_unstage(struct mpixq_request *req)
{
    mpixq_staging_give_back(req->staging);
    req->staging = NULL;
}

/* One more start, by the one writer that there is: this is no atomic addition. */
static inline void mpixq_request_count_start(struct mpixq_request *req, bool by_host)
{
    atomic_store_explicit(&req->by_host, by_host, memory_order_relaxed);
    atomic_store_explicit(&req->epoch, atomic_load_explicit(&req->epoch, memory_order_relaxed) + 1,
                          memory_order_release);
}

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

static inline bool mpixq_request_is_send(const struct mpixq_request *req)
{
    return req->made.mode != MPIXQ_MODE_RECV;
}

/* What the stream copies before a start of the request, or after a wait for it; NULL: nothing. */
static inline const struct mpixq_copy *mpixq_request_before(const struct mpixq_request *req)
{
    return req->staging != NULL && mpixq_request_is_send(req) ? &req->staging->copy : NULL;
}

static inline const struct mpixq_copy *mpixq_request_after(const struct mpixq_request *req)
{
    return req->staging != NULL && !mpixq_request_is_send(req) ? &req->staging->copy : NULL;
}

#endif
