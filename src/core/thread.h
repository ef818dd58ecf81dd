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

/* A few bytes per thread, reached without a call. */
#define MPIXQ_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* Make a thread that takes no signals, so that the program's handlers run on the program's
 * threads, and that finds a place among the CPUs (affinity.h). The name is constant. */
bool mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg, const char *name);

/* A lock for a handful of instructions: a mutex would cost an interposed MPI function more than
 * the function's own work. Whoever finds it taken yields, since its holder may have lost its
 * core. */
struct mpixq_spin {
    atomic_flag taken;
};
#define MPIXQ_SPIN_INITIALIZER                                                                     \
    {                                                                                              \
        ATOMIC_FLAG_INIT                                                                           \
    }
static inline void mpixq_spin_lock(struct mpixq_spin *spin)
{
    while (atomic_flag_test_and_set_explicit(&spin->taken, memory_order_acquire)) {
        (void)sched_yield();
    }
}
static inline void mpixq_spin_unlock(struct mpixq_spin *spin)
{
    atomic_flag_clear_explicit(&spin->taken, memory_order_release);
}

/* A turn at what one thread at a time may do, possibly for long. It costs its taker one exchange;
 * whoever finds it taken waits with a growing back-off. */
struct mpixq_turn {
    atomic_bool taken;
};
void mpixq_turn_wait(struct mpixq_turn *turn);
static inline bool mpixq_turn_try(struct mpixq_turn *turn)
{
    return !atomic_exchange_explicit(&turn->taken, true, memory_order_acquire);
}
static inline void mpixq_turn_take(struct mpixq_turn *turn)
{
    if (!mpixq_turn_try(turn)) {
        mpixq_turn_wait(turn);
    }
}
static inline void mpixq_turn_leave(struct mpixq_turn *turn)
{
    atomic_store_explicit(&turn->taken, false, memory_order_release);
}

#endif
