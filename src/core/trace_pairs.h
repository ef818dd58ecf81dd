/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE of what happens to requests, pairs and queues.
 */
#ifndef MPIXQ_TRACE_PAIRS_H
#define MPIXQ_TRACE_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/trace.h"

struct mpixq_pair;
struct mpixq_queue;
struct mpixq_request;

MPIXQ_TRACE_SELDOM void mpixq_trace_note_started(const struct mpixq_pair *pair);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_posted(const struct mpixq_pair *pair, unsigned what,
                                                const struct mpixq_queue *queue);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_rang(const struct mpixq_queue *queue, uint32_t n);
MPIXQ_TRACE_SELDOM void mpixq_trace_note_match(const struct mpixq_request *req,
                                               enum mpixq_trace_kind kind);

static inline void mpixq_trace_match_begins(const struct mpixq_request *req)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_match(req, MPIXQ_TRACE_MATCH);
    }
}
static inline void mpixq_trace_match_ends(const struct mpixq_request *req, bool is_matched)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_match(req, is_matched ? MPIXQ_TRACE_MATCHED : MPIXQ_TRACE_UNMATCHED);
    }
}
/* The start of a pair was executed, by a stream or by the host. Before anybody else can see it
 * complete. */
static inline void mpixq_trace_start_executed(const struct mpixq_pair *pair)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_started(pair);
    }
}
static inline void mpixq_trace_posted(const struct mpixq_pair *pair, unsigned what,
                                      const struct mpixq_queue *queue)
{
    if (mpixq_trace_is_on()) {
        mpixq_trace_note_posted(pair, what, queue);
    }
}
static inline void mpixq_trace_rang(const struct mpixq_queue *queue, uint64_t n)
{
    if (mpixq_trace_is_on() && n > 0) {
        mpixq_trace_note_rang(queue, (uint32_t)n);
    }
}
#endif
