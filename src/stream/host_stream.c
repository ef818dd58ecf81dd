/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The life of host streams, and the side of their rings that submits and waits. */
#include "host_stream.h"

#include <stddef.h>
#include <time.h>
#include <utlist.h>

#include "core/alloc.h"
#include "core/env.h"
#include "core/thread.h"
#include "host_ring.h"

/* A waiter looks by itself this often: the executing thread checks the target without a fence,
 * which would cost each operation more than the rare waiter that is missed. */
#define RECHECK_NS 2000000

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpixq_host_stream *streams; /* all live ones */

/* Submitting. */

static bool has_room(const struct mpixq_host_stream *stream, uint64_t position)
{
    return position - atomic_load_explicit(&stream->head, memory_order_acquire) <= stream->mask;
}

static struct timespec recheck_time(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += RECHECK_NS;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

void mpixq_host_stream_sleep(struct mpixq_host_stream *stream, uint64_t position,
                             const atomic_int *failed)
{
    struct timespec until;

    pthread_mutex_lock(&stream->lock);
    while (!mpixq_has_passed(stream, position) && (failed == NULL || atomic_load(failed) == 0)) {
        if (position < atomic_load_explicit(&stream->target, memory_order_relaxed)) {
            atomic_store_explicit(&stream->target, position, memory_order_relaxed);
        }
        until = recheck_time();
        (void)pthread_cond_timedwait(&stream->passed, &stream->lock, &until);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* Whoever claims looks at asleep afterwards. */
static void wake_if_asleep(struct mpixq_host_stream *stream)
{
    if (atomic_load(&stream->asleep)) {
        pthread_mutex_lock(&stream->lock);
        pthread_cond_signal(&stream->submitted);
        pthread_mutex_unlock(&stream->lock);
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

/* Roomy: it is known that there is room. */
static struct mpixq_slot *slot_to_fill(struct mpixq_host_stream *stream, uint64_t position,
                                       bool is_roomy)
{
    if (!is_roomy) {
        wait_for_room(stream, position);
    }
    return mpixq_slot_at(stream, position);
}

static void fill(struct mpixq_slot *slot, enum mpixq_operation operation, int more,
                 uint64_t position)
{
    slot->operation = operation;
    slot->more = more;
    atomic_store_explicit(&slot->filled, position + 1, memory_order_release);
}

static uint64_t host_trigger(struct mpixq_stream *base, const struct mpixq_trigger *triggers, int n)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    uint64_t position = claim(stream, n);
    bool is_roomy = has_room(stream, position + (uint64_t)n - 1);

    for (int more = n - 1; more >= 0; more--, position++) {
        struct mpixq_slot *slot = slot_to_fill(stream, position, is_roomy);

        slot->u.trigger = *triggers++;
        fill(slot, MPIXQ_TRIGGER, more, position);
    }
    wake_if_asleep(stream);
    return position;
}

static uint64_t host_await(struct mpixq_stream *base, const struct mpixq_awaited *awaited, int n)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    uint64_t position = claim(stream, n);
    bool is_roomy = has_room(stream, position + (uint64_t)n - 1);

    for (int more = n - 1; more >= 0; more--, position++) {
        struct mpixq_slot *slot = slot_to_fill(stream, position, is_roomy);

        slot->u.awaited = *awaited++;
        fill(slot, MPIXQ_AWAIT, more, position);
    }
    wake_if_asleep(stream);
    return position;
}

void mpixq_host_stream_launch(struct mpixq_host_stream *stream, void (*fn)(void *), void *arg)
{
    uint64_t position = claim(stream, 1);
    struct mpixq_slot *slot = slot_to_fill(stream, position, false);

    slot->u.function.fn = fn;
    slot->u.function.arg = arg;
    fill(slot, MPIXQ_RUN_FUNCTION, 0, position);
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

    if (!mpixq_has_passed(stream, position)) {
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

    pthread_mutex_lock(&list_lock);
    LL_FOREACH(streams, s)
    {
        if (s == stream) {
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
    return s != NULL;
}

static bool host_is_live(const void *handle)
{
    return mpixq_host_stream_is_live(handle);
}

static void stream_free(struct mpixq_host_stream *stream)
{
    pthread_mutex_destroy(&stream->lock);
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
    stream->base.ops = &mpixq_host_stream_ops;
    stream->mask = size - 1;
    atomic_init(&stream->target, MPIXQ_NOBODY);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->submitted, NULL);
    pthread_cond_init(&stream->passed, NULL);
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
    pthread_mutex_lock(&list_lock);
    LL_PREPEND(streams, stream);
    pthread_mutex_unlock(&list_lock);
    *error_p = MPIXQ_E_NONE;
    return stream;
}

enum mpixq_error mpixq_host_stream_destroy(struct mpixq_host_stream *stream)
{
    bool busy;

    pthread_mutex_lock(&stream->lock);
    busy = stream->users > 0;
    pthread_mutex_unlock(&stream->lock);
    if (busy) {
        return MPIXQ_E_STREAM_BUSY;
    }
    pthread_mutex_lock(&list_lock);
    LL_DELETE(streams, stream);
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_lock(&stream->lock);
    stream->stop = true; /* what is in the ring is still executed */
    pthread_cond_signal(&stream->submitted);
    pthread_mutex_unlock(&stream->lock);
    (void)pthread_join(stream->thread, NULL);
    stream_free(stream);
    return MPIXQ_E_NONE;
}

static struct mpixq_stream *host_open(void *handle, const atomic_int *failed,
                                      struct mpixq_refusal *refusal)
{
    struct mpixq_host_stream *stream = handle;
    enum mpixq_error error = MPIXQ_E_NONE;

    (void)failed; /* what waits names its own */
    if (stream == NULL) {
        stream = mpixq_host_stream_create(&error);
        *refusal = (struct mpixq_refusal){.error = (int)error};
    }
    if (stream == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&stream->lock);
    /* A stream that the queue owns has no user whom a queue could keep from destroying it. */
    stream->users += handle != NULL;
    pthread_mutex_unlock(&stream->lock);
    return &stream->base;
}

static void host_close(struct mpixq_stream *base)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    bool owned;

    pthread_mutex_lock(&stream->lock);
    owned = stream->users == 0;
    stream->users -= !owned;
    pthread_mutex_unlock(&stream->lock);
    if (owned) {
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

static void host_by_gpu(struct mpixq_stream *base, const struct mpixq_by_gpu *work)
{
    (void)base;
    (void)work;
}

/* The worker sees it. */
static void host_halt(struct mpixq_stream *base)
{
    (void)base;
}

/* It blocks nobody. */
static bool host_any_waits(void)
{
    return false;
}

static bool host_may_start_at(const void *place)
{
    (void)place;
    return true;
}

static void *host_map(void *memory, size_t bytes, bool is_io)
{
    (void)bytes;
    (void)is_io;
    return memory;
}

static void host_unmap(void *memory)
{
    (void)memory;
}

int mpixq_host_streams_close(void)
{
    int n = 0;

    while (streams != NULL) {
        n++;
        (void)mpixq_host_stream_destroy(streams);
    }
    return n;
}

const struct mpixq_stream_ops mpixq_host_stream_ops = {
    .kind = "mpix_host_stream",
    .copies = false,
    .is_live = host_is_live,
    .open = host_open,
    .close = host_close,
    .how = host_how,
    .admits = host_admits,
    .broken = host_broken,
    .trigger = host_trigger,
    .await = host_await,
    .by_gpu = host_by_gpu,
    .halt = host_halt,
    .any_waits = host_any_waits,
    .may_start_at = host_may_start_at,
    .map = host_map,
    .unmap = host_unmap,
    .depth = host_depth,
    .waits_for = host_waits_for,
    .identity = host_identity,
    .passed = host_passed,
    .is_ahead = host_is_ahead,
    .synchronize = host_synchronize,
};
