/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The life of host streams, and the side of their rings that submits and waits. */
#include "host_stream.h"

#include <stddef.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "host_ring.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/mpi_turns.h"
#include "util/thread.h"
#include "util/trace.h"

/* A waiter looks by itself this often: the executing thread checks the target without a fence,
 * which would cost each operation more than the rare waiter that is missed. */
#define RECHECK_NS 2000000

/* All live ones. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_host_stream *first;
} live = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_HOST_STREAMS)};

/* Submitting. */

static bool has_room(const struct mpixq_host_stream *stream, uint64_t position)
{
    return position - atomic_load_explicit(&stream->head, memory_order_acquire) <= stream->mask;
}

void mpixq_host_stream_sleep(struct mpixq_host_stream *stream, uint64_t position,
                             const atomic_int *failed)
{
    mpixq_mpi_rest();
    mpixq_lock_acquire(&stream->lock);
    while (!mpixq_has_passed(stream, position) && (failed == NULL || atomic_load(failed) == 0)) {
        if (position < atomic_load_explicit(&stream->target, memory_order_relaxed)) {
            atomic_store_explicit(&stream->target, position, memory_order_relaxed);
        }
        (void)mpixq_cond_wait_ns(&stream->passed, &stream->lock, RECHECK_NS);
    }
    mpixq_lock_release(&stream->lock);
    mpixq_mpi_resume();
}

/* Whoever claims looks at asleep afterwards. */
static void wake_if_asleep(struct mpixq_host_stream *stream)
{
    if (atomic_load(&stream->asleep)) {
        mpixq_lock_acquire(&stream->lock);
        pthread_cond_signal(&stream->submitted);
        mpixq_lock_release(&stream->lock);
    }
}

/* Once the ring is full the caller sleeps until half of it is free: one that took each place as it
 * became free would spin beside the executing thread, and where there is no core to spare cost it
 * half of its own. */
static void wait_for_room(struct mpixq_host_stream *stream, uint64_t position)
{
    while (!has_room(stream, position)) {
        wake_if_asleep(stream); /* what fills the ring may be the start of this submission */
        mpixq_host_stream_sleep(stream, position - (stream->mask + 1) / 2, NULL);
    }
}

/* Claim n positions; returns the first. Each of them is then to be filled, in order. */
static uint64_t claim(struct mpixq_host_stream *stream, int n)
{
    return atomic_fetch_add(&stream->tail, (uint64_t)n);
}

static void fill(struct mpixq_slot *slot, int more, uint64_t position)
{
    slot->more = more;
    atomic_store_explicit(&slot->filled, position + 1, memory_order_release);
}

/* What fills n positions, the first of which is this. Of a start only what the executing thread
 * reads is copied. */
static inline void put_starts(struct mpixq_host_stream *stream, uint64_t position,
                              const struct mpixq_op list[], int n, bool is_roomy)
{
    struct mpixq_slot *ring = stream->ring;
    const uint64_t mask = stream->mask;

    for (int more = n - 1; more >= 0; more--) {
        struct mpixq_slot *slot = &ring[position & mask];

        if (!is_roomy) {
            wait_for_room(stream, position);
        }
        memcpy(&slot->op, list, offsetof(struct mpixq_op, gpu));
        list++;
        fill(slot, more, position++);
    }
}

static inline void put_waits(struct mpixq_host_stream *stream, uint64_t position,
                             const struct mpixq_op list[], int n, bool is_roomy)
{
    struct mpixq_slot *ring = stream->ring;
    const uint64_t mask = stream->mask;

    for (int more = n - 1; more >= 0; more--) {
        struct mpixq_slot *slot = &ring[position & mask];

        if (!is_roomy) {
            wait_for_room(stream, position);
        }
        slot->op = *list;
        list++;
        fill(slot, more, position++);
    }
}

static inline void put(struct mpixq_host_stream *stream, uint64_t position,
                       const struct mpixq_op list[], int n, bool is_roomy)
{
    if (mpixq_op_is_wait(list)) {
        put_waits(stream, position, list, n, is_roomy);
    } else {
        put_starts(stream, position, list, n, is_roomy);
    }
}

/* The same where the ring is full; apart, so that what is usual has nothing to do with it. */
__attribute__((cold, noinline)) static void wait_and_put(struct mpixq_host_stream *stream,
                                                         uint64_t position,
                                                         const struct mpixq_op list[], int n,
                                                         struct mpixq_submission *submission)
{
    uint64_t begin = mpixq_trace_begin();

    mpixq_submission_lend(submission);
    put(stream, position, list, n, false);
    mpixq_trace_span(MPIXQ_TRACE_FULL, 0, begin, n);
    mpixq_submission_reclaim(submission);
}

static uint64_t host_submit(struct mpixq_stream *base, struct mpixq_op list[], int n,
                            struct mpixq_submission *submission)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    uint64_t position = claim(stream, n), ticket = position + (uint64_t)n;

    if (has_room(stream, ticket - 1)) {
        put(stream, position, list, n, true);
    } else {
        wait_and_put(stream, position, list, n, submission);
    }
    wake_if_asleep(stream);
    return ticket;
}

void mpixq_host_stream_launch(struct mpixq_host_stream *stream, void (*fn)(void *), void *arg)
{
    uint64_t position = claim(stream, 1);
    struct mpixq_slot *slot = mpixq_slot_at(stream, position);

    wait_for_room(stream, position);
    slot->op.kind = MPIXQ_OP_RUN;
    slot->op.u.run = fn;
    slot->op.arg = arg;
    fill(slot, 0, position);
    wake_if_asleep(stream);
}

/* Waiting. */

static uint64_t host_depth(const struct mpixq_stream *base)
{
    return ((const struct mpixq_host_stream *)base)->mask + 1;
}

static const void *host_waits_for(const struct mpixq_stream *base)
{
    return atomic_load_explicit(&((const struct mpixq_host_stream *)base)->waits_for,
                                memory_order_acquire);
}

static void *host_handle(struct mpixq_stream *base)
{
    return base;
}

static const void *host_identity(const struct mpixq_stream *base)
{
    return base;
}

static bool host_passed(const struct mpixq_stream *base, uint64_t position)
{
    return mpixq_has_passed((const struct mpixq_host_stream *)base, position);
}

static bool host_is_ahead(const struct mpixq_stream *base, uint64_t position)
{
    (void)base;
    (void)position;
    return false; /* its thread is all there is */
}

static void host_synchronize(struct mpixq_stream *base, uint64_t position, const atomic_int *failed)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;

    if (!mpixq_has_passed(stream, position) &&
        !mpixq_host_stream_peek(&stream->for_passing, stream, position, mpixq_has_passed)) {
        mpixq_host_stream_sleep(stream, position, failed);
    }
}

void mpixq_host_stream_synchronize(struct mpixq_host_stream *stream)
{
    host_synchronize(&stream->base, atomic_load_explicit(&stream->tail, memory_order_acquire),
                     NULL);
}

bool mpixq_host_stream_is_idle(const struct mpixq_host_stream *stream)
{
    return mpixq_has_passed(stream, atomic_load_explicit(&stream->tail, memory_order_acquire));
}

/* The life of streams. */

bool mpixq_host_stream_is_live(const struct mpixq_host_stream *stream)
{
    const struct mpixq_host_stream *s;

    mpixq_lock_acquire(&live.lock);
    LL_FOREACH(live.first, s)
    {
        if (s == stream) {
            break;
        }
    }
    mpixq_lock_release(&live.lock);
    return s != NULL;
}

static bool host_is_live(const struct mpixq_stream_kind *kind, const void *handle)
{
    (void)kind;
    return mpixq_host_stream_is_live(handle);
}

static void stream_free(struct mpixq_host_stream *stream)
{
    mpixq_lock_destroy(&stream->lock);
    pthread_cond_destroy(&stream->submitted);
    pthread_cond_destroy(&stream->passed);
    mpixq_free(stream->ring);
    mpixq_free(stream);
}

/* Round up to a power of two, so that a position's place in the ring is a mask away. */
static uint64_t ring_size(void)
{
    uint64_t size = 64;

    while (size < (uint64_t)mpixq_env.host_stream_depth) {
        size *= 2;
    }
    return size;
}

struct mpixq_host_stream *mpixq_host_stream_create(enum mpixq_error *error_p)
{
    struct mpixq_host_stream *stream =
        mpixq_alloc_aligned(_Alignof(struct mpixq_host_stream), sizeof *stream);
    uint64_t size = ring_size();

    *error_p = MPIXQ_E_NO_MEMORY;
    if (stream == NULL) {
        return NULL;
    }
    stream->base.ops = mpixq_host_stream_kind.ops;
    stream->base.kind = &mpixq_host_stream_kind;
    stream->mask = size - 1;
    atomic_init(&stream->target, MPIXQ_NOBODY);
    mpixq_lock_init(&stream->lock, MPIXQ_RANK_HOST_STREAM);
    pthread_cond_init(&stream->submitted, NULL);
    mpixq_cond_init(&stream->passed);
    stream->ring = mpixq_alloc(size * sizeof *stream->ring); /* both freed in stream_free */
    if (stream->ring == NULL) {
        stream_free(stream);
        return NULL;
    }
    if (!mpixq_thread_create(&stream->thread, mpixq_host_stream_main, stream, "mpixq-stream")) {
        *error_p = MPIXQ_E_NO_THREAD;
        stream_free(stream);
        return NULL;
    }
    mpixq_lock_acquire(&live.lock);
    LL_PREPEND(live.first, stream);
    mpixq_lock_release(&live.lock);
    *error_p = MPIXQ_E_NONE;
    return stream;
}

enum mpixq_error mpixq_host_stream_destroy(struct mpixq_host_stream *stream)
{
    bool busy;

    mpixq_lock_acquire(&stream->lock);
    busy = stream->users > 0;
    mpixq_lock_release(&stream->lock);
    if (busy) {
        return MPIXQ_E_STREAM_BUSY;
    }
    mpixq_lock_acquire(&live.lock);
    LL_DELETE(live.first, stream);
    mpixq_lock_release(&live.lock);
    mpixq_lock_acquire(&stream->lock);
    stream->stop = true; /* what is in the ring is still executed */
    pthread_cond_signal(&stream->submitted);
    mpixq_lock_release(&stream->lock);
    mpixq_mpi_rest();
    (void)pthread_join(stream->thread, NULL);
    mpixq_mpi_resume();
    stream_free(stream);
    return MPIXQ_E_NONE;
}

static struct mpixq_stream *host_open(const struct mpixq_stream_kind *kind, void *handle,
                                      const atomic_int *failed, struct mpixq_refusal *refusal)
{
    struct mpixq_host_stream *stream = handle;
    enum mpixq_error error = MPIXQ_E_NONE;

    (void)kind;
    (void)failed; /* what waits names its own */
    if (stream == NULL) {
        stream = mpixq_host_stream_create(&error);
        *refusal = (struct mpixq_refusal){.error = (int)error};
    }
    if (stream == NULL) {
        return NULL;
    }
    mpixq_lock_acquire(&stream->lock);
    stream->users++;
    stream->is_owned = stream->is_owned || handle == NULL;
    mpixq_lock_release(&stream->lock);
    return &stream->base;
}

static void host_close(struct mpixq_stream *base)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    bool is_over;

    mpixq_lock_acquire(&stream->lock);
    is_over = --stream->users == 0 && stream->is_owned;
    mpixq_lock_release(&stream->lock);
    if (is_over) {
        (void)mpixq_host_stream_destroy(stream);
    }
}

static const char *host_how(const struct mpixq_stream *base)
{
    (void)base;
    return "thread";
}

static int host_admits(const struct mpixq_stream *base)
{
    (void)base;
    return MPIXQ_E_NONE;
}

static const char *host_broken(const struct mpixq_stream *base)
{
    (void)base;
    return NULL;
}

/* The worker sees it. */
static void host_halt(struct mpixq_stream *base)
{
    (void)base;
}

static void *host_map(const struct mpixq_stream_kind *kind, void *memory, size_t bytes, bool is_io)
{
    (void)kind;
    (void)bytes;
    (void)is_io;
    return memory;
}

static void host_unmap(const struct mpixq_stream_kind *kind, void *memory)
{
    (void)kind;
    (void)memory;
}

int mpixq_host_streams_close(void)
{
    int n = 0;

    while (live.first != NULL) {
        n++;
        (void)mpixq_host_stream_destroy(live.first);
    }
    return n;
}

static const struct mpixq_stream_ops ops = {
    .copies = false,
    .is_live = host_is_live,
    .open = host_open,
    .close = host_close,
    .how = host_how,
    .admits = host_admits,
    .may_wait = host_admits,
    .broken = host_broken,
    .submit = host_submit,
    .halt = host_halt,
    .map = host_map,
    .unmap = host_unmap,
    .depth = host_depth,
    .waits_for = host_waits_for,
    .handle = host_handle,
    .identity = host_identity,
    .passed = host_passed,
    .is_ahead = host_is_ahead,
    .synchronize = host_synchronize,
};

const struct mpixq_stream_kind mpixq_host_stream_kind = {.name = "mpix_host_stream", .ops = &ops};
