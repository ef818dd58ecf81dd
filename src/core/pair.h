/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A pair, as one of its two ends has it: what a channel needs to know to move one message of a
 * sender to one receiver, again and again. Channels, streams and the copies of staging buffers work
 * with pairs alone; requests (request.h) are what MPI knows, and own them. A persistent request has
 * one, embedded in its record and used once the request is being matched.
 *
 * Whatever holds for each message of the pair stands here: what is sent, between whom, by which
 * channel, and how many starts there were. In the request stands what only that has, however many
 * pairs it owns: handle, state, place in a queue, the match, and since when somebody waits for it.
 * The three counters. Only who makes a start writes started, and only who executes and completes it
 * writes executed and done; everybody else reads them by the functions below, since they need not
 * stay where they are. They only grow, and neither of these exceeds started; executed is what the
 * host has seen, and may follow done where a GPU makes starts. All are complete if done == started.
 */
#ifndef MPIXQ_PAIR_H
#define MPIXQ_PAIR_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stream/memory.h"
#include "util/table.h"

struct mpixq_channel;
struct mpixq_counted;
struct mpixq_fault;
struct mpixq_prepared;
struct mpixq_queue;
struct mpixq_request;

enum mpixq_mode {
    MPIXQ_MODE_SEND,
    MPIXQ_MODE_BSEND,
    MPIXQ_MODE_SSEND,
    MPIXQ_MODE_RSEND,
    MPIXQ_MODE_RECV,
    MPIXQ_MODE_COLLECTIVE /* and what follows: collectives, as collective.h numbers them */
};

/* What is sent, or where it is received. The datatype lives as long as the pair: a derived one is
 * held by the owner. */
struct mpixq_message {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    enum mpixq_mode mode; /* which also says the direction */
    uint32_t life;        /* of the place of the buffer, if in_gpu; found out before a match */
};

struct mpixq_pair {
    /* What a start and a wait look at comes first. */
    const struct mpixq_channel *channel; /* that serves it; NULL: not matched */
    void *end;                           /* the channel's data of this end */
    struct mpixq_staging *staging;       /* buffer in its place for channels; NULL: none */
    /* Whose starts these are, which also hears of their failures; NULL: the host's. A request
     * belongs to the queue of its pair. Written under the submission lock of the queue. */
    _Atomic(struct mpixq_queue *) queue;
    /* Starts made: enqueued, or by the host. Written by who makes them. */
    _Atomic uint64_t started;
    /* Its GPU counts its starts (graphs.h). NULL: the host does. Written once, at a capture. */
    _Atomic(struct mpixq_counted *) counted;
    union { /* on the queue, with no wait (submission lock); or of what it is a share (constant) */
        struct mpixq_pair *next_started, *whole;
    };
    struct mpixq_pair *prev_started;
    struct mpixq_message message; /* constant, but for life */
    uint64_t bytes;               /* of the message: what the sender sends */
    /* Starts that the stream, or the host, has reached. Written by it. */
    _Atomic uint64_t executed;
    /* The completion word: starts that have completed. Written by whoever completes them (a stream,
     * the progress thread, a NIC), release; read by all, acquire. */
    _Atomic uint64_t done;

    /* The request that MPI knows it by, for texts, error handlers, matching; or NULL. Constant. */
    struct mpixq_request *owner;

    _Atomic uint64_t host_start; /* the last start that the host made; written like started */
    atomic_bool failed;          /* a start of it failed; written like done */
    /* Of where its buffer is: found out before a match. */
    bool in_gpu;        /* in memory that the host cannot access */
    bool moves;         /* in memory whose pages go from host to GPU and back */
    bool in_place;      /* reached is for the buffer itself, in memory of a GPU */
    bool is_share;      /* of a pair, which only the channel knows; constant */
    bool may_chain;     /* with others of a collective (chains.h); constant */
    uint8_t reached_by; /* id of the channel to which reached belongs; or 0 */
    bool is_awaited;    /* the send stays until it hears of the receive's end */
    atomic_int error;   /* MPI code of the first failure, if MPI gave one; written like done */

    /* Written under the matching lock, constant once matched. */
    int peer_world;         /* rank in MPI_COMM_WORLD; MPI_PROC_NULL for the null channel */
    int source, source_tag; /* for statuses: as the receive has them */
    uint64_t id, peer_id;   /* the names of the two ends in control messages */
    UT_hash_handle hh_id;   /* in the table of ids */
    void *offered_end;      /* of a send being matched: as end, of a channel that only offered */
    /* What channels have got for the buffer from a GPU's library, before the match. */
    void *reached;                   /* what one needs for it during the match; else NULL */
    struct mpixq_prepared *prepared; /* of it, by a channel whose data GPUs move */
    const char *unprepared;          /* why such a channel could not; or NULL */
    /* 0, or 1 + the starts that the peer took part in before its free; under the matching lock. */
    _Atomic uint64_t peer_end;
};

/* "send to", "receive from" and the like; and "send to 3 tag 7", for messages: returns buffer. */
const char *mpixq_pair_verb(const struct mpixq_pair *pair);
const char *mpixq_pair_describe(const struct mpixq_pair *pair, char *buffer, size_t size);
/* As much of what a call failed at as can be noted when a start fails, in any thread, without MPI:
 * not the handle of the communicator. The index is -1. */
void mpixq_pair_fault(const struct mpixq_pair *pair, struct mpixq_fault *fault_p);
/* Was the last start made by the host? Those that others count later are not the host's. */
bool mpixq_pair_is_by_host(const struct mpixq_pair *pair);
/* The code of a failure that the peer reported; its text names request and peer. */
int mpixq_pair_peer_failed(const struct mpixq_pair *pair);

static inline bool mpixq_pair_is_send(const struct mpixq_pair *pair)
{
    return pair->message.mode < MPIXQ_MODE_RECV;
}

/* What channels, and MPI, are given as the buffer. */
static inline const void *mpixq_pair_buffer(const struct mpixq_pair *pair)
{
    return pair->staging != NULL ? pair->staging->buffer : pair->message.buffer;
}

/* The channel that serves it works with the buffer itself. */
static inline void mpixq_pair_unstage(struct mpixq_pair *pair)
{
    mpixq_staging_give_back(pair->staging);
    pair->staging = NULL;
}

/* What the stream copies before a start, or after a wait for it; NULL: nothing. */
static inline const struct mpixq_copy *mpixq_pair_copy_before(const struct mpixq_pair *pair)
{
    return pair->staging != NULL ? pair->staging->before : NULL;
}

static inline const struct mpixq_copy *mpixq_pair_copy_after(const struct mpixq_pair *pair)
{
    return pair->staging != NULL ? pair->staging->after : NULL;
}

/* One more start, by the one writer that there is: this is no atomic addition. But where a GPU
 * counts, others may raise it meanwhile. */
static inline void mpixq_pair_count_start(struct mpixq_pair *pair, bool by_host)
{
    if (by_host) { /* first: whoever sees the start sees whose it is */
        atomic_store(&pair->host_start, atomic_load(&pair->started) + 1);
    }
    if (__builtin_expect(atomic_load(&pair->counted) != NULL, false)) {
        (void)atomic_fetch_add(&pair->started, 1);
        return;
    }
    atomic_store_explicit(&pair->started,
                          atomic_load_explicit(&pair->started, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* The start that was counted last is seen by all who look from now on, or this thread sees what
 * they wrote before. */
static inline void mpixq_pair_fence_start(struct mpixq_pair *pair)
{
    (void)atomic_fetch_add(&pair->started, 0);
}

static inline uint64_t mpixq_pair_started(const struct mpixq_pair *pair)
{
    return atomic_load(&pair->started);
}

static inline uint64_t mpixq_pair_executed(const struct mpixq_pair *pair)
{
    return atomic_load_explicit(&pair->executed, memory_order_acquire);
}

/* Channels with a completion word of their own make it follow in poll. */
static inline uint64_t mpixq_pair_done(const struct mpixq_pair *pair)
{
    return atomic_load_explicit(&pair->done, memory_order_acquire);
}

static inline const _Atomic uint64_t *mpixq_pair_done_word(const struct mpixq_pair *pair)
{
    return &pair->done;
}

static inline bool mpixq_pair_is_complete(const struct mpixq_pair *pair)
{
    uint64_t done = mpixq_pair_done(pair); /* first: a start that is made meanwhile is not */

    return done == mpixq_pair_started(pair);
}

/* Has a start been executed that has not completed? */
static inline bool mpixq_pair_is_in_flight(const struct mpixq_pair *pair)
{
    return mpixq_pair_executed(pair) > mpixq_pair_done(pair);
}

/* A counter is at least so much, as others may say too. Returns what it was. */
static inline uint64_t mpixq_pair_raise(_Atomic uint64_t *counter, uint64_t value)
{
    uint64_t seen = atomic_load(counter);

    while (seen < value && !atomic_compare_exchange_weak(counter, &seen, value)) {
    }
    return seen;
}

static inline void mpixq_pair_raise_done(struct mpixq_pair *pair, uint64_t done)
{
    (void)mpixq_pair_raise(&pair->done, done);
}

static inline void mpixq_pair_raise_started(struct mpixq_pair *pair, uint64_t started)
{
    (void)mpixq_pair_raise(&pair->started, started);
    (void)mpixq_pair_raise(&pair->executed, started);
}

/* In one order with queue: who takes a pair for one sees that it failed, or who says so sees it. */
static inline bool mpixq_pair_has_failed(const struct mpixq_pair *pair)
{
    return atomic_load(&pair->failed);
}

/* Has the peer freed its end? How many starts did it take part in then; 0 if it has not. And is
 * this start one in which it will not? */
static inline bool mpixq_pair_peer_is_gone(const struct mpixq_pair *pair)
{
    return atomic_load_explicit(&pair->peer_end, memory_order_acquire) != 0;
}

static inline uint64_t mpixq_pair_peer_starts(const struct mpixq_pair *pair)
{
    uint64_t end = atomic_load_explicit(&pair->peer_end, memory_order_acquire);

    return end > 0 ? end - 1 : 0;
}

static inline bool mpixq_pair_is_without_peer(const struct mpixq_pair *pair, uint64_t start)
{
    return mpixq_pair_peer_is_gone(pair) && start > mpixq_pair_peer_starts(pair);
}

#endif
