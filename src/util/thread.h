/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The library's own threads.
 */
#ifndef MPIXQ_THREAD_H
#define MPIXQ_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"

/* A few bytes per thread, reached without a call. */
#define MPIXQ_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* Make a thread that takes no signals, so that the program's handlers run on the program's
 * threads, and that finds a place among the CPUs (affinity.h). The name is constant. */
bool mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg, const char *name);

/* The same for one that sleeps nearly always: it takes no place. */
bool mpixq_thread_create_idle(pthread_t *thread_p, void *(*run)(void *), void *arg,
                              const char *name);

/* A lock for a handful of instructions: a mutex would cost an interposed MPI function more than
 * the function's own work. Whoever finds it taken yields, since its holder may have lost its
 * core. All have one rank, above nearly all others: next to nothing is taken under one. */
struct mpixq_spin {
    atomic_flag taken;
};
#define MPIXQ_SPIN_INITIALIZER                                                                     \
    {                                                                                              \
        ATOMIC_FLAG_INIT                                                                           \
    }
static inline void mpixq_spin_lock(struct mpixq_spin *spin)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_check(MPIXQ_RANK_SPIN);
    }
    while (atomic_flag_test_and_set_explicit(&spin->taken, memory_order_acquire)) {
        (void)sched_yield();
    }
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(spin, MPIXQ_RANK_SPIN);
    }
}
static inline void mpixq_spin_unlock(struct mpixq_spin *spin)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(spin, MPIXQ_RANK_SPIN);
    }
    atomic_flag_clear_explicit(&spin->taken, memory_order_release);
}

/* The submission lock of a queue: one thread at a time has it, possibly for long. It costs its
 * taker one atomic exchange; whoever finds it taken waits with a growing back-off.
 *
 * A holder that waits for something else lends the lock meanwhile. Nobody can take a lock that is
 * lent, but others can borrow it, one at a time and for a moment: what it guards is in order, and
 * they may look at it and change what the holder's work does not depend on. So who only borrows
 * never waits for what the holder waits for. */
enum mpixq_submission_state {
    MPIXQ_SUBMISSION_FREE,
    MPIXQ_SUBMISSION_TAKEN,
    MPIXQ_SUBMISSION_LENT
};
struct mpixq_submission {
    atomic_int state; /* enum mpixq_submission_state */
};
void mpixq_submission_wait(struct mpixq_submission *submission, enum mpixq_submission_state from);
/* Take it if it is in that state. */
static inline bool mpixq_submission_trylock(struct mpixq_submission *submission,
                                            enum mpixq_submission_state from)
{
    int state = (int)from;

    return atomic_compare_exchange_strong_explicit(&submission->state, &state,
                                                   MPIXQ_SUBMISSION_TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}
static inline void mpixq_submission_lock_from(struct mpixq_submission *submission,
                                              enum mpixq_submission_state from)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_check(MPIXQ_RANK_QUEUE);
    }
    if (!mpixq_submission_trylock(submission, from)) {
        mpixq_submission_wait(submission, from);
    }
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(submission, MPIXQ_RANK_QUEUE);
    }
}
static inline void mpixq_submission_lock(struct mpixq_submission *submission)
{
    mpixq_submission_lock_from(submission, MPIXQ_SUBMISSION_FREE);
}
static inline void mpixq_submission_return(struct mpixq_submission *submission,
                                           enum mpixq_submission_state to)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(submission, MPIXQ_RANK_QUEUE);
    }
    atomic_store_explicit(&submission->state, (int)to, memory_order_release);
}
static inline void mpixq_submission_unlock(struct mpixq_submission *submission)
{
    mpixq_submission_return(submission, MPIXQ_SUBMISSION_FREE);
}
/* By its holder; a lock of NULL is nobody's. */
static inline void mpixq_submission_lend(struct mpixq_submission *submission)
{
    if (submission != NULL) {
        mpixq_submission_return(submission, MPIXQ_SUBMISSION_LENT);
    }
}
static inline void mpixq_submission_reclaim(struct mpixq_submission *submission)
{
    if (submission != NULL) {
        mpixq_submission_lock_from(submission, MPIXQ_SUBMISSION_LENT);
    }
}
/* Take it, be it free or lent; returns which, for who returns it. */
enum mpixq_submission_state mpixq_submission_borrow(struct mpixq_submission *submission);

#endif
