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

/* A turn at what one thread at a time may do, possibly for long. It costs its taker one atomic
 * exchange; whoever finds it taken waits with a growing back-off.
 *
 * A holder that waits for something else lends the turn meanwhile. Nobody can take a turn that is
 * lent, but others can borrow it, one at a time and for a moment: what it guards is in order, and
 * they may look at it and change what the holder's work does not depend on. So who only borrows
 * never waits for what the holder waits for. */
enum mpixq_turn_state { MPIXQ_TURN_FREE, MPIXQ_TURN_TAKEN, MPIXQ_TURN_LENT };
struct mpixq_turn {
    atomic_int state; /* enum mpixq_turn_state */
};
void mpixq_turn_wait(struct mpixq_turn *turn, enum mpixq_turn_state from);
/* Take it if it is in that state. */
static inline bool mpixq_turn_try(struct mpixq_turn *turn, enum mpixq_turn_state from)
{
    int state = (int)from;

    return atomic_compare_exchange_strong_explicit(&turn->state, &state, MPIXQ_TURN_TAKEN,
                                                   memory_order_acquire, memory_order_relaxed);
}
static inline void mpixq_turn_take_from(struct mpixq_turn *turn, enum mpixq_turn_state from)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_check(MPIXQ_RANK_QUEUE);
    }
    if (!mpixq_turn_try(turn, from)) {
        mpixq_turn_wait(turn, from);
    }
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(turn, MPIXQ_RANK_QUEUE);
    }
}
static inline void mpixq_turn_take(struct mpixq_turn *turn)
{
    mpixq_turn_take_from(turn, MPIXQ_TURN_FREE);
}
static inline void mpixq_turn_give_back(struct mpixq_turn *turn, enum mpixq_turn_state to)
{
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(turn, MPIXQ_RANK_QUEUE);
    }
    atomic_store_explicit(&turn->state, (int)to, memory_order_release);
}
static inline void mpixq_turn_leave(struct mpixq_turn *turn)
{
    mpixq_turn_give_back(turn, MPIXQ_TURN_FREE);
}
/* By its holder; a turn of NULL is nobody's. */
static inline void mpixq_turn_lend(struct mpixq_turn *turn)
{
    if (turn != NULL) {
        mpixq_turn_give_back(turn, MPIXQ_TURN_LENT);
    }
}
static inline void mpixq_turn_take_back(struct mpixq_turn *turn)
{
    if (turn != NULL) {
        mpixq_turn_take_from(turn, MPIXQ_TURN_LENT);
    }
}
/* Take it, be it free or lent; returns which, for who gives it back. */
enum mpixq_turn_state mpixq_turn_borrow(struct mpixq_turn *turn);

#endif
