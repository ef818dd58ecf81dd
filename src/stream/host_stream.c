/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A host stream is a ring of operations between the threads that submit, one at a time under
 * the stream's lock, and the one thread that executes. Positions in the ring grow for ever; a
 * position is also the ticket of what was submitted just before it. The executing thread takes
 * the lock only to sleep and to wake somebody. */
#include "host_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <utlist.h>

#include "core/alloc.h"
#include "core/backoff.h"
#include "core/env.h"
#include "core/progress.h"
#include "core/thread.h"
#include "stream.h"

enum operation { RUN_FUNCTION, TRIGGER, AWAIT };

struct slot {
    enum operation operation;
    int more; /* so many of the slots behind belong to the same submission */
    union {
        struct {
            void (*fn)(void *);
            void *arg;
        } function;
        struct mpixq_trigger trigger;
        struct mpixq_awaited awaited;
    } u;
};

struct mpixq_host_stream {
    struct mpixq_stream base;
    pthread_t thread;
    struct slot *ring;
    uint64_t mask; /* of positions: the ring's size less one */
    struct mpixq_host_stream *next;

    pthread_mutex_t turn; /* held for a whole submission, which stays in one piece in the ring */
    pthread_mutex_t lock; /* taken under turn */
    pthread_cond_t submitted; /* to the executing thread */
    pthread_cond_t passed;    /* to threads that synchronise */
    /* Under lock. */
    int users;
    bool asleep, stop;

    /* Next position to submit to: written under lock, read by the executing thread. */
    _Alignas(64) _Atomic uint64_t tail;
    /* Next position to execute: written by the executing thread, read by all. */
    _Alignas(64) _Atomic uint64_t head;
    /* Lowest position that somebody waits for, or NOBODY: written under lock, read by the
     * executing thread. */
    _Atomic uint64_t target;
};

#define NOBODY UINT64_MAX
/* A waiter looks by itself this often: the executing thread checks the target without a fence,
 * which would cost each operation more than the rare waiter that is missed. */
#define RECHECK_NS 2000000

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpixq_host_stream *streams; /* all live ones */
static MPIXQ_THREAD_LOCAL bool inside;

bool mpixq_host_stream_inside(void)
{
    return inside;
}

/* The executing thread. */

static void wake_waiters(struct mpixq_host_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    atomic_store_explicit(&stream->target, NOBODY, memory_order_relaxed);
    pthread_cond_broadcast(&stream->passed);
    pthread_mutex_unlock(&stream->lock);
}

static inline void wake_if_wanted(struct mpixq_host_stream *stream, uint64_t head)
{
    if (head >= atomic_load_explicit(&stream->target, memory_order_relaxed)) {
        wake_waiters(stream);
    }
}

static inline bool has_reached(const struct mpixq_awaited *awaited)
{
    return atomic_load_explicit(awaited->word, memory_order_acquire) >= awaited->value;
}

enum { TOGETHER = 32 }; /* at most so many are started or polled at a time */

static inline const struct slot *slot_at(const struct mpixq_host_stream *stream, uint64_t position)
{
    return &stream->ring[position & stream->mask];
}

/* How many slots from the head on belong to one submission and are in the ring by now. */
static int count_together(const struct mpixq_host_stream *stream, uint64_t head)
{
    uint64_t ready = atomic_load_explicit(&stream->tail, memory_order_acquire) - head;
    uint64_t n = (uint64_t)slot_at(stream, head)->more + 1;

    n = n < ready ? n : ready;
    return n < TOGETHER ? (int)n : TOGETHER;
}

/* Poll all, those with the same function in one call. */
static void poll_pending(const struct mpixq_awaited *const pending[], int n)
{
    void *args[TOGETHER];

    for (int i = 0; i < n;) {
        void (*poll)(void *const args[], int n) = pending[i]->poll;
        int same = 0;

        while (i < n && pending[i]->poll == poll) {
            args[same++] = pending[i++]->arg;
        }
        if (poll != NULL) {
            poll(args, same);
        }
    }
}

/* Drop what needs no more waiting; returns what is left. */
static int still_pending(const struct mpixq_awaited *pending[], int n)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        if (!has_reached(pending[i]) &&
            atomic_load_explicit(pending[i]->failed, memory_order_acquire) == 0) {
            pending[left++] = pending[i];
        }
    }
    return left;
}

/* Execute waits together: one call of MPI can test many requests. */
static void run_awaits(struct mpixq_host_stream *stream, uint64_t head, int n)
{
    const struct mpixq_awaited *pending[TOGETHER];
    struct mpixq_backoff backoff;
    int left;

    for (int i = 0; i < n; i++) {
        pending[i] = &slot_at(stream, head + (uint64_t)i)->u.awaited;
    }
    left = still_pending(pending, n);
    if (left == 0) {
        return;
    }
    mpixq_backoff_begin(&backoff);
    backoff.moves = true;
    atomic_fetch_add_explicit(&mpixq_pollers, 1, memory_order_relaxed);
    for (;;) {
        poll_pending(pending, left);
        left = still_pending(pending, left);
        if (left == 0) {
            break;
        }
        mpixq_backoff_pause(&backoff);
        wake_if_wanted(stream, head);
    }
    atomic_fetch_sub_explicit(&mpixq_pollers, 1, memory_order_relaxed);
}

/* Execute triggers together, those with the same function in one call. */
static void run_triggers(const struct mpixq_host_stream *stream, uint64_t head, int n)
{
    void *args[TOGETHER];

    for (int i = 0; i < n;) {
        const struct mpixq_trigger *first = &slot_at(stream, head + (uint64_t)i)->u.trigger;
        const struct mpixq_trigger *trigger = first;
        int same = 0;

        if (first->call == NULL) {
            atomic_store_explicit(first->word, first->value, memory_order_release);
            i++;
            continue;
        }
        while (i < n && trigger->call == first->call) {
            args[same++] = trigger->arg;
            i++;
            trigger = &slot_at(stream, head + (uint64_t)i)->u.trigger;
        }
        first->call(args, same);
    }
}

/* Execute what is at the head of the ring; returns how many slots that took. */
static uint64_t execute(struct mpixq_host_stream *stream, uint64_t head)
{
    const struct slot *slot = slot_at(stream, head);
    int n = 1;

    switch (slot->operation) {
    case RUN_FUNCTION:
        inside = true;
        slot->u.function.fn(slot->u.function.arg);
        inside = false;
        break;
    case TRIGGER:
        n = count_together(stream, head);
        run_triggers(stream, head, n);
        break;
    case AWAIT:
        n = count_together(stream, head);
        run_awaits(stream, head, n);
        break;
    }
    return (uint64_t)n;
}

/* Wait until there is something to execute: look again for a moment, then sleep. False: stop. */
static bool wait_for_work(struct mpixq_host_stream *stream, uint64_t head)
{
    enum { LOOKS = 2000 };
    bool more;

    wake_if_wanted(stream, head);
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&stream->tail, memory_order_acquire) != head) {
            return true;
        }
    }
    pthread_mutex_lock(&stream->lock);
    /* Under the lock no target can be missed. */
    if (head >= atomic_load_explicit(&stream->target, memory_order_relaxed)) {
        atomic_store_explicit(&stream->target, NOBODY, memory_order_relaxed);
        pthread_cond_broadcast(&stream->passed);
    }
    while (atomic_load_explicit(&stream->tail, memory_order_relaxed) == head && !stream->stop) {
        stream->asleep = true;
        pthread_cond_wait(&stream->submitted, &stream->lock);
        stream->asleep = false;
    }
    more = atomic_load_explicit(&stream->tail, memory_order_relaxed) != head;
    pthread_mutex_unlock(&stream->lock);
    return more;
}

static void *stream_main(void *arg)
{
    struct mpixq_host_stream *stream = arg;
    uint64_t head = 0;

    for (;;) {
        if (atomic_load_explicit(&stream->tail, memory_order_acquire) == head &&
            !wait_for_work(stream, head)) {
            return NULL;
        }
        head += execute(stream, head);
        atomic_store_explicit(&stream->head, head, memory_order_release);
        wake_if_wanted(stream, head);
    }
}

/* Submitting. */

static bool has_room(const struct mpixq_host_stream *stream)
{
    return atomic_load_explicit(&stream->tail, memory_order_relaxed) -
               atomic_load_explicit(&stream->head, memory_order_acquire) <=
           stream->mask;
}

static bool has_passed(const struct mpixq_host_stream *stream, uint64_t position)
{
    return atomic_load_explicit(&stream->head, memory_order_acquire) >= position;
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

/* Under the stream's lock, which is let go of while the caller sleeps: the executing thread may
 * need it to get going. */
static void sleep_until_passed(struct mpixq_host_stream *stream, uint64_t position)
{
    struct timespec until;

    while (!has_passed(stream, position)) {
        if (position < atomic_load_explicit(&stream->target, memory_order_relaxed)) {
            atomic_store_explicit(&stream->target, position, memory_order_relaxed);
        }
        until = recheck_time();
        (void)pthread_cond_timedwait(&stream->passed, &stream->lock, &until);
    }
}

/* Under the stream's lock, let go of meanwhile. Once the ring is full the caller sleeps until half
 * of it is free: one that took each place as it became free would spin beside the executing thread,
 * and where there is no core to spare cost it half of its own. */
static void wait_for_room(struct mpixq_host_stream *stream)
{
    while (!has_room(stream)) {
        uint64_t tail = atomic_load_explicit(&stream->tail, memory_order_relaxed);

        sleep_until_passed(stream, tail - (stream->mask + 1) / 2);
    }
}

/* Under the stream's lock. */
static void submit(struct mpixq_host_stream *stream, const struct slot *slot)
{
    uint64_t tail;

    wait_for_room(stream);
    tail = atomic_load_explicit(&stream->tail, memory_order_relaxed);
    stream->ring[tail & stream->mask] = *slot;
    atomic_store_explicit(&stream->tail, tail + 1, memory_order_release);
    if (stream->asleep) {
        pthread_cond_signal(&stream->submitted);
    }
}

/* A submission gives up the stream's lock while it waits for room, but not its turn. */
static void submit_begin(struct mpixq_host_stream *stream)
{
    pthread_mutex_lock(&stream->turn);
    pthread_mutex_lock(&stream->lock);
}

static void submit_end(struct mpixq_host_stream *stream)
{
    pthread_mutex_unlock(&stream->lock);
    pthread_mutex_unlock(&stream->turn);
}

static uint64_t ticket(const struct mpixq_host_stream *stream)
{
    return atomic_load_explicit(&stream->tail, memory_order_relaxed);
}

static uint64_t host_trigger(struct mpixq_stream *base, const struct mpixq_trigger *triggers, int n)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    uint64_t last;

    submit_begin(stream);
    for (int i = 0; i < n; i++) {
        submit(stream,
               &(struct slot){.operation = TRIGGER, .more = n - 1 - i, .u.trigger = triggers[i]});
    }
    last = ticket(stream);
    submit_end(stream);
    return last;
}

static uint64_t host_await(struct mpixq_stream *base, const struct mpixq_awaited *awaited, int n)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;
    uint64_t last;

    submit_begin(stream);
    for (int i = 0; i < n; i++) {
        submit(stream,
               &(struct slot){.operation = AWAIT, .more = n - 1 - i, .u.awaited = awaited[i]});
    }
    last = ticket(stream);
    submit_end(stream);
    return last;
}

void mpixq_host_stream_launch(struct mpixq_host_stream *stream, void (*fn)(void *), void *arg)
{
    submit_begin(stream);
    submit(stream, &(struct slot){.operation = RUN_FUNCTION, .u.function = {.fn = fn, .arg = arg}});
    submit_end(stream);
}

/* Waiting. */

static uint64_t host_depth(const struct mpixq_stream *base)
{
    return ((const struct mpixq_host_stream *)base)->mask + 1;
}

static bool host_passed(const struct mpixq_stream *base, uint64_t position)
{
    return has_passed((const struct mpixq_host_stream *)base, position);
}

static void host_synchronize(struct mpixq_stream *base, uint64_t position)
{
    struct mpixq_host_stream *stream = (struct mpixq_host_stream *)base;

    if (has_passed(stream, position)) {
        return;
    }
    pthread_mutex_lock(&stream->lock);
    sleep_until_passed(stream, position);
    pthread_mutex_unlock(&stream->lock);
}

void mpixq_host_stream_synchronize(struct mpixq_host_stream *stream)
{
    uint64_t last;

    pthread_mutex_lock(&stream->lock);
    last = ticket(stream);
    pthread_mutex_unlock(&stream->lock);
    host_synchronize(&stream->base, last);
}

bool mpixq_host_stream_is_idle(const struct mpixq_host_stream *stream)
{
    return has_passed(stream, atomic_load_explicit(&stream->tail, memory_order_acquire));
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
    pthread_mutex_destroy(&stream->turn);
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
    atomic_init(&stream->target, NOBODY);
    pthread_mutex_init(&stream->turn, NULL);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->submitted, NULL);
    pthread_cond_init(&stream->passed, NULL);
    stream->ring = mpixq_alloc(size * sizeof *stream->ring); /* both freed in stream_free */
    if (stream->ring == NULL) {
        stream_free(stream);
        return NULL;
    }
    if (!mpixq_thread_create(&stream->thread, stream_main, stream, "mpixq-stream")) {
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

static struct mpixq_stream *host_open(void *handle, int *error_p)
{
    struct mpixq_host_stream *stream = handle;
    enum mpixq_error error = MPIXQ_E_NONE;

    if (stream == NULL) {
        stream = mpixq_host_stream_create(&error);
        *error_p = (int)error;
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
    .calls = true,
    .is_live = host_is_live,
    .open = host_open,
    .close = host_close,
    .trigger = host_trigger,
    .await = host_await,
    .depth = host_depth,
    .passed = host_passed,
    .synchronize = host_synchronize,
};
