/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The records of MPIXQ_TRACE once all have been made.
 */
#ifndef MPIXQ_TRACE_READ_H
#define MPIXQ_TRACE_READ_H

#include "trace.h"

/* A thread's records fill chunks, one after the other. Behind the last is one without a kind, or
 * the end: so who makes a record counts nothing. */
enum { MPIXQ_TRACE_SLOTS = 680 };
struct mpixq_trace_chunk {
    uint64_t thread;  /* whose it is */
    const char *name; /* of a thread of the library; NULL: of the program */
    uint64_t reserved[6];
    struct mpixq_trace_record slots[MPIXQ_TRACE_SLOTS];
};

/* All that was recorded. */
struct mpixq_trace_all {
    const struct mpixq_trace_chunk *chunks;
    uint32_t n_chunks, n_threads;
    uint64_t first_ticks; /* when it began */
    uint64_t end_ticks;   /* records from here on do not count; UINT64_MAX: all do */
    uint64_t n_lost;      /* records that had no room */
};
struct mpixq_trace_all mpixq_trace_all(void);
/* Nanoseconds of mpixq_now_ns at which the clock showed so many ticks. */
uint64_t mpixq_trace_ns(uint64_t ticks);

/* Where the next record of each thread is. */
struct mpixq_trace_reader {
    struct mpixq_trace_all all;
    struct mpixq_trace_place {
        uint32_t chunk, slot;
    } * places; /* of each thread; a chunk of n_chunks: it has no more */
};

/* False without memory. */
bool mpixq_trace_reader_open(struct mpixq_trace_reader *reader);
void mpixq_trace_reader_close(struct mpixq_trace_reader *reader);
/* The next record of all by its time, and the chunk that it is in; NULL: there is none. */
const struct mpixq_trace_record *mpixq_trace_next(struct mpixq_trace_reader *reader,
                                                  const struct mpixq_trace_chunk **chunk_p);
/* Records that have been made but do not count. */
uint64_t mpixq_trace_cut(const struct mpixq_trace_all *all);

/* What follows a record: a span, */
static inline uint64_t mpixq_trace_began(const struct mpixq_trace_record *record)
{
    return record[1].ticks;
}
/* the pairs of a call, three in a slot, */
static inline uint64_t mpixq_trace_request_of(const struct mpixq_trace_record *record, uint32_t i)
{
    return ((const uint64_t *)&record[1])[i];
}
/* and a match. */
struct mpixq_trace_match {
    int32_t peer, tag; /* as the request was made */
    uint64_t bytes;
    int32_t peer_world;
    uint8_t is_send, channel;
    uint16_t reserved;
    uint64_t id, peer_id; /* the names of the two ends; 0 before they are matched */
    uint64_t unused;
};
static inline const struct mpixq_trace_match *
mpixq_trace_match_of(const struct mpixq_trace_record *record)
{
    return (const struct mpixq_trace_match *)&record[1];
}

#endif
