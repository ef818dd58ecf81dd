/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * To wait for a semaphore, which a handler of a signal may post, by the clock that nobody sets:
 * POSIX has only the time of day for that before 2024, and glibc since 2.30.
 */
#ifndef MPIXQ_BELL_EXT_H
#define MPIXQ_BELL_EXT_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "backoff.h"

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
static inline bool mpixq_bell_wait_until(sem_t *bell, uint64_t end_ns)
{
    struct timespec until = {.tv_sec = (time_t)(end_ns / 1000000000u),
                             .tv_nsec = (long)(end_ns % 1000000000u)};

    return sem_clockwait(bell, CLOCK_MONOTONIC, &until) == 0;
}
#else
static inline bool mpixq_bell_wait_until(sem_t *bell, uint64_t end_ns)
{
    while (sem_trywait(bell) != 0) {
        if (mpixq_now_ns() >= end_ns) {
            return false;
        }
        mpixq_sleep_us(20000);
    }
    return true;
}
#endif

#endif
