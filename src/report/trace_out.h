/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE: the text of a rank, in the format of trace events that viewers of traces read, which
 * is JSON, one event in a line, each with a comma behind it. Its process is the rank, its threads
 * are lanes:
 *
 *     0            requests: from the execution of a start to its completion; and matches
 *     1, 2, ...    threads in the order in which they came: spans of time, and the beginnings and
 *                  ends of the arrows from the start of a send to the wait for its receive
 *     n_threads+1  the NIC: what was posted, and doorbells
 */
#ifndef MPIXQ_TRACE_OUT_H
#define MPIXQ_TRACE_OUT_H

#include "trace_story.h"

struct mpixq_trace_out {
    char *text; /* of used bytes; all that is written and not taken */
    size_t used, room;
    bool is_short; /* without memory: some is left out */
    int rank;
    int64_t shift;                /* to be added to mpixq_now_ns here, for the clock of the file */
    uint64_t error;               /* of that, at most; 0: the clocks are one */
    struct mpixq_trace_tie *ties; /* of ends of this process */
    uint64_t n_events;
};

/* What there is to say at first: of the process and its lanes. */
void mpixq_trace_out_begin(struct mpixq_trace_out *out, const struct mpixq_story *story);
/* Something happens to a request, at that time: the beginning (b) or the end (e) of a match or of a
 * start. */
void mpixq_trace_out_match(struct mpixq_trace_out *out, const struct mpixq_trace_life *life,
                           uint64_t ticks, bool begins, bool is_matched);
void mpixq_trace_out_start(struct mpixq_trace_out *out, const struct mpixq_trace_life *life,
                           uint64_t ticks, bool begins, bool was_seen);
/* A call has enqueued starts or a wait, of requests by their numbers. */
void mpixq_trace_out_call(struct mpixq_story *story, const struct mpixq_trace_record *record,
                          uint32_t thread);
/* Another span, which ends the marks of its lane. */
void mpixq_trace_out_span(struct mpixq_trace_out *out, const struct mpixq_trace_record *record,
                          const struct mpixq_trace_lane *lane, uint32_t thread);
/* What a lane has seen: the end of an arrow, in the span that was written last. */
void mpixq_trace_out_mark(struct mpixq_trace_out *out, const struct mpixq_trace_mark *mark,
                          uint32_t thread);
/* Of the NIC: life is NULL for doorbells. */
void mpixq_trace_out_nic(struct mpixq_trace_out *out, const struct mpixq_trace_record *record,
                         const struct mpixq_trace_life *life, uint32_t n_threads);

#endif
