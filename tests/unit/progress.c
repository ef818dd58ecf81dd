/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * progress.c - the progress thread misses nothing that begins while it goes to sleep
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The thread itself, with the functions below in place of matching, channels and watchdog. */
#include "core/progress.c"

static atomic_int rounds;
static atomic_int kicks;
static atomic_int drives;

/* Called in each round after the thread has looked at mpixq_outstanding. In the last round before
 * it sleeps something begins just then: the thread is awake, so nobody wakes it. */
bool mpixq_match_is_pending(void)
{
    if (atomic_fetch_add(&rounds, 1) == IDLE_TICKS) {
        atomic_fetch_add(&mpixq_outstanding, 1);
        mpixq_progress_wake();
    }
    return false;
}

void mpixq_match_kick(void)
{
    atomic_fetch_add(&kicks, 1);
}

void mpixq_channels_drive(void)
{
    atomic_fetch_add(&drives, 1);
}

long mpixq_watchdog_sleep_ms(void)
{
    return -1;
}

static void drives_what_begins_as_it_falls_asleep(void **state)
{
    (void)state;
    mpixq_progress_setup(MPI_THREAD_MULTIPLE);
    mpixq_progress_wake_slow();
    for (int ms = 0; ms < 5000 && atomic_load(&kicks) == 0; ms++) {
        mpixq_sleep_us(1000);
    }
    assert_true(atomic_load(&kicks) > 0);
    assert_true(atomic_load(&drives) > atomic_load(&kicks)); /* in each round */
    mpixq_progress_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drives_what_begins_as_it_falls_asleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
