/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How a thread waits for something that nobody wakes it for: it polls without a break for
 * MPIXQ_SPIN_US, yielding the core where ranks outnumber cores or the library's threads share
 * theirs with others, then sleeps between polls for
 * a sixteenth of the time it has waited, at most MPIXQ_SLEEP_MAX_US. So a wait is late by a
 * sixteenth at most, and a long one costs little.
 */
#ifndef MPIXQ_BACKOFF_H
#define MPIXQ_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* The sixteenth. doc/design.md and mpix_queue(7) promise it as well. */
#define MPIXQ_BACKOFF_SHARE 16

struct mpixq_backoff {
    uint32_t polls;
    bool moves;           /* the polls move data, and those that do take longer */
    bool slept;           /* just before the last poll */
    uint64_t long_ns;     /* when the last poll that took long had ended */
    uint64_t woke_ns;     /* when the first poll after the last sleep had ended */
    uint64_t since_ns;    /* 0: the clock was not read yet */
    uint64_t last_ns;     /* when the last poll began */
    uint64_t shortest_ns; /* poll so far */
};

/* Find out whether ranks outnumber the CPUs that this process was started with. Once, before
 * threads, after mpixq_affinity_setup. */
void mpixq_backoff_setup(void);
/* So many ranks are on these CPUs, this one included. At first it is taken to be all of the node,
 * though a launcher that binds may leave each its own CPUs. */
void mpixq_backoff_crowd(int ranks);
/* So many ranks there are for each CPU, at least 1. */
int mpixq_backoff_crowding(void);
/* Others are bound to the CPUs of the library's threads. */
void mpixq_backoff_share(bool share);
bool mpixq_backoff_yields(void);
static inline void mpixq_backoff_begin(struct mpixq_backoff *backoff)
{
    *backoff = (struct mpixq_backoff){.polls = 0};
}
/* The slow part of a pause: looks at the clock. */
void mpixq_backoff_slow(struct mpixq_backoff *backoff);
/* In a poll that does not look, as another thread is at it: how long that takes tells nothing. */
void mpixq_backoff_busy(void);
/* After a poll that found nothing. The first few cost next to nothing. */
static inline void mpixq_backoff_pause(struct mpixq_backoff *backoff)
{
    if (++backoff->polls > 64) {
        mpixq_backoff_slow(backoff);
    }
}
/* Nanoseconds of a clock that only grows. */
uint64_t mpixq_now_ns(void);
/* Sleep; wakes early only by a signal. */
void mpixq_sleep_us(long us);

#endif
