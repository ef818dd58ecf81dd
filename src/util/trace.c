/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Making the records. */
#include "trace.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "affinity.h"
#include "alloc.h"
#include "env.h"
#include "log.h"
#include "thread.h"
#include "trace_read.h"

_Static_assert(sizeof(struct mpixq_trace_record) == 24, "three words in a slot");
_Static_assert(sizeof(struct mpixq_trace_chunk) == 16384, "chunks of 16 KiB");

struct mpixq_tracing mpixq_tracing = {.end_ticks = UINT64_MAX};
/* A thread that has no chunk yet has no room. */
MPIXQ_THREAD_LOCAL struct mpixq_trace_room mpixq_trace_room;

/* There is no room for records of now. */
static void lose(uint64_t ticks, uint32_t n)
{
    uint64_t end = atomic_load(&mpixq_tracing.end_ticks);

    atomic_fetch_add(&mpixq_tracing.n_lost, n);
    while (ticks < end && !atomic_compare_exchange_weak(&mpixq_tracing.end_ticks, &end, ticks)) {
    }
}

/* The next chunk, for so many slots of n records. */
__attribute__((cold, noinline)) static struct mpixq_trace_record *
take_chunk(uint32_t slots, uint64_t ticks, uint32_t n)
{
    uint32_t i = atomic_load(&mpixq_tracing.n_taken);

    do {
        if (i >= mpixq_tracing.n_chunks) {
            lose(ticks, n);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&mpixq_tracing.n_taken, &i, i + 1));
    if (mpixq_trace_room.number == 0) {
        mpixq_trace_room.number = atomic_fetch_add(&mpixq_tracing.n_threads, 1) + 1;
    }
    mpixq_tracing.chunks[i].thread = mpixq_trace_room.number - 1;
    mpixq_tracing.chunks[i].name = mpixq_affinity_name();
    mpixq_trace_room.next = mpixq_tracing.chunks[i].slots + slots;
    mpixq_trace_room.end = mpixq_tracing.chunks[i].slots + MPIXQ_TRACE_SLOTS;
    mpixq_trace_room.quick_end = mpixq_tracing.has_ticks ? mpixq_trace_room.end : NULL;
    return mpixq_tracing.chunks[i].slots;
}

struct mpixq_trace_record *mpixq_trace_take(uint32_t slots, uint64_t ticks, uint32_t n)
{
    struct mpixq_trace_record *record = mpixq_trace_room.next;

    if (__builtin_expect(mpixq_trace_room.end - record < (ptrdiff_t)slots, false)) {
        return take_chunk(slots, ticks, n);
    }
    mpixq_trace_room.next = record + slots;
    return record;
}

void mpixq_trace_note(enum mpixq_trace_kind kind, uint64_t who, uint32_t n, unsigned more)
{
    uint64_t now = mpixq_trace_clock();
    struct mpixq_trace_record *record = mpixq_trace_take(1, now, 1);

    if (record != NULL) {
        *record = (struct mpixq_trace_record){
            .ticks = now, .who = who, .n = n, .kind = (uint8_t)kind, .more = (uint8_t)more};
    }
}

void mpixq_trace_note_span(enum mpixq_trace_kind kind, uint64_t who, uint64_t begin, uint32_t n)
{
    uint64_t now = mpixq_trace_clock();
    struct mpixq_trace_record *record = mpixq_trace_take(2, now, 1);

    if (record != NULL) {
        *record = (struct mpixq_trace_record){
            .ticks = now, .who = who, .n = n, .kind = (uint8_t)kind, .slots = 1};
        record[1].ticks = begin;
    }
}

void mpixq_trace_note_stream_begins(void)
{
    mpixq_trace_room.begin = mpixq_trace_clock();
}

void mpixq_trace_note_stream_ends(enum mpixq_trace_kind kind, int n)
{
    mpixq_trace_note_span(kind, 0, mpixq_trace_room.begin, (uint32_t)n);
}

/* Records name a pair by its address. */
void mpixq_trace_note_pair(enum mpixq_trace_kind kind, const struct mpixq_pair *pair)
{
    mpixq_trace_note(kind, (uint64_t)(uintptr_t)pair, 1, 0);
}

/* Does the kernel make its clock from the counter that we can read? */
static bool has_ticks(void)
{
    char name[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return name[0] != '\0' && strcmp(name, MPIXQ_TICKS_CLOCK) == 0;
}

/* Both clocks at once: the pair of readings that took least, of some. */
static struct mpixq_trace_moment look(void)
{
    enum { LOOKS = 20 };
    struct mpixq_trace_moment best = {.ns = 0};
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < LOOKS; i++) {
        uint64_t before = mpixq_trace_clock(), ns = mpixq_now_ns(), after = mpixq_trace_clock();

        if (after - before < least) {
            least = after - before;
            best = (struct mpixq_trace_moment){.ticks = before + least / 2, .ns = ns};
        }
    }
    return best;
}

void mpixq_trace_open(void)
{
    size_t bytes = (size_t)mpixq_env.trace_kib * 1024;

    mpixq_tracing.n_chunks = (uint32_t)(bytes / sizeof *mpixq_tracing.chunks);
    /* Freed in mpixq_trace_close. */
    mpixq_tracing.chunks =
        mpixq_alloc_aligned(64, mpixq_tracing.n_chunks * sizeof *mpixq_tracing.chunks);
    if (mpixq_tracing.chunks == NULL) {
        mpixq_warn("no memory for MPIXQ_TRACE: %ld KiB; nothing is traced", mpixq_env.trace_kib);
        return;
    }
    memset(mpixq_tracing.chunks, 0,
           mpixq_tracing.n_chunks *
               sizeof *mpixq_tracing.chunks); /* so that it is there when it is written to */
    mpixq_tracing.has_ticks = has_ticks();
    mpixq_tracing.first = look();
    mpixq_tracing.is_on = true;
}

bool mpixq_trace_is_open(void)
{
    return mpixq_tracing.chunks != NULL;
}

void mpixq_trace_stop(void)
{
    mpixq_tracing.is_on = false;
    mpixq_tracing.last = look();
}

void mpixq_trace_close(void)
{
    mpixq_free(mpixq_tracing.chunks);
    mpixq_tracing.chunks = NULL;
}

struct mpixq_trace_all mpixq_trace_all(void)
{
    return (struct mpixq_trace_all){
        .chunks = mpixq_tracing.chunks,
        .n_chunks = mpixq_tracing.chunks != NULL ? atomic_load(&mpixq_tracing.n_taken) : 0,
        .n_threads = atomic_load(&mpixq_tracing.n_threads),
        .first_ticks = mpixq_tracing.first.ticks,
        .end_ticks = atomic_load(&mpixq_tracing.end_ticks),
        .n_lost = atomic_load(&mpixq_tracing.n_lost)};
}

uint64_t mpixq_trace_ns(uint64_t ticks)
{
    double rate;

    if (!mpixq_tracing.has_ticks || mpixq_tracing.last.ticks == mpixq_tracing.first.ticks) {
        return ticks;
    }
    rate = (double)(mpixq_tracing.last.ns - mpixq_tracing.first.ns) /
           (double)(mpixq_tracing.last.ticks - mpixq_tracing.first.ticks);
    return mpixq_tracing.first.ns +
           (uint64_t)(int64_t)((double)(int64_t)(ticks - mpixq_tracing.first.ticks) * rate);
}
