/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "trace_out.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/channels.h"

enum {
    LINE = 512, /* bytes that one addition has at most */
    NAME = 80
};

static const char *const names[] = {
    [MPIXQ_TRACE_STARTS] = "enqueue start",
    [MPIXQ_TRACE_WAITS] = "enqueue wait",
    [MPIXQ_TRACE_START] = "enqueue start",
    [MPIXQ_TRACE_WAIT] = "enqueue wait",
    [MPIXQ_TRACE_HOST_STARTS] = "MPI_Start",
    [MPIXQ_TRACE_FULL] = "stream is full",
    [MPIXQ_TRACE_SUBMITTED] = "GPU submission",
    [MPIXQ_TRACE_SYNCHRONIZED] = "MPIX_Queue_wait",
    [MPIXQ_TRACE_RAN] = "start",
    [MPIXQ_TRACE_WAITED] = "wait",
};

static bool has_room(struct mpixq_trace_out *out)
{
    size_t room = out->room > 0 ? 2 * out->room : 65536;
    void *text;

    if (out->is_short || out->room - out->used >= LINE) {
        return !out->is_short;
    }
    text = mpixq_realloc(out->text, room); /* freed by who takes the text */
    if (text == NULL) {
        out->is_short = true;
        while (out->used > 0 && out->text[out->used - 1] != '\n') {
            out->used--; /* only whole lines are left */
        }
        return false;
    }
    out->text = text;
    out->room = room;
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct mpixq_trace_out *out,
                                                      const char *format, ...)
{
    va_list args;
    int n;

    if (!has_room(out)) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(out->text + out->used, LINE, format, args);
    va_end(args);
    out->used += n > 0 && n < LINE ? (size_t)n : 0;
}

/* A time of the file: microseconds, with three digits behind the point. */
struct stamp {
    char text[32];
};

static struct stamp stamp_ns(int64_t ns)
{
    struct stamp stamp;
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    (void)snprintf(stamp.text, sizeof stamp.text, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "",
                   size / 1000, size % 1000);
    return stamp;
}

static struct stamp stamp(const struct mpixq_trace_out *out, uint64_t ticks)
{
    return stamp_ns((int64_t)mpixq_trace_ns(ticks) + out->shift);
}

/* What all events have. */
static void add_event(struct mpixq_trace_out *out, const char *name, const char *kind,
                      const char *category, uint32_t lane, uint64_t ticks)
{
    out->n_events++;
    add(out, "{\"name\":\"%s\",\"ph\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%s", name,
        kind, category, out->rank, lane, stamp(out, ticks).text);
}

static void add_metadata(struct mpixq_trace_out *out, const char *what, uint32_t lane,
                         const char *name, uint32_t order)
{
    add(out,
        "{\"name\":\"%s_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"%s\"}},\n",
        what, out->rank, lane, name);
    add(out,
        "{\"name\":\"%s_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,"
        "\"args\":{\"sort_index\":%u}},\n",
        what, out->rank, lane, order);
}

static void name_lane(struct mpixq_trace_out *out, const struct mpixq_trace_lane *lane,
                      uint32_t number)
{
    enum { PROGRAM = 1, STREAMS = 1000, LIBRARY = 3000 }; /* in this order */
    char text[192];
    int n = 0;

    if (lane->name == NULL) {
        (void)snprintf(text, sizeof text, "host: thread %u of the program", number);
        add_metadata(out, "thread", number, text, PROGRAM + number);
        return;
    }
    if (strcmp(lane->name, "mpixq-stream") != 0) {
        (void)snprintf(text, sizeof text, "%s thread", lane->name + strlen("mpixq-"));
        add_metadata(out, "thread", number, text, LIBRARY + number);
        return;
    }
    n = snprintf(text, sizeof text, "stream of queue%s", lane->n_queues > 1 ? "s" : "");
    for (int i = 0; i < lane->n_queues && i < MPIXQ_TRACE_QUEUES; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, " %" PRIu64, lane->queues[i]);
    }
    (void)snprintf(text + n, sizeof text - (size_t)n, "%s",
                   lane->n_queues > MPIXQ_TRACE_QUEUES ? " and more" : "");
    add_metadata(out, "thread", number, text, STREAMS + number);
}

void mpixq_trace_out_begin(struct mpixq_trace_out *out, const struct mpixq_story *story)
{
    const struct mpixq_trace_all *all = &story->reader.all;
    char host[65] = "", text[96];

    (void)gethostname(host, sizeof host - 1);
    for (char *c = host; *c != '\0'; c++) {
        *c = (*c == '"' || *c == '\\' || *c < ' ' || *c > '~') ? '_' : *c;
    }
    (void)snprintf(text, sizeof text, "rank %d on %s", out->rank, host);
    add_metadata(out, "process", 0, text, (uint32_t)out->rank);
    add_metadata(out, "thread", 0, "requests", 4000);
    for (uint32_t i = 0; i < all->n_threads; i++) {
        name_lane(out, &story->lanes[i], i + 1);
    }
    add_metadata(out, "thread", all->n_threads + 1, "NIC: posts and doorbells", 2000);
    add(out,
        "{\"name\":\"mpixq_rank\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"records_lost\":%" PRIu64
        ",\"clock_error_us\":%s}},\n",
        out->rank, all->n_lost + mpixq_trace_cut(all), stamp_ns((int64_t)out->error).text);
}

static const char *describe(const struct mpixq_trace_life *life, char text[NAME])
{
    const struct mpixq_trace_match *made = &life->made;
    const char *verb = made->is_send ? "send to" : "receive from";
    char peer[24], tag[24];

    (void)snprintf(peer, sizeof peer, "%d", made->peer);
    (void)snprintf(tag, sizeof tag, "%d", made->tag);
    (void)snprintf(text, NAME, "%s %s tag %s", verb,
                   made->peer == MPI_PROC_NULL    ? "MPI_PROC_NULL"
                   : made->peer == MPI_ANY_SOURCE ? "any"
                                                  : peer,
                   made->tag == MPI_ANY_TAG ? "any" : tag);
    return text;
}

/* An event of a request, whose name among all ranks goes before what else it has. */
static void add_life(struct mpixq_trace_out *out, const char *name, const char *kind,
                     const char *category, const struct mpixq_trace_life *life, uint64_t ticks)
{
    add_event(out, name, kind, category, 0, ticks);
    add(out, ",\"id\":\"0x%x%08x\",\"args\":{\"request\":%u", (unsigned)out->rank, life->number,
        life->number);
}

void mpixq_trace_out_match(struct mpixq_trace_out *out, const struct mpixq_trace_life *life,
                           uint64_t ticks, bool begins, bool is_matched)
{
    const struct mpixq_channel *channel = mpixq_channel_by_id(life->made.channel);
    char name[NAME];

    add_life(out, "match", begins ? "b" : "e", "match", life, ticks);
    if (begins) {
        add(out, ",\"what\":\"%s\"}},\n", describe(life, name));
    } else if (!is_matched) {
        add(out, ",\"matched\":false}},\n");
    } else {
        add(out,
            ",\"matched\":true,\"what\":\"%s\",\"send\":%s,\"peer\":%d,\"bytes\":%" PRIu64
            ",\"channel\":\"%s\"}},\n",
            describe(life, name), life->made.is_send ? "true" : "false", life->made.peer_world,
            life->made.bytes, channel != NULL ? channel->name : "none");
    }
}

void mpixq_trace_out_start(struct mpixq_trace_out *out, const struct mpixq_trace_life *life,
                           uint64_t ticks, bool begins, bool was_seen)
{
    char name[NAME];

    add_life(out, describe(life, name), begins ? "b" : "e", "request", life, ticks);
    add(out, ",\"start\":%" PRIu64, life->started);
    if (begins) {
        add(out, ",\"queue\":%" PRIu64 ",\"peer\":%d}},\n", life->queue, life->made.peer_world);
    } else {
        add(out, "%s}},\n", was_seen ? "" : ",\"seen\":false");
    }
}

static void add_span(struct mpixq_trace_out *out, const struct mpixq_trace_record *record,
                     uint32_t thread, const char *category)
{
    uint64_t began = mpixq_trace_began(record);
    uint64_t ns = mpixq_trace_ns(record->ticks) - mpixq_trace_ns(began);

    add_event(out, names[record->kind], "X", category, thread + 1, began);
    add(out, ",\"dur\":%s,\"args\":{\"n\":%u", stamp_ns((int64_t)ns).text, record->n);
}

/* The number of a request of a call, behind those before it. */
static void add_number(struct mpixq_story *story, uint64_t who, const char **before_p)
{
    const struct mpixq_trace_life *life;

    HASH_FIND(hh, story->by_who, &who, sizeof who, life);
    if (life != NULL) {
        add(story->out, "%s%u", *before_p, life->number);
        *before_p = ",";
    }
}

void mpixq_trace_out_call(struct mpixq_story *story, const struct mpixq_trace_record *record,
                          uint32_t thread)
{
    bool is_one = record->kind == MPIXQ_TRACE_START || record->kind == MPIXQ_TRACE_WAIT;
    uint64_t queue = is_one ? record->n : record->who;
    uint32_t n = is_one ? 1 : record->n;
    struct mpixq_trace_out *out = story->out;
    const char *before = "";

    add_event(out, names[record->kind], "i", "call", thread + 1, record->ticks);
    add(out, ",\"s\":\"t\",\"args\":{\"n\":%u,\"queue\":%" PRIu64 ",\"requests\":[", n, queue);
    for (uint32_t i = 0; i < n; i++) {
        add_number(story, is_one ? record->who : mpixq_trace_request_of(record, i), &before);
    }
    add(out, "]}},\n");
}

/* Who came last was waited for. */
static void add_last(struct mpixq_trace_out *out, const struct mpixq_trace_lane *lane)
{
    const struct mpixq_trace_life *life = lane->marks[lane->n_marks - 1].life;
    char name[NAME];

    add(out, ",\"queue\":%" PRIu64 ",\"last\":\"%s\",\"request\":%u,\"peer\":%d", life->queue,
        describe(life, name), life->number, life->made.peer_world);
}

void mpixq_trace_out_span(struct mpixq_trace_out *out, const struct mpixq_trace_record *record,
                          const struct mpixq_trace_lane *lane, uint32_t thread)
{
    bool is_call = record->kind != MPIXQ_TRACE_RAN && record->kind != MPIXQ_TRACE_WAITED;

    add_span(out, record, thread, is_call ? "call" : "stream");
    if (record->kind == MPIXQ_TRACE_WAITED && lane->n_marks > 0) {
        add_last(out, lane);
    } else if (lane->n_marks > 0) {
        add(out, ",\"queue\":%" PRIu64, lane->marks[0].life->queue);
    } else {
        add(out, ",\"queue\":%" PRIu64, record->who);
    }
    add(out, "}},\n");
}

/* One number for a transfer, made by both ends of what both know (SplitMix64). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void mpixq_trace_out_mark(struct mpixq_trace_out *out, const struct mpixq_trace_mark *mark,
                          uint32_t thread)
{
    const struct mpixq_trace_match *made = &mark->life->made;
    int sender = made->is_send ? out->rank : made->peer_world;
    uint64_t id = mix(mix((uint64_t)sender, made->is_send ? made->id : made->peer_id), mark->start);
    struct mpixq_trace_tie *tie;

    HASH_FIND(hh, out->ties, &made->id, sizeof made->id, tie);
    if (made->id == 0 || tie == NULL || mark->start > tie->n) {
        return;
    }
    add_event(out, "message", made->is_send ? "s" : "f", "message", thread + 1, mark->ticks);
    add(out, ",\"id\":\"0x%" PRIx64 "\"%s},\n", id, made->is_send ? "" : ",\"bp\":\"e\"");
}

void mpixq_trace_out_nic(struct mpixq_trace_out *out, const struct mpixq_trace_record *record,
                         const struct mpixq_trace_life *life, uint32_t n_threads)
{
    static const char *const posts[] = {[MPIXQ_TRACE_WRITE] = "write",
                                        [MPIXQ_TRACE_TELL] = "notice of delivery",
                                        [MPIXQ_TRACE_CTS] = "clear-to-send",
                                        [MPIXQ_TRACE_COMPLETION] = "completion",
                                        [MPIXQ_TRACE_RELEASE] = "release"};
    char name[NAME];

    if (record->kind == MPIXQ_TRACE_RANG) {
        (void)snprintf(name, sizeof name, "ring");
    } else {
        (void)snprintf(name, sizeof name, "%s %s",
                       record->more >= MPIXQ_TRACE_PLAIN ? "issue" : "post",
                       posts[record->more % MPIXQ_TRACE_PLAIN]);
    }
    add_event(out, name, "i", "nic", n_threads + 1, record->ticks);
    add(out, ",\"s\":\"t\",\"args\":{");
    if (record->kind == MPIXQ_TRACE_RANG) {
        add(out, "\"n\":%u,\"queue\":%" PRIu64 "}},\n", record->n, record->who);
    } else {
        add(out, "\"request\":%u,\"queue\":%u}},\n", life != NULL ? life->number : 0, record->n);
    }
}
