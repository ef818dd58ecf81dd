/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The locks of the library. Each has a rank (lock_defs.h), and a thread that holds one takes only
 * those of higher ranks, so that no threads wait for each other in a circle. A build with
 * --enable-debug checks that, and that who releases a lock holds it: a thread that breaks the order
 * ends the process with the names of both locks, also where nobody else wanted them just then. In
 * other builds a lock is a mutex, and what is called here is the function of that.
 */
#ifndef MPIXQ_LOCK_H
#define MPIXQ_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backoff.h"

enum mpixq_lock_rank {
    MPIXQ_RANK_NONE, /* in builds that do not check */
#define MPIXQ_LOCK(name, guards) MPIXQ_RANK_##name,
#include "lock_defs.h"
#undef MPIXQ_LOCK
};

struct mpixq_lock {
    pthread_mutex_t mutex;
    enum mpixq_lock_rank rank; /* constant */
};

/* MPIXQ_LOCK_CHECKS is 0 or 1, and the same in all that a build compiles (configure.ac). */
#define MPIXQ_LOCK_INITIALIZER(its_rank)                                                           \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, MPIXQ_LOCK_CHECKS ? (its_rank) : MPIXQ_RANK_NONE                \
    }

/* What the checks know of the calling thread (lock_check.c). */
/* It is about to take a lock of this rank, and may wait for it. */
void mpixq_lock_check(enum mpixq_lock_rank rank);
/* It has it; or has it no more. */
void mpixq_lock_note(const void *lock, enum mpixq_lock_rank rank);
void mpixq_lock_forget(const void *lock, enum mpixq_lock_rank rank);

static inline void mpixq_lock_init(struct mpixq_lock *lock, enum mpixq_lock_rank rank)
{
    (void)pthread_mutex_init(&lock->mutex, NULL);
    if (MPIXQ_LOCK_CHECKS) {
        lock->rank = rank;
    }
}

static inline void mpixq_lock_destroy(struct mpixq_lock *lock)
{
    (void)pthread_mutex_destroy(&lock->mutex);
}

static inline void mpixq_lock_acquire(struct mpixq_lock *lock)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_check(lock->rank);
    }
    (void)pthread_mutex_lock(&lock->mutex);
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(lock, lock->rank);
    }
}

/* Whatever the thread holds: who does not wait completes no circle. What it takes next is checked
 * against this one, too. */
static inline bool mpixq_lock_try(struct mpixq_lock *lock)
{
    bool is_taken = pthread_mutex_trylock(&lock->mutex) == 0;

    if (MPIXQ_LOCK_CHECKS && is_taken) {
        mpixq_lock_note(lock, lock->rank);
    }
    return is_taken;
}

/* In any order, too: this wait ends, when mpixq_now_ns says so. For locks that are seldom held: it
 * tries now and then, as a mutex itself is waited for by the time of day only. */
static inline bool mpixq_lock_acquire_until(struct mpixq_lock *lock, uint64_t end_ns)
{
    enum { BETWEEN_US = 200 };

    while (!mpixq_lock_try(lock)) {
        if (mpixq_now_ns() >= end_ns) {
            return false;
        }
        mpixq_sleep_us(BETWEEN_US);
    }
    return true;
}

static inline void mpixq_lock_release(struct mpixq_lock *lock)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(lock, lock->rank);
    }
    (void)pthread_mutex_unlock(&lock->mutex);
}

/* Conditions. Whoever wakes takes the lock again, so that is checked as any other. */

/* One whose waits end by a clock that nobody sets: the time of day may jump. */
void mpixq_cond_init(pthread_cond_t *cond);
/* Wait under the lock, at most for so long. False: all of it. */
bool mpixq_cond_wait_ns(pthread_cond_t *cond, struct mpixq_lock *lock, uint64_t ns);

static inline void mpixq_cond_wait(pthread_cond_t *cond, struct mpixq_lock *lock)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(lock, lock->rank);
        mpixq_lock_check(lock->rank);
    }
    (void)pthread_cond_wait(cond, &lock->mutex);
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(lock, lock->rank);
    }
}

#endif
