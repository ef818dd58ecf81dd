/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "trace_story.h"

#include <mpi.h>

#include "trace_out.h"
#include "util/alloc.h"

bool mpixq_story_open(struct mpixq_story *story)
{
    *story = (struct mpixq_story){.lives = NULL};
    if (!mpixq_trace_reader_open(&story->reader)) {
        return false;
    }
    /* Freed in mpixq_story_close. */
    story->lanes = mpixq_alloc((story->reader.all.n_threads + 1) * sizeof *story->lanes);
    return story->lanes != NULL;
}

static void forget_lives(struct mpixq_story *story)
{
    struct mpixq_trace_life *life, *next;

    HASH_CLEAR(hh, story->by_who);
    for (life = story->lives; life != NULL; life = next) {
        next = life->next;
        mpixq_free(life);
    }
    story->lives = NULL;
    story->n_lives = 0;
}

void mpixq_story_close(struct mpixq_story *story)
{
    forget_lives(story);
    for (uint32_t i = 0; story->lanes != NULL && i < story->reader.all.n_threads; i++) {
        mpixq_free(story->lanes[i].marks);
    }
    mpixq_free(story->lanes);
    story->lanes = NULL;
    mpixq_trace_reader_close(&story->reader);
}

void mpixq_story_rewind(struct mpixq_story *story)
{
    forget_lives(story);
    for (uint32_t i = 0; i < story->reader.all.n_threads; i++) {
        story->lanes[i].n_marks = 0;
    }
    mpixq_trace_reader_close(&story->reader);
    story->is_short = !mpixq_trace_reader_open(&story->reader) || story->is_short;
}

static struct mpixq_trace_life *find(const struct mpixq_story *story, uint64_t who)
{
    struct mpixq_trace_life *life;

    HASH_FIND(hh, story->by_who, &who, sizeof who, life);
    return life;
}

/* Is to be matched: from now on the address is this one's. */
static struct mpixq_trace_life *add_life(struct mpixq_story *story, uint64_t who)
{
    struct mpixq_trace_life *before = find(story, who);
    struct mpixq_trace_life *life = mpixq_alloc(sizeof *life); /* freed in forget_lives */

    if (before != NULL) {
        HASH_DELETE(hh, story->by_who, before);
    }
    story->n_lives++;
    if (life == NULL) {
        story->is_short = true;
        return NULL;
    }
    life->who = who;
    life->number = story->n_lives;
    life->next = story->lives;
    story->lives = life;
    HASH_ADD(hh, story->by_who, who, sizeof life->who, life);
    return life;
}

static void take_match(struct mpixq_story *story, const struct mpixq_trace_record *record)
{
    struct mpixq_trace_life *life = find(story, record->who);
    bool begins = record->kind == MPIXQ_TRACE_MATCH;

    if (begins) {
        life = add_life(story, record->who);
    }
    if (life == NULL) {
        return;
    }
    life->is_matching = begins;
    if (record->kind != MPIXQ_TRACE_UNMATCHED) {
        life->made = *mpixq_trace_match_of(record);
    }
    if (story->out != NULL) {
        mpixq_trace_out_match(story->out, life, record->ticks, begins,
                              record->kind == MPIXQ_TRACE_MATCHED);
    }
}

/* What it executes belongs to a queue. */
static void note_queue(struct mpixq_trace_lane *lane, uint64_t queue)
{
    int known = lane->n_queues < MPIXQ_TRACE_QUEUES ? lane->n_queues : MPIXQ_TRACE_QUEUES;

    for (int i = 0; i < known; i++) {
        if (lane->queues[i] == queue) {
            return;
        }
    }
    if (lane->n_queues < MPIXQ_TRACE_QUEUES) {
        lane->queues[lane->n_queues] = queue;
    }
    lane->n_queues += queue != 0 && lane->n_queues <= MPIXQ_TRACE_QUEUES;
}

static void mark(struct mpixq_story *story, struct mpixq_trace_lane *lane,
                 const struct mpixq_trace_life *life, uint64_t ticks)
{
    if (life->made.peer_world == MPI_PROC_NULL) {
        return; /* nothing goes anywhere */
    }
    if (lane->n_marks == lane->room) {
        uint32_t room = lane->room > 0 ? 2 * lane->room : 64;
        void *marks = mpixq_realloc(lane->marks, room * sizeof *lane->marks);

        if (marks == NULL) {
            story->is_short = true;
            return;
        }
        lane->marks = marks; /* freed in mpixq_story_close */
        lane->room = room;
    }
    lane->marks[lane->n_marks++] =
        (struct mpixq_trace_mark){.life = life, .ticks = ticks, .start = life->started};
}

static void complete(struct mpixq_story *story, struct mpixq_trace_life *life, uint64_t ticks,
                     bool was_seen)
{
    if (life->done < life->started) {
        life->done = life->started;
        if (story->out != NULL) {
            mpixq_trace_out_start(story->out, life, ticks, false, was_seen);
        }
    }
}

/* Of a send its start is marked, of a receive that its wait is over. */
static void take_step(struct mpixq_story *story, const struct mpixq_trace_record *record,
                      struct mpixq_trace_lane *lane)
{
    struct mpixq_trace_life *life = find(story, record->who);

    if (life == NULL) {
        return;
    }
    if (record->kind != MPIXQ_TRACE_STARTED) {
        complete(story, life, record->ticks, true);
        if (record->kind == MPIXQ_TRACE_PASSED) {
            mark(story, lane, life, record->ticks);
        }
        return;
    }
    complete(story, life, record->ticks, false); /* it was, or it could not be started again */
    life->started++;
    life->queue = record->n;
    if (story->out != NULL) {
        mpixq_trace_out_start(story->out, life, record->ticks, true, true);
    }
    mark(story, lane, life, record->ticks);
}

/* A span ends: what was marked in it belongs to it. */
static void take_marks(struct mpixq_story *story, const struct mpixq_trace_record *record,
                       struct mpixq_trace_lane *lane, uint32_t thread)
{
    bool is_wait = record->kind == MPIXQ_TRACE_WAITED;

    for (uint32_t i = 0; i < lane->n_marks; i++) {
        struct mpixq_trace_mark *at = &lane->marks[i];
        struct mpixq_trace_life *life = (struct mpixq_trace_life *)at->life;

        note_queue(lane, life->queue);
        if (life->made.is_send == is_wait || at->ticks < mpixq_trace_began(record) ||
            at->start != life->drawn + 1) {
            continue;
        }
        life->drawn++;
        if (story->out != NULL) {
            mpixq_trace_out_mark(story->out, at, thread);
        }
    }
    lane->n_marks = 0;
}

static void take_span(struct mpixq_story *story, const struct mpixq_trace_record *record,
                      struct mpixq_trace_lane *lane, uint32_t thread)
{
    if (story->out != NULL) {
        mpixq_trace_out_span(story->out, record, lane, thread);
    }
    take_marks(story, record, lane, thread);
}

/* What was cut off, or has failed, ends with the records. */
static void end(struct mpixq_story *story)
{
    for (struct mpixq_trace_life *life = story->lives; life != NULL; life = life->next) {
        complete(story, life, story->ticks, false);
        if (life->is_matching && story->out != NULL) {
            mpixq_trace_out_match(story->out, life, story->ticks, false, false);
        }
        life->is_matching = false;
    }
}

static void take(struct mpixq_story *story, const struct mpixq_trace_record *record,
                 const struct mpixq_trace_chunk *chunk)
{
    struct mpixq_trace_lane *lane = &story->lanes[chunk->thread];

    story->ticks = record->ticks;
    lane->name = chunk->name;
    switch (record->kind) {
    case MPIXQ_TRACE_MATCH:
    case MPIXQ_TRACE_MATCHED:
    case MPIXQ_TRACE_UNMATCHED:
        take_match(story, record);
        break;
    case MPIXQ_TRACE_STARTED:
    case MPIXQ_TRACE_DONE:
    case MPIXQ_TRACE_PASSED:
        take_step(story, record, lane);
        break;
    case MPIXQ_TRACE_STARTS:
    case MPIXQ_TRACE_WAITS:
    case MPIXQ_TRACE_START:
    case MPIXQ_TRACE_WAIT:
        if (story->out != NULL) {
            mpixq_trace_out_call(story, record, chunk->thread);
        }
        break;
    case MPIXQ_TRACE_POSTED:
    case MPIXQ_TRACE_RANG:
        if (story->out != NULL) {
            mpixq_trace_out_nic(story->out, record, find(story, record->who),
                                story->reader.all.n_threads);
        }
        break;
    default:
        take_span(story, record, lane, chunk->thread);
        break;
    }
}

bool mpixq_story_step(struct mpixq_story *story)
{
    const struct mpixq_trace_chunk *chunk;
    const struct mpixq_trace_record *record = NULL;

    if (story->reader.places != NULL) {
        record = mpixq_trace_next(&story->reader, &chunk);
    }
    if (record == NULL) {
        end(story);
        return false;
    }
    take(story, record, chunk);
    return true;
}
