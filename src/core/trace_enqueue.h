/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE of the calls that enqueue, in their line: to call a function would take a fourth of
 * what the record of one request may take.
 */
#ifndef MPIXQ_TRACE_ENQUEUE_H
#define MPIXQ_TRACE_ENQUEUE_H

#include "queue.h"
#include "util/trace.h"

MPIXQ_TRACE_SELDOM void mpixq_trace_note_calls(enum mpixq_trace_kind kind,
                                               const struct mpixq_queue *queue, uint32_t n);
void mpixq_trace_note_call(enum mpixq_trace_kind kind, const struct mpixq_queue *queue, uint32_t n);

/* Of one request: what is usual takes no more than it must. */
static inline void mpixq_trace_note_one(enum mpixq_trace_kind kind, enum mpixq_trace_kind kinds,
                                        const struct mpixq_queue *queue)
{
    struct mpixq_trace_record *record = mpixq_trace_room.next;

    if (__builtin_expect(record >= mpixq_trace_room.quick_end, false)) {
        mpixq_trace_note_calls(kinds, queue, 1);
        return;
    }
    record->who = (uint64_t)(uintptr_t)queue->pairs[0];
    record->n = (uint32_t)queue->number;
    record->kind = (uint8_t)kind;
    record->ticks = mpixq_ticks_read();
    mpixq_trace_room.next = record + 1;
}

/* A call has enqueued starts of the first n records of a queue, or a wait for them. Under its
 * submission lock. Of null requests alone nothing is recorded. */
static inline void mpixq_trace_starts_enqueued(const struct mpixq_queue *queue, int n)
{
    if (mpixq_trace_is_on()) {
        if (n == 1) {
            mpixq_trace_note_one(MPIXQ_TRACE_START, MPIXQ_TRACE_STARTS, queue);
        } else if (n > 1) {
            mpixq_trace_note_call(MPIXQ_TRACE_STARTS, queue, (uint32_t)n);
        }
    }
}
static inline void mpixq_trace_wait_enqueued(const struct mpixq_queue *queue, int n)
{
    if (mpixq_trace_is_on()) {
        if (n == 1) {
            mpixq_trace_note_one(MPIXQ_TRACE_WAIT, MPIXQ_TRACE_WAITS, queue);
        } else if (n > 1) {
            mpixq_trace_note_call(MPIXQ_TRACE_WAITS, queue, (uint32_t)n);
        }
    }
}

#endif
