/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "backoff.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "affinity.h"
#include "env.h"
#include "log.h"
#include "mpi_turns.h"
#include "node.h"
#include "thread.h"

/* Written at set-up and by the library's threads when they find a place; hints, so relaxed. */
static struct {
    atomic_int crowding;      /* ranks for each CPU, rounded up */
    atomic_bool only_one_cpu; /* for all threads of the process */
    atomic_bool shares;       /* our threads have no CPU of their own */
} hints = {.crowding = 1};

static MPIXQ_THREAD_LOCAL bool busy; /* another thread did what this one's last poll is for */

uint64_t mpixq_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void mpixq_sleep_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    (void)nanosleep(&t, NULL);
}

void mpixq_backoff_setup(void)
{
    mpixq_backoff_crowd(mpixq_node_ranks());
}

void mpixq_backoff_crowd(int ranks)
{
    int cpus = mpixq_affinity_count();

    atomic_store_explicit(&hints.crowding, (ranks - 1) / cpus + 1, memory_order_relaxed);
    atomic_store_explicit(&hints.only_one_cpu, cpus == 1, memory_order_relaxed);
}

int mpixq_backoff_crowding(void)
{
    return atomic_load_explicit(&hints.crowding, memory_order_relaxed);
}

void mpixq_backoff_share(bool share)
{
    atomic_store_explicit(&hints.shares, share, memory_order_relaxed);
}

void mpixq_backoff_busy(void)
{
    busy = true;
}

bool mpixq_backoff_yields(void)
{
    return atomic_load_explicit(&hints.crowding, memory_order_relaxed) > 1 ||
           atomic_load_explicit(&hints.only_one_cpu, memory_order_relaxed) ||
           atomic_load_explicit(&hints.shares, memory_order_relaxed);
}

#define MOVING_NS 200000   /* a wait that moves data goes on without sleep for so long */
#define TOGETHER_NS 100000 /* between two polls that moved some of the same message, at most */
#define LOOK_NS 20000      /* for the answer to what came in a sleep */

/* The clock of polls. Where others run on the same CPUs a poll may take as long as they do, as some
 * MPI libraries yield in it, so there only the thread's own time counts. */
static uint64_t poll_ns(uint64_t now)
{
    struct timespec t;

    if (!mpixq_backoff_yields() || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0) {
        return now;
    }
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Did the last poll take longer than one that finds nothing, which always takes the same time? */
static bool took_long(struct mpixq_backoff *backoff, uint64_t now)
{
    uint64_t took = poll_ns(now) - backoff->last_ns;
    uint64_t noise_ns = mpixq_backoff_yields() ? 5000 : 1000; /* to yield takes time */

    if (backoff->shortest_ns == 0 || took < backoff->shortest_ns) {
        backoff->shortest_ns = took;
    }
    return took > 4 * backoff->shortest_ns + noise_ns;
}

/* Many MPI libraries move a large message by a few fragments in a poll, and by no more before the
 * other end has polled, so two waiters that slept between polls would move it at a few per sleep.
 * Polls that move data take longer than others. So does the first one after a sleep, with cold
 * caches, and now and then one that was interrupted; hence two near to each other. Returns whether
 * to poll once more before it is decided. */
static bool watch(struct mpixq_backoff *backoff, uint64_t now)
{
    uint64_t spin_ns = (uint64_t)mpixq_env.spin_us * 1000;
    uint64_t since = now - (spin_ns > MOVING_NS ? spin_ns - MOVING_NS : 0);

    if (busy) {
        return false; /* who moves data is another thread */
    }
    if (backoff->slept) {
        backoff->woke_ns = now;
    } else if (took_long(backoff, now)) {
        if (now - backoff->long_ns < TOGETHER_NS && since > backoff->since_ns) {
            backoff->since_ns = since;
        }
        backoff->long_ns = now;
    }
    return now - backoff->woke_ns < LOOK_NS || now - backoff->long_ns < LOOK_NS;
}

void mpixq_backoff_slow(struct mpixq_backoff *backoff)
{
    uint64_t now = mpixq_now_ns(), waited_us;
    bool again = false;
    long sleep_us;

    if (backoff->since_ns == 0) {
        backoff->since_ns = now;
    } else if (backoff->moves) {
        again = watch(backoff, now);
    }
    busy = false;
    backoff->slept = false;
    backoff->last_ns = backoff->moves ? poll_ns(now) : now;
    waited_us = (now - backoff->since_ns) / 1000;
    if (again || (long)waited_us < mpixq_env.spin_us) {
        if (mpixq_backoff_yields()) {
            (void)sched_yield();
            backoff->last_ns = backoff->moves ? poll_ns(now) : now;
        }
        return;
    }
    sleep_us = (long)(waited_us / MPIXQ_BACKOFF_SHARE) + 1;
    mpixq_mpi_rest();
    mpixq_sleep_us(sleep_us < mpixq_env.sleep_max_us ? sleep_us : mpixq_env.sleep_max_us);
    mpixq_mpi_resume();
    backoff->slept = true;
}
