/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE: records of what requests and queues do, and when.
 *
 * The places where something happens call the functions below, which cost one test of a constant
 * while nothing is traced. A thread writes records into a chunk of its own, of those that were made
 * in MPI_Init: no lock, no allocation, no system call. When its chunk is full it takes the next.
 * When none is left, what comes is counted and left out, in all threads from the same moment on, so
 * that no record refers to one that is missing.
 *
 * In MPI_Finalize the records are read in the order of their times (trace_read.h), made to text
 * (trace_out.h) and brought to rank 0 (trace_tell.c).
 */
#ifndef MPIXQ_TRACE_H
#define MPIXQ_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backoff.h"
#include "thread.h"
#include "ticks_ext.h"

struct mpixq_pair;

enum mpixq_trace_kind {
    MPIXQ_TRACE_STARTS = 1,  /* starts were enqueued; who: the number of the queue; pairs */
    MPIXQ_TRACE_WAITS,       /* a wait was enqueued, for those of them that are started; likewise */
    MPIXQ_TRACE_START,       /* as STARTS, of one pair; n: the number of the queue */
    MPIXQ_TRACE_WAIT,        /* as WAITS, likewise */
    MPIXQ_TRACE_HOST_STARTS, /* a call of MPI has started requests; a span */
    MPIXQ_TRACE_FULL,        /* a call has waited for room in a stream; a span */
    MPIXQ_TRACE_SUBMITTED,   /* a call has been in functions of a GPU's library; a span */
    MPIXQ_TRACE_SYNCHRONIZED, /* a call has waited for a queue; a span; who: its number */
    MPIXQ_TRACE_RAN,          /* a stream has executed starts; a span */
    MPIXQ_TRACE_WAITED,       /* a stream has executed waits; a span */
    MPIXQ_TRACE_MATCH,        /* is to be matched; from here on who is its pair */
    MPIXQ_TRACE_MATCHED,      /* is matched; described */
    MPIXQ_TRACE_UNMATCHED,    /* the match has failed */
    MPIXQ_TRACE_STARTED,      /* a start was executed; n: number of its queue; 0: by the host */
    MPIXQ_TRACE_DONE,         /* a start is seen to be complete */
    MPIXQ_TRACE_PASSED,       /* a stream has seen so, and goes on */
    MPIXQ_TRACE_POSTED,       /* an operation given to the NIC; n: as above; more: what, below */
    MPIXQ_TRACE_RANG          /* doorbells rung; who: the number of the queue */
};

/* What was posted, as deferred work that the NIC triggers, or (PLAIN added) to be done at once. */
enum mpixq_trace_post {
    MPIXQ_TRACE_WRITE,
    MPIXQ_TRACE_TELL,
    MPIXQ_TRACE_CTS,
    MPIXQ_TRACE_COMPLETION,
    MPIXQ_TRACE_RELEASE,
    MPIXQ_TRACE_PLAIN
};

/* A record is one of these, and what else its kind has. */
struct mpixq_trace_record {
    uint64_t ticks; /* when it was made: the end of a span */
    uint64_t who;
    uint32_t n;
    uint8_t kind, more;
    uint16_t slots; /* that follow and belong to it: when a span began, or pairs */
};

/* Written by trace.c in MPI_Init, before the library has threads or a queue, and in MPI_Finalize,
 * when it has none any more. */
struct mpixq_tracing {
    bool is_on;     /* something is traced */
    bool has_ticks; /* constant by then */
    /* The rest is for trace.c alone. Constant while something is traced. */
    struct mpixq_trace_chunk *chunks;
    uint32_t n_chunks;
    struct mpixq_trace_moment {
        uint64_t ticks, ns;
    } first, last; /* when the clock was looked at by both */
    atomic_uint n_taken, n_threads;
    _Atomic uint64_t n_lost, end_ticks;
};
extern struct mpixq_tracing mpixq_tracing;

static inline bool mpixq_trace_is_on(void)
{
    return __builtin_expect(mpixq_tracing.is_on, false);
}

static inline uint64_t mpixq_trace_clock(void)
{
    return mpixq_tracing.has_ticks ? mpixq_ticks_read() : mpixq_now_ns();
}

/* When something that may take long begins. */
static inline uint64_t mpixq_trace_begin(void)
{
    return mpixq_trace_is_on() ? mpixq_trace_clock() : 0;
}

/* Where it is known that something is traced: which is seldom, so the compiler is to take these
 * calls for what keeps nothing else from being quick. */
#define MPIXQ_TRACE_SELDOM __attribute__((cold))
MPIXQ_TRACE_SELDOM void mpixq_trace_note(enum mpixq_trace_kind kind, uint64_t who, uint32_t n,
                                         unsigned more);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_span(enum mpixq_trace_kind kind, uint64_t who,
                                              uint64_t begin, uint32_t n);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_pair(enum mpixq_trace_kind kind,
                                              const struct mpixq_pair *pair);
/* Of each thread: where its next records go. In a chunk that nobody has written to before. */
struct mpixq_trace_room {
    struct mpixq_trace_record *next, *end;
    struct mpixq_trace_record *quick_end; /* the same; if ticks are not to be had, NULL */
    uint32_t number;                      /* 1 more than that of the thread; 0: it has none yet */
    uint64_t begin;                       /* when what its stream does has begun */
};
extern MPIXQ_THREAD_LOCAL struct mpixq_trace_room mpixq_trace_room;

/* Room for a record of so many slots, which stands for n; NULL: there is none, which is counted. */
MPIXQ_TRACE_SELDOM struct mpixq_trace_record *mpixq_trace_take(uint32_t slots, uint64_t ticks,
                                                               uint32_t n);

static inline void mpixq_trace_pair(enum mpixq_trace_kind kind, const struct mpixq_pair *pair)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_pair(kind, pair);
    }
}

/* What happens; more of it is in trace_pairs.h, and what calls enqueue in trace_enqueue.h. */

/* All starts of a pair that were executed are complete. */
static inline void mpixq_trace_completed(const struct mpixq_pair *pair)
{
    mpixq_trace_pair(MPIXQ_TRACE_DONE, pair);
}
/* A stream has seen that what it waits for of a pair is there. */
static inline void mpixq_trace_wait_passed(const struct mpixq_pair *pair)
{
    mpixq_trace_pair(MPIXQ_TRACE_PASSED, pair);
}
/* Something that took from begin on (mpixq_trace_begin) has ended, of n requests. */
static inline void mpixq_trace_span(enum mpixq_trace_kind kind, uint64_t who, uint64_t begin, int n)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_span(kind, who, begin, (uint32_t)n);
    }
}

/* The same on the thread of a stream, where spans do not lie within spans. */
MPIXQ_TRACE_SELDOM void mpixq_trace_note_stream_begins(void);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_stream_ends(enum mpixq_trace_kind kind, int n);
static inline void mpixq_trace_stream_begins(void)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_stream_begins();
    }
}
static inline void mpixq_trace_stream_ends(enum mpixq_trace_kind kind, int n)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_stream_ends(kind, n);
    }
}

/* In MPI_Init: make room for the records; it is there from then on, or there is no memory. In
 * MPI_Finalize: record nothing any more, when no other thread is left; and free the room. */
void mpixq_trace_open(void);
bool mpixq_trace_is_open(void);
void mpixq_trace_stop(void);
void mpixq_trace_close(void);

#endif
