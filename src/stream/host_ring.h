/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A host stream from the inside. Its ring has any number of threads that submit and one that
 * executes. Positions grow for ever; a position is also the ticket of what was submitted just
 * before it.
 *
 * Submitting takes no lock: a thread claims as many positions as it needs by one addition to tail,
 * so that its operations stay in one piece, and fills them in order; each slot says itself when
 * it is filled. The lock is for those who sleep and those who wake them.
 */
#ifndef MPIXQ_HOST_RING_H
#define MPIXQ_HOST_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host_stream.h"
#include "stream.h"
#include "util/lock.h"

struct mpixq_slot {
    _Atomic uint64_t filled; /* for the position before this one */
    int more;                /* so many of the slots behind belong to the same submission */
    struct mpixq_op op;      /* its first half, unless it is a wait */
};

/* Whether to look for a moment before a sleep from which another thread will wake this one. To be
 * woken takes longer than most short steps; but where the other thread has no core of its own, it
 * gets one the sooner the less this one looks. So each look in vain leaves out the next ones. */
struct mpixq_peek {
    atomic_uint misses;   /* lately */
    atomic_uint left_out; /* so many times from now on */
};

struct mpixq_host_stream {
    struct mpixq_stream base;
    pthread_t thread;
    struct mpixq_slot *ring;
    uint64_t mask; /* of positions: the ring's size less one */
    struct mpixq_host_stream *next;

    struct mpixq_lock lock;
    pthread_cond_t submitted; /* to the executing thread */
    pthread_cond_t passed;    /* to threads that synchronise */
    int users;                /* queues; under lock */
    bool is_owned;            /* by the queues that use it; under lock */
    bool stop;                /* under lock */

    /* Next position to claim. */
    _Alignas(64) _Atomic uint64_t tail;
    /* The executing thread sleeps, or is about to: written by it under lock. It looks at tail after
     * it has set this, and whoever submits the other way round, so one of them sees the other. */
    atomic_bool asleep;
    /* Next position to execute: written by the executing thread, read by all. */
    _Alignas(64) _Atomic uint64_t head;
    /* Lowest position that somebody waits for, or MPIXQ_NOBODY: written under lock, read by the
     * executing thread. */
    _Atomic uint64_t target;
    /* As waits_for of the seam: written by the executing thread, read by all. */
    _Atomic(const void *) waits_for;
    struct mpixq_peek for_work; /* of the executing thread */
    /* Of threads that synchronise: a hint, for all of them. */
    _Alignas(64) struct mpixq_peek for_passing;
};

#define MPIXQ_NOBODY UINT64_MAX

/* The executing thread; arg is the stream. */
void *mpixq_host_stream_main(void *arg);

/* Sleep until the stream has passed a position, if it has not, or *failed is not 0, if failed is
 * not NULL. */
void mpixq_host_stream_sleep(struct mpixq_host_stream *stream, uint64_t position,
                             const atomic_int *failed);

typedef bool mpixq_condition(const struct mpixq_host_stream *stream, uint64_t position);
/* Look for a moment, if that is worth while. True: it is so. */
bool mpixq_host_stream_peek(struct mpixq_peek *peek, const struct mpixq_host_stream *stream,
                            uint64_t position, mpixq_condition *is_so);

static inline struct mpixq_slot *mpixq_slot_at(const struct mpixq_host_stream *stream,
                                               uint64_t position)
{
    return &stream->ring[position & stream->mask];
}

static inline bool mpixq_slot_is_filled(const struct mpixq_host_stream *stream, uint64_t position)
{
    return atomic_load_explicit(&mpixq_slot_at(stream, position)->filled, memory_order_acquire) ==
           position + 1;
}

static inline bool mpixq_has_passed(const struct mpixq_host_stream *stream, uint64_t position)
{
    return atomic_load_explicit(&stream->head, memory_order_acquire) >= position;
}

#endif
