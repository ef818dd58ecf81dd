/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The side of rank 0: it writes the file. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "match/control.h"
#include "mpix_queue.h"
#include "trace_internal.h"
#include "trace_tell.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/log.h"

enum { PINGS = 16, BUFFER = 1 << 20 };
#define SETTLE_NS UINT64_C(1000000000) /* longest wait for ties */
#define AGAIN_NS UINT64_C(2000000)     /* between two questions whether they are taken */

/* What is known of the other ranks. */
struct rank {
    bool is_ready, is_settled, is_written;
    uint64_t home[2], first_ns;
    int64_t offset; /* of its clock: to be added for ours */
    uint64_t error;
};

/* The answer to the last question. */
struct pong {
    uint32_t number;
    bool is_there;
    uint64_t theirs_ns, ns;
};

/* The batch that is being received, of this rank. */
struct batch {
    int rank;
    char *text;
    size_t used, room;
    bool is_whole, is_last, is_short;
    uint64_t n_events;
};

struct mpixq_trace_writer {
    FILE *file;
    struct rank *ranks; /* NULL: none has come by now */
    int n_ranks, n_ready, n_settled, n_written;
    bool is_over; /* who comes from now on is late */
    struct pong pong;
    struct batch batch;
    uint64_t n_events;
};

struct mpixq_trace_writer *mpixq_trace_file_open(void)
{
    struct mpixq_trace_writer *w = mpixq_alloc(sizeof *w); /* freed in writer_end */

    if (w == NULL) {
        mpixq_warn("no memory to write what was traced");
        return NULL;
    }
    *w = (struct mpixq_trace_writer){.file = fopen(mpixq_env.trace, "we")};
    if (w->file == NULL) {
        mpixq_warn("MPIXQ_TRACE: %s cannot be written: %s; nothing is traced", mpixq_env.trace,
                   strerror(errno));
        mpixq_free(w);
        return NULL;
    }
    (void)setvbuf(w->file, NULL, _IOFBF, BUFFER);
    return w;
}

/* Unmake the writer. */
static void writer_end(struct mpixq_trace_writer *w)
{
    mpixq_free(w->batch.text);
    mpixq_free(w->ranks);
    mpixq_free(w);
}

static bool has_ranks(struct mpixq_trace_writer *w)
{
    if (w->ranks == NULL && PMPI_Comm_size(MPI_COMM_WORLD, &w->n_ranks) == MPI_SUCCESS) {
        w->ranks = mpixq_alloc((size_t)w->n_ranks * sizeof *w->ranks); /* freed in writer_end */
    }
    return w->ranks != NULL;
}

bool mpixq_trace_is_ready(const struct mpixq_trace_writer *w, int rank)
{
    return w != NULL && w->ranks != NULL && rank < w->n_ranks && w->ranks[rank].is_ready;
}

static void take_text(struct mpixq_trace_writer *w, const struct mpixq_record *record)
{
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        const struct mpixq_blob *blob = &record->blobs[i];

        if (w->batch.room - w->batch.used < blob->length) {
            size_t room = w->batch.room > 0 ? 2 * w->batch.room : 131072;
            char *text = mpixq_realloc(w->batch.text, room); /* freed in writer_end */

            if (text == NULL) {
                w->batch.is_short = true;
                break;
            }
            w->batch.text = text;
            w->batch.room = room;
        }
        memcpy(w->batch.text + w->batch.used, blob->bytes, blob->length);
        w->batch.used += blob->length;
    }
    w->batch.is_whole = record->u.trace.n != MPIXQ_TEXT_MORE;
    w->batch.is_last = record->u.trace.n == MPIXQ_TEXT_LAST;
    w->batch.n_events = record->u.trace.a;
}

static void take_ready(struct mpixq_trace_writer *w, const struct mpixq_wire_trace *said,
                       int source)
{
    struct rank *rank = &w->ranks[source];

    if (!rank->is_ready) {
        *rank = (struct rank){.is_ready = true, .home = {said->a, said->b}, .first_ns = said->c};
        w->n_ready++;
    }
}

void mpixq_trace_hear(struct mpixq_trace_writer *w, const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_trace *said = &record->u.trace;

    if (said->what == MPIXQ_TRACE_READY && (w == NULL || w->is_over || !has_ranks(w))) {
        (void)mpixq_trace_send(source, MPIXQ_TRACE_END, 1, 0, 0, 0);
    } else if (w == NULL) {
        return;
    } else if (said->what == MPIXQ_TRACE_READY) {
        take_ready(w, said, source);
    } else if (said->what == MPIXQ_TRACE_PONG && said->n == w->pong.number) {
        w->pong.ns = mpixq_now_ns();
        w->pong.theirs_ns = said->a;
        w->pong.is_there = true;
    } else if (said->what == MPIXQ_TRACE_SETTLED && said->n != 0 && w->ranks != NULL) {
        w->n_settled += w->ranks[source].is_ready && !w->ranks[source].is_settled;
        w->ranks[source].is_settled = true;
    } else if (said->what == MPIXQ_TRACE_TEXT && source == w->batch.rank) {
        take_text(w, record);
    }
}

/* Clocks. */

/* One question. False: no answer. */
static bool ask_time(struct mpixq_trace_writer *w, int rank, uint64_t *asked_p)
{
    struct mpixq_backoff backoff;

    w->pong.number++;
    w->pong.is_there = false;
    *asked_p = mpixq_now_ns();
    if (!mpixq_trace_send(rank, MPIXQ_TRACE_PING, w->pong.number, 0, 0, 0)) {
        return false;
    }
    mpixq_backoff_begin(&backoff);
    while (!w->pong.is_there && mpixq_now_ns() - *asked_p < SETTLE_NS) {
        mpixq_trace_go_on(&backoff);
    }
    return w->pong.is_there;
}

/* A message takes at least no time, so the offset is known to half of a round trip. */
static void find_clock(struct mpixq_trace_writer *w, int number)
{
    struct mpixq_process self = mpixq_process_self();
    struct rank *rank = &w->ranks[number];
    uint64_t asked, shortest = UINT64_MAX;

    if (!mpixq_ident_is_none(self.home) && rank->home[0] == self.home.high &&
        rank->home[1] == self.home.low) {
        return; /* the same clock */
    }
    for (int i = 0; i < PINGS && ask_time(w, number, &asked); i++) {
        if (w->pong.ns - asked < shortest) {
            shortest = w->pong.ns - asked;
            rank->offset = (int64_t)(asked + shortest / 2) - (int64_t)w->pong.theirs_ns;
            rank->error = shortest / 2 + 1;
        }
    }
}

/* Waiting. */

/* Until all are ready, or nobody has become so for long. Returns the first moment of all. */
static uint64_t await_ready(struct mpixq_trace_writer *w, uint64_t first_ns)
{
    uint64_t since = mpixq_now_ns();
    struct mpixq_backoff backoff;
    int known = 0;

    mpixq_backoff_begin(&backoff);
    while (w->n_ready < w->n_ranks - 1 && mpixq_now_ns() - since < MPIXQ_TRACE_PATIENCE_NS) {
        mpixq_trace_go_on(&backoff);
        since = w->n_ready > known ? mpixq_now_ns() : since;
        known = w->n_ready;
    }
    w->is_over = true;
    for (int i = 1; i < w->n_ranks; i++) {
        if (w->ranks[i].is_ready) {
            uint64_t ns;

            find_clock(w, i);
            ns = w->ranks[i].first_ns + (uint64_t)w->ranks[i].offset;
            first_ns = ns < first_ns ? ns : first_ns;
        }
    }
    return first_ns;
}

/* Until what the ends of pairs tell each other was taken; those that are not here never take it. */
static void await_ties(struct mpixq_trace_writer *w)
{
    uint64_t since = mpixq_now_ns(), asked = 0, now = since;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (w->n_settled < w->n_ready && now - since < SETTLE_NS) {
        for (int i = 1; now - asked >= AGAIN_NS && i < w->n_ranks; i++) {
            if (w->ranks[i].is_ready && !w->ranks[i].is_settled) {
                (void)mpixq_trace_send(i, MPIXQ_TRACE_SETTLE, 0, 0, 0, 0);
            }
        }
        asked = now - asked >= AGAIN_NS ? now : asked;
        mpixq_trace_go_on(&backoff);
        now = mpixq_now_ns();
    }
}

/* Ask for a batch of text and receive it. False: it did not come. */
static bool get_batch(struct mpixq_trace_writer *w, int rank, int64_t shift)
{
    uint64_t since = mpixq_now_ns();
    size_t used = 0;
    struct mpixq_backoff backoff;

    w->batch.rank = rank;
    w->batch.used = 0;
    w->batch.is_whole = false;
    if (!mpixq_trace_send(rank, MPIXQ_TRACE_ASK, 0, (uint64_t)shift, w->ranks[rank].error, 0)) {
        return false;
    }
    mpixq_backoff_begin(&backoff);
    while (!w->batch.is_whole && mpixq_now_ns() - since < MPIXQ_TRACE_PATIENCE_NS) {
        mpixq_trace_go_on(&backoff);
        if (w->batch.used > used) {
            since = mpixq_now_ns();
            used = w->batch.used;
            mpixq_backoff_begin(&backoff);
        }
    }
    return w->batch.is_whole && !w->batch.is_short;
}

/* The file. */

static void put(struct mpixq_trace_writer *w, const char *text, size_t bytes)
{
    if (bytes > 0) {
        (void)fwrite(text, 1, bytes, w->file); /* ferror tells at the end */
    }
}

static void write_rank(struct mpixq_trace_writer *w, int rank, int64_t shift)
{
    bool is_there = true;

    w->batch.is_last = false;
    while (is_there && !w->batch.is_last) {
        is_there = get_batch(w, rank, shift);
        if (is_there) {
            put(w, w->batch.text, w->batch.used);
        }
    }
    w->ranks[rank].is_written = is_there;
    w->n_written += is_there;
    w->n_events += is_there ? w->batch.n_events : 0;
    w->batch.rank = 0;
    (void)mpixq_trace_send(rank, MPIXQ_TRACE_END, !is_there, 0, 0, 0);
}

static void write_own(struct mpixq_trace_writer *w, int64_t shift)
{
    const char *text;
    size_t bytes;
    bool more;

    mpixq_trace_begin_text(shift, 0);
    do {
        more = mpixq_trace_make_text(&text, &bytes);
        put(w, text, bytes);
    } while (more);
    w->n_events += mpixq_trace_events();
    w->n_written++;
}

static void write_end(struct mpixq_trace_writer *w)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"name\":\"mpixq_trace\",\"ph\":\"M\",\"pid\":0,\"args\":{\"version\":"
                     "\"%d.%d.%d\",\"ranks\":%d,\"ranks_written\":%d,\"events\":%llu}}\n]}\n",
                     MPIXQ_VERSION_MAJOR, MPIXQ_VERSION_MINOR, MPIXQ_VERSION_PATCH, w->n_ranks,
                     w->n_written, (unsigned long long)w->n_events);

    put(w, text, (size_t)n);
}

static void close_file(const struct mpixq_trace_writer *w)
{
    bool bad = ferror(w->file) != 0;
    int why = errno;

    if (fclose(w->file) != 0) {
        why = bad ? why : errno;
        bad = true;
    }
    if (bad) {
        mpixq_warn("MPIXQ_TRACE: %s could not be written whole: %s", mpixq_env.trace,
                   strerror(why));
    } else if (w->n_written < w->n_ranks) {
        mpixq_warn("MPIXQ_TRACE: %s has %d of %d ranks: the others did not come in time",
                   mpixq_env.trace, w->n_written, w->n_ranks);
    } else {
        mpixq_info("MPIXQ_TRACE: %s has %llu events of %d ranks", mpixq_env.trace,
                   (unsigned long long)w->n_events, w->n_ranks);
    }
}

void mpixq_trace_write(struct mpixq_trace_writer *w, uint64_t first_ns)
{
    static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    uint64_t base;

    if (!has_ranks(w)) {
        mpixq_warn("no memory to write what was traced");
        (void)fclose(w->file);
        writer_end(w);
        return;
    }
    base = await_ready(w, first_ns);
    await_ties(w);
    put(w, head, sizeof head - 1);
    write_own(w, -(int64_t)base);
    for (int i = 1; i < w->n_ranks; i++) {
        if (w->ranks[i].is_ready) {
            write_rank(w, i, w->ranks[i].offset - (int64_t)base);
        }
    }
    write_end(w);
    close_file(w);
    writer_end(w);
}
