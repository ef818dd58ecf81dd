/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "trace_pairs.h"

#include <stddef.h>
#include <string.h>

#include "channel.h"
#include "queue.h"
#include "request.h"
#include "trace_enqueue.h"
#include "util/trace_read.h"

_Static_assert(sizeof(struct mpixq_trace_match) == 2 * sizeof(struct mpixq_trace_record), "slots");

/* Requests in one record of a call; an array with more is several records. */
enum { TOGETHER = 510 };

/* Records name a pair by its address. */
static uint64_t name_of(const struct mpixq_pair *pair)
{
    return (uint64_t)(uintptr_t)pair;
}

/* The pairs of a call stand in the array of its queue, whose submission lock it has. They are
 * copied as they are: what there is to know of each was recorded when it was matched. */
static inline void fill_call(struct mpixq_trace_record *record, enum mpixq_trace_kind kind,
                             const struct mpixq_queue *queue, uint32_t at, uint32_t n,
                             uint32_t slots)
{
    record->who = queue->number;
    record->n = n;
    record->kind = (uint8_t)kind;
    record->slots = (uint16_t)slots;
    memcpy(&record[1], &queue->pairs[at], n * sizeof queue->pairs[0]);
}

/* In as many records as it takes. */
void mpixq_trace_note_calls(enum mpixq_trace_kind kind, const struct mpixq_queue *queue, uint32_t n)
{
    uint64_t now = mpixq_trace_clock();

    for (uint32_t at = 0; at < n; at += TOGETHER) {
        uint32_t part = n - at < TOGETHER ? n - at : TOGETHER, slots = (part + 2) / 3;
        struct mpixq_trace_record *record = mpixq_trace_take(slots + 1, now, part);

        if (record != NULL) {
            record->ticks = now;
            fill_call(record, kind, queue, at, part, slots);
        }
    }
}

void mpixq_trace_note_call(enum mpixq_trace_kind kind, const struct mpixq_queue *queue, uint32_t n)
{
    struct mpixq_trace_record *record = mpixq_trace_room.next;
    uint32_t slots = (n + 2) / 3;

    /* Nothing may be subtracted from NULL, and a compiler makes any number of that. */
    if (mpixq_trace_room.quick_end == NULL || n > TOGETHER ||
        mpixq_trace_room.quick_end - record <= (ptrdiff_t)slots) {
        mpixq_trace_note_calls(kind, queue, n);
        return;
    }
    fill_call(record, kind, queue, 0, n, slots);
    record->ticks = mpixq_ticks_read();
    mpixq_trace_room.next = record + slots + 1;
}

/* 0: none, which is the host. */
static uint32_t number_of(const struct mpixq_queue *queue)
{
    return queue != NULL ? (uint32_t)queue->number : 0;
}

void mpixq_trace_note_started(const struct mpixq_pair *pair)
{
    mpixq_trace_note(MPIXQ_TRACE_STARTED, name_of(pair), number_of(atomic_load(&pair->queue)), 0);
}

void mpixq_trace_note_posted(const struct mpixq_pair *pair, unsigned what,
                             const struct mpixq_queue *queue)
{
    mpixq_trace_note(MPIXQ_TRACE_POSTED, name_of(pair), number_of(queue), what);
}

void mpixq_trace_note_rang(const struct mpixq_queue *queue, uint32_t n)
{
    mpixq_trace_note(MPIXQ_TRACE_RANG, number_of(queue), n, 0);
}

void mpixq_trace_note_match(const struct mpixq_request *req, enum mpixq_trace_kind kind)
{
    uint64_t now = mpixq_trace_clock();
    struct mpixq_trace_record *record = mpixq_trace_take(3, now, 1);
    const struct mpixq_pair *pair = &req->pair;
    struct mpixq_trace_match match = {.peer = req->peer,
                                      .tag = req->tag,
                                      .bytes = pair->bytes,
                                      .is_send = mpixq_pair_is_send(pair)};

    if (record == NULL) {
        return;
    }
    if (kind == MPIXQ_TRACE_MATCHED) {
        match.peer_world = pair->peer_world;
        match.channel = (uint8_t)pair->channel->id;
        match.id = pair->id;
        match.peer_id = pair->peer_id;
    }
    *record = (struct mpixq_trace_record){
        .ticks = now, .who = name_of(pair), .n = 1, .kind = (uint8_t)kind, .slots = 2};
    memcpy(&record[1], &match, sizeof match);
}
