/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The side of each rank: it tells, and answers. */
#include "trace_tell.h"

#include <mpi.h>
#include <string.h>

#include "core/channels.h"
#include "match/control.h"
#include "match/match_channels.h"
#include "trace_internal.h"
#include "trace_out.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/log.h"

enum { BATCH = 65536 }; /* bytes of text, and what one record of a trace makes beyond */

/* What this rank has to tell, and how far it has come. */
static struct {
    struct mpixq_story story;
    struct mpixq_trace_out out;
    bool is_told;  /* the story is there, and was told once */
    bool is_ended; /* rank 0 has all, or wants nothing */
    bool is_begun; /* its first text was made */
    bool is_refused;
    uint64_t news_ns;                  /* when rank 0 was heard of */
    struct mpixq_trace_writer *writer; /* on rank 0; NULL: nothing is written */
} own;

bool mpixq_trace_send(int rank, enum mpixq_trace_what what, uint32_t n, uint64_t a, uint64_t b,
                      uint64_t c)
{
    struct mpixq_record record = {
        .kind = MPIXQ_WIRE_TRACE,
        .u.trace = {.what = (uint32_t)what, .n = n, .a = a, .b = b, .c = c}};

    return mpixq_control_send(rank, &record);
}

void mpixq_trace_go_on(struct mpixq_backoff *backoff)
{
    mpixq_control_progress();
    mpixq_channels_drive();
    mpixq_backoff_pause(backoff);
}

/* Ties. */

static void take_tie(uint64_t id, uint64_t n)
{
    struct mpixq_trace_tie *tie;

    HASH_FIND(hh, own.out.ties, &id, sizeof id, tie);
    if (tie != NULL) {
        return;
    }
    tie = mpixq_alloc(sizeof *tie); /* freed in mpixq_trace_end */
    if (tie != NULL) {
        tie->id = id;
        tie->n = n;
        HASH_ADD(hh, own.out.ties, id, sizeof tie->id, tie);
        if (!mpixq_in_table(tie->hh)) {
            mpixq_free(tie);
        }
    }
}

static bool has_peer(const struct mpixq_trace_life *life)
{
    return life->made.id != 0 && life->made.peer_world != MPI_PROC_NULL;
}

/* Has the peer what this rank has told of the pair, before it makes its text? Between rank 0 and
 * another that is so if it is asked at all, as messages keep their order. */
static bool has_taken(const struct mpixq_trace_life *life)
{
    int peer = life->made.peer_world;

    if (mpixq_log_rank == 0) {
        return peer == 0 || mpixq_trace_is_ready(own.writer, peer);
    }
    return peer == 0 || peer == mpixq_log_rank || mpixq_control_has_taken(peer);
}

static void send_ties(void)
{
    for (const struct mpixq_trace_life *life = own.story.lives; life != NULL; life = life->next) {
        if (life->drawn == 0 || !has_peer(life)) {
            continue;
        }
        if (life->made.peer_world == mpixq_log_rank) {
            take_tie(life->made.peer_id, life->drawn);
        } else {
            (void)mpixq_trace_send(life->made.peer_world, MPIXQ_TRACE_TIE, 0, life->made.peer_id,
                                   life->drawn, 0);
        }
    }
}

static bool are_ties_taken(void)
{
    for (const struct mpixq_trace_life *life = own.story.lives; life != NULL; life = life->next) {
        if (has_peer(life) && !has_taken(life)) {
            return false;
        }
    }
    return true;
}

/* Who has not taken what this process can draw will not draw its own side either. */
static void drop_ties(void)
{
    for (const struct mpixq_trace_life *life = own.story.lives; life != NULL; life = life->next) {
        struct mpixq_trace_tie *tie;

        HASH_FIND(hh, own.out.ties, &life->made.id, sizeof life->made.id, tie);
        if (tie != NULL && has_peer(life) && !has_taken(life)) {
            tie->n = 0;
        }
    }
}

/* Text. */

void mpixq_trace_begin_text(int64_t shift, uint64_t error)
{
    if (own.is_begun) {
        return;
    }
    own.is_begun = true;
    own.out.rank = mpixq_log_rank;
    own.out.shift = shift;
    own.out.error = error;
    drop_ties();
    mpixq_trace_out_begin(&own.out, &own.story);
    mpixq_story_rewind(&own.story);
    own.story.out = &own.out;
}

bool mpixq_trace_make_text(const char **text_p, size_t *bytes_p)
{
    bool is_last = false;

    while (!is_last && own.out.used < BATCH) {
        is_last = !mpixq_story_step(&own.story);
    }
    *text_p = own.out.text;
    *bytes_p = own.out.used;
    own.out.used = 0; /* it stays where it is until more is made */
    return !is_last;
}

uint64_t mpixq_trace_events(void)
{
    return own.out.n_events;
}

static void send_text(void)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_TRACE, .u.trace.what = MPIXQ_TRACE_TEXT};
    const char *text;
    size_t bytes;
    bool is_last = !mpixq_trace_make_text(&text, &bytes);

    for (size_t at = 0; at < bytes || at == 0;) {
        record.n_blobs = 0;
        while (at < bytes && record.n_blobs < MPIXQ_WIRE_MAX_CHANNELS) {
            struct mpixq_blob *blob = &record.blobs[record.n_blobs++];
            size_t left = bytes - at;

            blob->length = (uint32_t)(left < sizeof blob->bytes ? left : sizeof blob->bytes);
            memcpy(blob->bytes, text + at, blob->length);
            at += blob->length;
        }
        record.u.trace.n = at < bytes ? MPIXQ_TEXT_MORE
                           : is_last  ? MPIXQ_TEXT_LAST
                                      : MPIXQ_TEXT_BATCH;
        record.u.trace.a = own.out.n_events;
        (void)mpixq_control_send(0, &record);
        at += bytes == 0;
    }
}

void mpixq_trace_begin_job(void)
{
    if (strcmp(mpixq_env.trace, "none") == 0) {
        return;
    }
    if (mpixq_log_rank == 0) {
        own.writer = mpixq_trace_file_open(); /* ended in mpixq_trace_write */
    }
    if (mpixq_log_rank != 0 || own.writer != NULL) {
        mpixq_trace_open();
    }
}

/* Records. */

/* Of rank 0, to any other. */
static void answer(const struct mpixq_wire_trace *said)
{
    own.news_ns = mpixq_now_ns();
    switch (said->what) {
    case MPIXQ_TRACE_PING:
        (void)mpixq_trace_send(0, MPIXQ_TRACE_PONG, said->n, own.news_ns, 0, 0);
        break;
    case MPIXQ_TRACE_SETTLE:
        (void)mpixq_trace_send(0, MPIXQ_TRACE_SETTLED, are_ties_taken(), 0, 0, 0);
        break;
    case MPIXQ_TRACE_ASK:
        mpixq_trace_begin_text((int64_t)said->a, said->b);
        send_text();
        break;
    case MPIXQ_TRACE_END:
        own.is_ended = true;
        own.is_refused = said->n != 0;
        break;
    default:
        break;
    }
}

void mpixq_trace_record(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_trace *said = &record->u.trace;

    if (said->what == MPIXQ_TRACE_TIE) {
        if (mpixq_trace_is_open()) {
            take_tie(said->a, said->b);
        }
    } else if (mpixq_log_rank == 0) {
        mpixq_trace_hear(own.writer, record, source);
    } else if (own.is_told && source == 0) {
        answer(said);
    }
}

/* Until rank 0 has all, or nothing is heard of it. */
static void follow(void)
{
    struct mpixq_process self = mpixq_process_self();
    struct mpixq_backoff backoff;
    uint64_t now = mpixq_now_ns();

    own.news_ns = now;
    mpixq_backoff_begin(&backoff);
    if (!mpixq_trace_send(0, MPIXQ_TRACE_READY, 0, self.home.high, self.home.low,
                          mpixq_trace_ns(own.story.reader.all.first_ticks))) {
        return;
    }
    while (!own.is_ended && now - own.news_ns < MPIXQ_TRACE_PATIENCE_NS &&
           !mpixq_control_has_lost(0, now) && !mpixq_control_is_strange(0)) {
        uint64_t before = own.news_ns;

        mpixq_trace_go_on(&backoff);
        if (own.news_ns != before) {
            mpixq_backoff_begin(&backoff); /* it will ask for more: times are being taken */
        }
        now = mpixq_now_ns();
    }
}

void mpixq_trace_tell(void)
{
    if (!mpixq_trace_is_open()) {
        return;
    }
    mpixq_trace_stop();
    if (!mpixq_story_open(&own.story)) {
        mpixq_warn("no memory to write what was traced");
        return;
    }
    while (mpixq_story_step(&own.story)) {
    }
    own.is_told = true;
    send_ties();
    if (mpixq_log_rank == 0) {
        mpixq_trace_write(own.writer, mpixq_trace_ns(own.story.reader.all.first_ticks));
        own.writer = NULL;
    } else {
        follow();
    }
}

static void warn(void)
{
    struct mpixq_trace_all all = mpixq_trace_all();
    uint64_t lost = all.n_lost + mpixq_trace_cut(&all);

    if (lost > 0) {
        mpixq_warn(
            "MPIXQ_TRACE: no room for %llu records from %.3f s on: set MPIXQ_TRACE_KIB, which "
            "is %ld, higher",
            (unsigned long long)lost,
            (double)(mpixq_trace_ns(all.end_ticks) - mpixq_trace_ns(all.first_ticks)) * 1e-9,
            mpixq_env.trace_kib);
    }
    if (own.story.is_short || own.out.is_short) {
        mpixq_warn("no memory to write all that was traced");
    }
    if (own.is_refused) { /* rank 0 says why */
        mpixq_info("MPIXQ_TRACE: rank 0 writes nothing of this rank");
    } else if (mpixq_log_rank != 0 && !own.is_ended) {
        mpixq_warn("MPIXQ_TRACE: rank 0 has not taken what this rank has traced");
    }
}

void mpixq_trace_end(void)
{
    struct mpixq_trace_tie *tie, *next;

    if (!mpixq_trace_is_open()) {
        return;
    }
    warn();
    HASH_ITER(hh, own.out.ties, tie, next)
    {
        HASH_DELETE(hh, own.out.ties, tie);
        mpixq_free(tie);
    }
    mpixq_free(own.out.text);
    mpixq_story_close(&own.story);
    mpixq_trace_close();
}
