/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The thread that executes what is in the ring of a host stream. */
#include <sched.h>
#include <stddef.h>

#include "host_ring.h"
#include "util/affinity.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/mpi_turns.h"
#include "util/progress.h"
#include "util/thread.h"
#include "util/trace.h"

static MPIXQ_THREAD_LOCAL bool inside;

bool mpixq_host_stream_inside(void)
{
    return inside;
}

static void wake_waiters(struct mpixq_host_stream *stream)
{
    mpixq_lock_acquire(&stream->lock);
    atomic_store_explicit(&stream->target, MPIXQ_NOBODY, memory_order_relaxed);
    pthread_cond_broadcast(&stream->passed);
    mpixq_lock_release(&stream->lock);
}

static inline void wake_if_wanted(struct mpixq_host_stream *stream, uint64_t head)
{
    if (head >= atomic_load_explicit(&stream->target, memory_order_relaxed)) {
        wake_waiters(stream);
    }
}

static inline bool has_reached(const struct mpixq_op *wait)
{
    return atomic_load_explicit(wait->u.awaited, memory_order_acquire) >= wait->value;
}

enum { TOGETHER = 32 }; /* at most so many are started or polled at a time */

/* How many slots from the head on belong to one submission and are filled by now. */
static int count_filled(const struct mpixq_host_stream *stream, uint64_t head)
{
    uint64_t n = (uint64_t)mpixq_slot_at(stream, head)->more + 1, filled = 1;

    n = n < TOGETHER ? n : TOGETHER;
    while (filled < n && mpixq_slot_is_filled(stream, head + filled)) {
        filled++;
    }
    return (int)filled;
}

/* How many belong together. They are being filled, for which there is room: the ring has more. A
 * start call is executed whole, so that a channel rings once for it. */
static int count_together(const struct mpixq_host_stream *stream, uint64_t head)
{
    int n = mpixq_slot_at(stream, head)->more + 1;

    n = n < TOGETHER ? n : TOGETHER;
    while (count_filled(stream, head) < n) {
        (void)sched_yield(); /* whoever claimed them may have lost its core */
    }
    return n;
}

/* Poll all, those with the same function in one call. */
static void poll_pending(const struct mpixq_op *const pending[], int n)
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

/* What is awaited is there, or will never be. Some waits are the library's own, or go on. */
__attribute__((cold, noinline)) static void trace_passed(const struct mpixq_op *wait)
{
    if (wait->arg != NULL && has_reached(wait) && !wait->goes_on) {
        mpixq_trace_wait_passed(wait->arg);
    }
}

/* A wait for several words of one pair is over with the last of them. */
static bool is_last_of(const struct mpixq_op *const pending[], int n, int left, int i)
{
    for (int k = 0; k < n; k++) {
        if ((k < left || k > i) && pending[k]->arg == pending[i]->arg) {
            return false;
        }
    }
    return true;
}

/* Drop what needs no more waiting; returns what is left. */
static int still_pending(const struct mpixq_op *pending[], int n)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        if (!has_reached(pending[i]) &&
            atomic_load_explicit(pending[i]->failed, memory_order_acquire) == 0) {
            pending[left++] = pending[i];
        } else if (mpixq_trace_is_on() && is_last_of(pending, n, left, i)) {
            trace_passed(pending[i]);
        }
    }
    return left;
}

/* Does waiting for any of these drive MPI? */
static bool any_polls(const struct mpixq_op *const pending[], int n)
{
    for (int i = 0; i < n; i++) {
        if (pending[i]->poll != NULL) {
            return true;
        }
    }
    return false;
}

/* Execute waits together: one call of MPI can test many requests. */
static void run_waits(struct mpixq_host_stream *stream, uint64_t head, int n)
{
    const struct mpixq_op *pending[TOGETHER];
    struct mpixq_backoff backoff;
    int left, polls;

    for (int i = 0; i < n; i++) {
        pending[i] = &mpixq_slot_at(stream, head + (uint64_t)i)->op;
    }
    left = still_pending(pending, n);
    if (left == 0) {
        return;
    }
    mpixq_backoff_begin(&backoff);
    backoff.moves = any_polls(pending, left);
    polls = backoff.moves;
    atomic_fetch_add_explicit(&mpixq_progress.pollers, polls, memory_order_relaxed);
    mpixq_mpi_enter();
    for (;;) {
        poll_pending(pending, left);
        left = still_pending(pending, left);
        if (left == 0) {
            break;
        }
        atomic_store_explicit(&stream->waits_for, pending[0]->arg, memory_order_release);
        mpixq_mpi_pause(&backoff);
        wake_if_wanted(stream, head);
    }
    mpixq_mpi_leave();
    atomic_store_explicit(&stream->waits_for, NULL, memory_order_release);
    atomic_fetch_sub_explicit(&mpixq_progress.pollers, polls, memory_order_relaxed);
}

/* Is it the same call, of starts of which the GPU has done as much? */
static inline bool is_same_call(const struct mpixq_op *a, const struct mpixq_op *b)
{
    return a->kind != MPIXQ_OP_STORE && a->u.call == b->u.call && a->on_gpu == b->on_gpu;
}

/* Execute starts together, those with the same function in one call. */
static void run_starts(const struct mpixq_host_stream *stream, uint64_t head, int n)
{
    void *args[TOGETHER];

    for (int i = 0; i < n;) {
        const struct mpixq_op *first = &mpixq_slot_at(stream, head + (uint64_t)i)->op;
        const struct mpixq_op *op = first;
        int same = 0;

        if (first->kind == MPIXQ_OP_STORE) {
            atomic_store_explicit(first->u.word, first->value, memory_order_release);
            i++;
            continue;
        }
        while (i < n && is_same_call(op, first)) {
            args[same++] = op->arg;
            i++;
            op = &mpixq_slot_at(stream, head + (uint64_t)i)->op;
        }
        mpixq_trace_stream_begins();
        mpixq_mpi_enter();
        first->u.call(args, same, first->on_gpu);
        mpixq_mpi_leave();
        mpixq_trace_stream_ends(MPIXQ_TRACE_RAN, same);
    }
}

/* Execute what is at the head of the ring; returns how many slots that took. */
static uint64_t execute(struct mpixq_host_stream *stream, uint64_t head)
{
    const struct mpixq_slot *slot = mpixq_slot_at(stream, head);
    int n = 1;

    if (mpixq_op_is_wait(&slot->op)) {
        n = count_filled(stream, head);
        mpixq_trace_stream_begins();
        run_waits(stream, head, n);
        if (mpixq_trace_is_on() && slot->op.arg != NULL) {
            mpixq_trace_note_stream_ends(MPIXQ_TRACE_WAITED, n);
        }
    } else if (slot->op.kind != MPIXQ_OP_RUN) {
        n = count_together(stream, head);
        run_starts(stream, head, n);
    } else {
        inside = true;
        slot->op.u.run(slot->op.arg);
        inside = false;
    }
    return (uint64_t)n;
}

bool mpixq_host_stream_peek(struct mpixq_peek *peek, const struct mpixq_host_stream *stream,
                            uint64_t position, mpixq_condition *is_so)
{
    enum { LOOKS = 64, PEEK_NS = 50000, MOST = 8 };
    unsigned left_out = atomic_load_explicit(&peek->left_out, memory_order_relaxed);
    unsigned misses = atomic_load_explicit(&peek->misses, memory_order_relaxed);
    uint64_t until;

    if (left_out > 0 || mpixq_backoff_yields()) {
        atomic_store_explicit(&peek->left_out, left_out > 0 ? left_out - 1 : 0,
                              memory_order_relaxed);
        return false;
    }
    until = mpixq_now_ns() + PEEK_NS;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (is_so(stream, position)) {
                atomic_store_explicit(&peek->misses, misses / 2, memory_order_relaxed);
                return true;
            }
        }
    } while (mpixq_now_ns() < until);
    misses = misses < MOST ? misses + 1 : MOST;
    atomic_store_explicit(&peek->misses, misses, memory_order_relaxed);
    atomic_store_explicit(&peek->left_out, 1U << misses, memory_order_relaxed);
    return false;
}

static bool is_claimed(const struct mpixq_host_stream *stream, uint64_t head)
{
    return atomic_load(&stream->tail) != head;
}

/* Sleep until there is something to execute. False: stop. */
static bool sleep_for_work(struct mpixq_host_stream *stream, uint64_t head)
{
    mpixq_affinity_look_again();
    mpixq_lock_acquire(&stream->lock);
    /* Under the lock no target can be missed. */
    if (head >= atomic_load_explicit(&stream->target, memory_order_relaxed)) {
        atomic_store_explicit(&stream->target, MPIXQ_NOBODY, memory_order_relaxed);
        pthread_cond_broadcast(&stream->passed);
    }
    atomic_store(&stream->asleep, true);
    while (!is_claimed(stream, head) && !stream->stop) {
        mpixq_cond_wait(&stream->submitted, &stream->lock);
    }
    atomic_store(&stream->asleep, false);
    mpixq_lock_release(&stream->lock);
    return is_claimed(stream, head);
}

/* Wait until the slot at the head is filled: look again for a moment, then sleep. False: stop. */
static bool wait_for_work(struct mpixq_host_stream *stream, uint64_t head)
{
    enum { LOOKS = 2000 };

    wake_if_wanted(stream, head);
    for (int i = 0; i < LOOKS; i++) {
        if (mpixq_slot_is_filled(stream, head)) {
            return true;
        }
    }
    if (!is_claimed(stream, head) &&
        !mpixq_host_stream_peek(&stream->for_work, stream, head, is_claimed) &&
        !sleep_for_work(stream, head)) {
        return false;
    }
    while (!mpixq_slot_is_filled(stream, head)) {
        (void)sched_yield(); /* whoever claimed it may have lost its core */
    }
    return true;
}

void *mpixq_host_stream_main(void *arg)
{
    struct mpixq_host_stream *stream = arg;
    uint64_t head = 0;

    while (mpixq_slot_is_filled(stream, head) || wait_for_work(stream, head)) {
        head += execute(stream, head);
        atomic_store_explicit(&stream->head, head, memory_order_release);
        wake_if_wanted(stream, head);
    }
    return NULL;
}
