/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE, in MPI_Finalize: what the records of this process say, one after the other. It is
 * told twice. The first time gives what has to be known beforehand: which threads run which queues,
 * and of each pair how many transfers can be drawn from the start of the send to the wait for the
 * receive, at this end. The peers tell each other these numbers, and the second time is written.
 */
#ifndef MPIXQ_TRACE_STORY_H
#define MPIXQ_TRACE_STORY_H

#include "util/table.h"
#include "util/trace_read.h"

/* A request from its match on. */
struct mpixq_trace_life {
    uint64_t who; /* its address, which the next one may have too */
    UT_hash_handle hh;
    struct mpixq_trace_life *next; /* of all */
    struct mpixq_trace_match made;
    uint32_t number; /* of the match: the same both times */
    bool is_matching;
    uint64_t queue;         /* that started it last; 0: the host */
    uint64_t started, done; /* starts executed; those that are seen to be complete */
    uint64_t drawn;         /* of these, from the first on without a gap: seen in a span */
};

/* Transfers of a pair that its other end can draw; by the name of this end. */
struct mpixq_trace_tie {
    uint64_t id, n;
    UT_hash_handle hh;
};

/* A thread of this process. */
struct mpixq_trace_lane {
    const char *name; /* as in chunks */
    enum { MPIXQ_TRACE_QUEUES = 4 } most;
    uint64_t queues[MPIXQ_TRACE_QUEUES]; /* that it executes; the first ones */
    int n_queues;                        /* all */
    struct mpixq_trace_mark {            /* what was seen since the last span */
        const struct mpixq_trace_life *life;
        uint64_t ticks, start; /* the number of the start */
    } * marks;
    uint32_t n_marks, room;
};

struct mpixq_story {
    struct mpixq_trace_reader reader;
    struct mpixq_trace_life *lives, *by_who;
    struct mpixq_trace_lane *lanes;
    uint32_t n_lives;
    bool is_short;  /* without memory: some is left out */
    uint64_t ticks; /* of the last record */
    /* What is written; NULL: the first time. */
    struct mpixq_trace_out *out;
};

/* False without memory. */
bool mpixq_story_open(struct mpixq_story *story);
void mpixq_story_close(struct mpixq_story *story);
/* From the beginning again. */
void mpixq_story_rewind(struct mpixq_story *story);
/* Go on by one record. False: there is none, and what has not ended was told to end now. */
bool mpixq_story_step(struct mpixq_story *story);

#endif
