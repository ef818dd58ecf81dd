/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * progress.c - the progress thread misses nothing that begins while it goes to sleep, and does not
 * sleep by the time of day
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The thread itself. */
#include "util/progress.c"

static atomic_int rounds;
static atomic_int kicks;
static atomic_int drives;

/* Called in each round after the thread has looked at what is outstanding. In the last round before
 * it sleeps something begins just then: the thread is awake, so nobody wakes it. */
static bool is_pending(void)
{
    if (atomic_fetch_add(&rounds, 1) == IDLE_TICKS) {
        atomic_fetch_add(&mpixq_progress.outstanding, 1);
        mpixq_progress_wake();
    }
    return false;
}

static void kick(void)
{
    atomic_fetch_add(&kicks, 1);
}

static void drive(void)
{
    atomic_fetch_add(&drives, 1);
}

static atomic_long sleep_ms = -1;
static atomic_int asked_for_sleep;

static long time_to_sleep(void)
{
    atomic_fetch_add(&asked_for_sleep, 1);
    return atomic_load(&sleep_ms);
}

static const struct mpixq_progress_work work_here = {
    .drive = drive, .is_pending = is_pending, .kick = kick, .sleep_ms = time_to_sleep};

static atomic_int days; /* questions for the time of day */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    atomic_fetch_add(&days, clock == CLOCK_REALTIME);
    return __real_clock_gettime(clock, t);
}

/* It is waited for by a clock that only grows, and all of the time. */
static void a_condition_is_waited_for_by_the_clock_of_the_machine(void **state)
{
    struct mpixq_lock any = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_PROGRESS);
    pthread_cond_t cond;
    uint64_t begin;

    (void)state;
    mpixq_cond_init(&cond);
    mpixq_lock_acquire(&any);
    begin = mpixq_now_ns();
    while (mpixq_cond_wait_ns(&cond, &any, 20000000)) {
        begin = mpixq_now_ns(); /* woken for nothing */
    }
    assert_true(mpixq_now_ns() - begin >= 20000000);
    mpixq_lock_release(&any);
    assert_int_equal(pthread_cond_destroy(&cond), 0);
}

static void drives_what_begins_as_it_falls_asleep(void **state)
{
    (void)state;
    atomic_store(&sleep_ms, 1);
    mpixq_progress_setup(MPI_THREAD_MULTIPLE, &work_here);
    mpixq_progress_wake_slow();
    for (int ms = 0; ms < 5000 && atomic_load(&kicks) == 0; ms++) {
        mpixq_sleep_us(1000);
    }
    assert_true(atomic_load(&kicks) > 0);
    assert_true(atomic_load(&drives) > atomic_load(&kicks)); /* in each round */
    atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    for (int ms = 0; ms < 5000 && atomic_load(&asked_for_sleep) < 3; ms++) {
        mpixq_sleep_us(1000);
    }
    assert_true(atomic_load(&asked_for_sleep) >= 3);
    mpixq_progress_stop();
    assert_int_equal(atomic_load(&days), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_is_waited_for_by_the_clock_of_the_machine),
        cmocka_unit_test(drives_what_begins_as_it_falls_asleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
