/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "lock.h"

#include <time.h>

#include "backoff.h"

void mpixq_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

bool mpixq_cond_wait_ns(pthread_cond_t *cond, struct mpixq_lock *lock, uint64_t ns)
{
    uint64_t end = mpixq_now_ns() + ns;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000u),
                             .tv_nsec = (long)(end % 1000000000u)};
    bool is_woken;

    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_forget(lock, lock->rank);
        mpixq_lock_check(lock->rank);
    }
    is_woken = pthread_cond_timedwait(cond, &lock->mutex, &until) == 0;
    if (MPIXQ_LOCK_CHECKS) {
        mpixq_lock_note(lock, lock->rank);
    }
    return is_woken;
}
