/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The side of rank 0: it writes the file. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "backoff.h"
#include "control.h"
#include "env.h"
#include "log.h"
#include "mpix_queue.h"
#include "trace_internal.h"
#include "trace_tell.h"

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

static FILE *file;
static struct rank *ranks;
static int n_ranks, n_ready, n_settled, n_written;
static bool is_over; /* who comes from now on is late */

/* The answer to the last question. */
static struct {
    uint32_t number;
    bool is_there;
    uint64_t theirs_ns, ns;
} pong;

/* The batch that is being received, of this rank. */
static struct {
    int rank;
    char *text;
    size_t used, room;
    bool is_whole, is_last, is_short;
    uint64_t n_events;
} batch;
static uint64_t n_events;

bool mpixq_trace_file_open(void)
{
    file = fopen(mpixq_env.trace, "we");
    if (file == NULL) {
        mpixq_warn("MPIXQ_TRACE: %s cannot be written: %s; nothing is traced", mpixq_env.trace,
                   strerror(errno));
        return false;
    }
    (void)setvbuf(file, NULL, _IOFBF, BUFFER);
    return true;
}

static bool has_ranks(void)
{
    if (ranks == NULL && PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks) == MPI_SUCCESS) {
        ranks = mpixq_alloc((size_t)n_ranks * sizeof *ranks); /* freed in mpixq_trace_write */
    }
    return ranks != NULL;
}

bool mpixq_trace_is_ready(int rank)
{
    return ranks != NULL && rank < n_ranks && ranks[rank].is_ready;
}

static void take_text(const struct mpixq_record *record)
{
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        const struct mpixq_blob *blob = &record->blobs[i];

        if (batch.room - batch.used < blob->length) {
            size_t room = batch.room > 0 ? 2 * batch.room : 131072;
            char *text = mpixq_realloc(batch.text, room); /* freed in mpixq_trace_write */

            if (text == NULL) {
                batch.is_short = true;
                break;
            }
            batch.text = text;
            batch.room = room;
        }
        memcpy(batch.text + batch.used, blob->bytes, blob->length);
        batch.used += blob->length;
    }
    batch.is_whole = record->u.trace.n != MPIXQ_TEXT_MORE;
    batch.is_last = record->u.trace.n == MPIXQ_TEXT_LAST;
    batch.n_events = record->u.trace.a;
}

static void take_ready(const struct mpixq_wire_trace *said, int source)
{
    struct rank *rank = &ranks[source];

    if (!rank->is_ready) {
        *rank = (struct rank){.is_ready = true, .home = {said->a, said->b}, .first_ns = said->c};
        n_ready++;
    }
}

void mpixq_trace_hear(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_trace *said = &record->u.trace;

    if (said->what == MPIXQ_TRACE_READY && (file == NULL || is_over || !has_ranks())) {
        (void)mpixq_trace_send(source, MPIXQ_TRACE_END, 1, 0, 0, 0);
    } else if (said->what == MPIXQ_TRACE_READY) {
        take_ready(said, source);
    } else if (said->what == MPIXQ_TRACE_PONG && said->n == pong.number) {
        pong.ns = mpixq_now_ns();
        pong.theirs_ns = said->a;
        pong.is_there = true;
    } else if (said->what == MPIXQ_TRACE_SETTLED && said->n != 0 && ranks != NULL) {
        n_settled += ranks[source].is_ready && !ranks[source].is_settled;
        ranks[source].is_settled = true;
    } else if (said->what == MPIXQ_TRACE_TEXT && source == batch.rank) {
        take_text(record);
    }
}

/* Clocks. */

/* One question. False: no answer. */
static bool ask_time(int rank, uint64_t *asked_p)
{
    struct mpixq_backoff backoff;

    pong.number++;
    pong.is_there = false;
    *asked_p = mpixq_now_ns();
    if (!mpixq_trace_send(rank, MPIXQ_TRACE_PING, pong.number, 0, 0, 0)) {
        return false;
    }
    mpixq_backoff_begin(&backoff);
    while (!pong.is_there && mpixq_now_ns() - *asked_p < SETTLE_NS) {
        mpixq_trace_go_on(&backoff);
    }
    return pong.is_there;
}

/* A message takes at least no time, so the offset is known to half of a round trip. */
static void find_clock(int number)
{
    struct mpixq_process self = mpixq_process_self();
    struct rank *rank = &ranks[number];
    uint64_t asked, shortest = UINT64_MAX;

    if (!mpixq_ident_is_none(self.home) && rank->home[0] == self.home.high &&
        rank->home[1] == self.home.low) {
        return; /* the same clock */
    }
    for (int i = 0; i < PINGS && ask_time(number, &asked); i++) {
        if (pong.ns - asked < shortest) {
            shortest = pong.ns - asked;
            rank->offset = (int64_t)(asked + shortest / 2) - (int64_t)pong.theirs_ns;
            rank->error = shortest / 2 + 1;
        }
    }
}

/* Waiting. */

/* Until all are ready, or nobody has become so for long. Returns the first moment of all. */
static uint64_t await_ready(uint64_t first_ns)
{
    uint64_t since = mpixq_now_ns();
    struct mpixq_backoff backoff;
    int known = 0;

    mpixq_backoff_begin(&backoff);
    while (n_ready < n_ranks - 1 && mpixq_now_ns() - since < MPIXQ_TRACE_PATIENCE_NS) {
        mpixq_trace_go_on(&backoff);
        since = n_ready > known ? mpixq_now_ns() : since;
        known = n_ready;
    }
    is_over = true;
    for (int i = 1; i < n_ranks; i++) {
        if (ranks[i].is_ready) {
            uint64_t ns;

            find_clock(i);
            ns = ranks[i].first_ns + (uint64_t)ranks[i].offset;
            first_ns = ns < first_ns ? ns : first_ns;
        }
    }
    return first_ns;
}

/* Until what the ends of pairs tell each other was taken; those that are not here never take it. */
static void await_ties(void)
{
    uint64_t since = mpixq_now_ns(), asked = 0, now = since;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (n_settled < n_ready && now - since < SETTLE_NS) {
        for (int i = 1; now - asked >= AGAIN_NS && i < n_ranks; i++) {
            if (ranks[i].is_ready && !ranks[i].is_settled) {
                (void)mpixq_trace_send(i, MPIXQ_TRACE_SETTLE, 0, 0, 0, 0);
            }
        }
        asked = now - asked >= AGAIN_NS ? now : asked;
        mpixq_trace_go_on(&backoff);
        now = mpixq_now_ns();
    }
}

/* Ask for a batch of text and receive it. False: it did not come. */
static bool get_batch(int rank, int64_t shift)
{
    uint64_t since = mpixq_now_ns();
    size_t used = 0;
    struct mpixq_backoff backoff;

    batch.rank = rank;
    batch.used = 0;
    batch.is_whole = false;
    if (!mpixq_trace_send(rank, MPIXQ_TRACE_ASK, 0, (uint64_t)shift, ranks[rank].error, 0)) {
        return false;
    }
    mpixq_backoff_begin(&backoff);
    while (!batch.is_whole && mpixq_now_ns() - since < MPIXQ_TRACE_PATIENCE_NS) {
        mpixq_trace_go_on(&backoff);
        if (batch.used > used) {
            since = mpixq_now_ns();
            used = batch.used;
            mpixq_backoff_begin(&backoff);
        }
    }
    return batch.is_whole && !batch.is_short;
}

/* The file. */

static void put(const char *text, size_t bytes)
{
    if (bytes > 0) {
        (void)fwrite(text, 1, bytes, file); /* ferror tells at the end */
    }
}

static void write_rank(int rank, int64_t shift)
{
    bool is_there = true;

    batch.is_last = false;
    while (is_there && !batch.is_last) {
        is_there = get_batch(rank, shift);
        if (is_there) {
            put(batch.text, batch.used);
        }
    }
    ranks[rank].is_written = is_there;
    n_written += is_there;
    n_events += is_there ? batch.n_events : 0;
    batch.rank = 0;
    (void)mpixq_trace_send(rank, MPIXQ_TRACE_END, !is_there, 0, 0, 0);
}

static void write_own(int64_t shift)
{
    const char *text;
    size_t bytes;
    bool more;

    mpixq_trace_begin_text(shift, 0);
    do {
        more = mpixq_trace_make_text(&text, &bytes);
        put(text, bytes);
    } while (more);
    n_events += mpixq_trace_events();
    n_written++;
}

static void write_end(void)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"name\":\"mpixq_trace\",\"ph\":\"M\",\"pid\":0,\"args\":{\"version\":"
                     "\"%d.%d.%d\",\"ranks\":%d,\"ranks_written\":%d,\"events\":%llu}}\n]}\n",
                     MPIXQ_VERSION_MAJOR, MPIXQ_VERSION_MINOR, MPIXQ_VERSION_PATCH, n_ranks,
                     n_written, (unsigned long long)n_events);

    put(text, (size_t)n);
}

static void close_file(void)
{
    bool bad = ferror(file) != 0;
    int why = errno;

    if (fclose(file) != 0) {
        why = bad ? why : errno;
        bad = true;
    }
    file = NULL;
    if (bad) {
        mpixq_warn("MPIXQ_TRACE: %s could not be written whole: %s", mpixq_env.trace,
                   strerror(why));
    } else if (n_written < n_ranks) {
        mpixq_warn("MPIXQ_TRACE: %s has %d of %d ranks: the others did not come in time",
                   mpixq_env.trace, n_written, n_ranks);
    } else {
        mpixq_info("MPIXQ_TRACE: %s has %llu events of %d ranks", mpixq_env.trace,
                   (unsigned long long)n_events, n_ranks);
    }
}

void mpixq_trace_write(uint64_t first_ns)
{
    static const char head[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    uint64_t base;

    if (!has_ranks()) {
        mpixq_warn("no memory to write what was traced");
        (void)fclose(file);
        file = NULL;
        return;
    }
    base = await_ready(first_ns);
    await_ties();
    put(head, sizeof head - 1);
    write_own(-(int64_t)base);
    for (int i = 1; i < n_ranks; i++) {
        if (ranks[i].is_ready) {
            write_rank(i, ranks[i].offset - (int64_t)base);
        }
    }
    write_end();
    close_file();
    mpixq_free(batch.text);
    mpixq_free(ranks);
    ranks = NULL;
}
