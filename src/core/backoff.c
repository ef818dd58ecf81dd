/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "backoff.h"

#include <sched.h>
#include <stdbool.h>
#include <time.h>

#include "env.h"
#include "log.h"

static bool oversubscribed; /* constant after mpixq_backoff_setup */

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
    cpu_set_t allowed;
    int ranks = mpixq_env_local_ranks(), cores = 1;

    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        cores = CPU_COUNT(&allowed);
    }
    /* A launcher that binds leaves each rank its own cores; then one rank stands for itself. */
    oversubscribed = cores == 1 || ranks > cores;
    mpixq_debug("%d ranks on this node, %d cores allowed: waiting threads %s", ranks, cores,
                oversubscribed ? "yield" : "spin");
}

/* A wait that moves data goes on without sleep for so long. */
#define MOVING_NS 200000

/* Did the last poll take longer than one that finds nothing, which always takes the same time? */
static bool took_long(struct mpixq_backoff *backoff, uint64_t now)
{
    uint64_t took = now - backoff->last_ns;

    if (backoff->shortest_ns == 0 || took < backoff->shortest_ns) {
        backoff->shortest_ns = took;
    }
    return took > 4 * backoff->shortest_ns + 1000;
}

/* Many MPI libraries move a large message by a fragment in each poll, so a waiter that slept
 * between polls would move it at a fragment per sleep. Polls that move data take longer than
 * others. So does the first one after a sleep, with cold caches, which therefore tells nothing, and
 * now and then one that was interrupted; hence two in a row. Returns whether to poll once more
 * before it is decided. */
static bool watch(struct mpixq_backoff *backoff, uint64_t now)
{
    uint64_t spin_ns = (uint64_t)mpixq_env.spin_us * 1000;
    bool is_long = !backoff->slept && took_long(backoff, now), was_long = backoff->was_long;
    uint64_t since = now - (spin_ns > MOVING_NS ? spin_ns - MOVING_NS : 0);

    backoff->was_long = is_long;
    if (is_long && was_long && since > backoff->since_ns) {
        backoff->since_ns = since;
    }
    return backoff->slept || is_long;
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
    backoff->slept = false;
    backoff->last_ns = now;
    waited_us = (now - backoff->since_ns) / 1000;
    if (again || (long)waited_us < mpixq_env.spin_us) {
        if (oversubscribed) {
            (void)sched_yield();
            backoff->last_ns = mpixq_now_ns();
        }
        return;
    }
    sleep_us = (long)(waited_us / 16) + 1;
    mpixq_sleep_us(sleep_us < mpixq_env.sleep_max_us ? sleep_us : mpixq_env.sleep_max_us);
    backoff->slept = true;
}
