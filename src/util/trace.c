/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Making the records. */
#include "trace.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "env.h"
#include "log.h"
#include "thread.h"
#include "trace_read.h"

_Static_assert(sizeof(struct mpixq_trace_record) == 24, "three words in a slot");
_Static_assert(sizeof(struct mpixq_trace_chunk) == 16384, "chunks of 16 KiB");

bool mpixq_trace_on;
bool mpixq_trace_has_ticks;

/* When the clock was looked at by both. */
struct moment {
    uint64_t ticks, ns;
};

static struct {
    /* Constant while something is traced. */
    struct mpixq_trace_chunk *chunks;
    uint32_t n_chunks;
    struct moment first, last;
    atomic_uint n_taken, n_threads;
    _Atomic uint64_t n_lost, end_ticks;
} room = {.end_ticks = UINT64_MAX};

/* A thread that has no chunk yet has no room. */
MPIXQ_THREAD_LOCAL struct mpixq_trace_room mpixq_trace_room;
static MPIXQ_THREAD_LOCAL struct {
    uint32_t number; /* 1 more than it is; 0: none yet */
    uint64_t begin;
} own;

/* There is no room for records of now. */
static void lose(uint64_t ticks, uint32_t n)
{
    uint64_t end = atomic_load(&room.end_ticks);

    atomic_fetch_add(&room.n_lost, n);
    while (ticks < end && !atomic_compare_exchange_weak(&room.end_ticks, &end, ticks)) {
    }
}

/* The next chunk, for so many slots of n records. */
__attribute__((cold, noinline)) static struct mpixq_trace_record *
take_chunk(uint32_t slots, uint64_t ticks, uint32_t n)
{
    uint32_t i = atomic_load(&room.n_taken);

    do {
        if (i >= room.n_chunks) {
            lose(ticks, n);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&room.n_taken, &i, i + 1));
    if (own.number == 0) {
        own.number = atomic_fetch_add(&room.n_threads, 1) + 1;
    }
    room.chunks[i].thread = own.number - 1;
    room.chunks[i].name = mpixq_thread_name;
    mpixq_trace_room.next = room.chunks[i].slots + slots;
    mpixq_trace_room.end = room.chunks[i].slots + MPIXQ_TRACE_SLOTS;
    mpixq_trace_room.quick_end = mpixq_trace_has_ticks ? mpixq_trace_room.end : NULL;
    return room.chunks[i].slots;
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
    own.begin = mpixq_trace_clock();
}

void mpixq_trace_note_stream_ends(enum mpixq_trace_kind kind, int n)
{
    mpixq_trace_note_span(kind, 0, own.begin, (uint32_t)n);
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
static struct moment look(void)
{
    enum { LOOKS = 20 };
    struct moment best = {.ns = 0};
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < LOOKS; i++) {
        uint64_t before = mpixq_trace_clock(), ns = mpixq_now_ns(), after = mpixq_trace_clock();

        if (after - before < least) {
            least = after - before;
            best = (struct moment){.ticks = before + least / 2, .ns = ns};
        }
    }
    return best;
}

void mpixq_trace_open(void)
{
    size_t bytes = (size_t)mpixq_env.trace_kib * 1024;

    room.n_chunks = (uint32_t)(bytes / sizeof *room.chunks);
    /* Freed in mpixq_trace_close. */
    room.chunks = mpixq_alloc_aligned(64, room.n_chunks * sizeof *room.chunks);
    if (room.chunks == NULL) {
        mpixq_warn("no memory for MPIXQ_TRACE: %ld KiB; nothing is traced", mpixq_env.trace_kib);
        return;
    }
    memset(room.chunks, 0,
           room.n_chunks * sizeof *room.chunks); /* so that it is there when it is written to */
    mpixq_trace_has_ticks = has_ticks();
    room.first = look();
    mpixq_trace_on = true;
}

bool mpixq_trace_is_open(void)
{
    return room.chunks != NULL;
}

void mpixq_trace_stop(void)
{
    mpixq_trace_on = false;
    room.last = look();
}

void mpixq_trace_close(void)
{
    mpixq_free(room.chunks);
    room.chunks = NULL;
}

struct mpixq_trace_all mpixq_trace_all(void)
{
    return (struct mpixq_trace_all){.chunks = room.chunks,
                                    .n_chunks =
                                        room.chunks != NULL ? atomic_load(&room.n_taken) : 0,
                                    .n_threads = atomic_load(&room.n_threads),
                                    .first_ticks = room.first.ticks,
                                    .end_ticks = atomic_load(&room.end_ticks),
                                    .n_lost = atomic_load(&room.n_lost)};
}

uint64_t mpixq_trace_ns(uint64_t ticks)
{
    double rate;

    if (!mpixq_trace_has_ticks || room.last.ticks == room.first.ticks) {
        return ticks;
    }
    rate = (double)(room.last.ns - room.first.ns) / (double)(room.last.ticks - room.first.ticks);
    return room.first.ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - room.first.ticks) * rate);
}
