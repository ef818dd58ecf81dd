/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * backoff.c - waiting by polling: every pause ends, however long the wait has been. How long a
 * pause is, is a matter of the machine, and not tested.
 */
#include "unit.h"

#include <stdlib.h>

#include "core/backoff.h"
#include "core/env.h"

/* Wait as a thread does whose work never comes, for some time; returns the number of polls. */
static unsigned poll_for_us(uint64_t us)
{
    struct mpixq_backoff backoff;
    uint64_t end = mpixq_now_ns() + us * 1000;
    unsigned polls = 0;

    mpixq_backoff_begin(&backoff);
    while (mpixq_now_ns() < end) {
        mpixq_backoff_pause(&backoff);
        polls++;
    }
    return polls;
}

static void pauses_end(void **state)
{
    static const long spins[] = {0, 100, 1000000}, sleeps[] = {1, 1000, 100000};

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            mpixq_env.spin_us = spins[i];
            mpixq_env.sleep_max_us = sleeps[k];
            assert_true(poll_for_us(20000) > 0);
        }
    }
}

/* As if the wait had begun when the clock did: no sleep is longer than the limit. */
static void old_wait_does_not_sleep_for_ever(void **state)
{
    struct mpixq_backoff backoff = {.polls = 1000, .since_ns = 1};

    (void)state;
    mpixq_env.spin_us = 0;
    mpixq_env.sleep_max_us = 1;
    for (int i = 0; i < 100; i++) {
        mpixq_backoff_pause(&backoff);
    }
    assert_int_equal(backoff.polls, 1100);
    assert_int_equal(backoff.since_ns, 1);
}

static void wait_begins_anew(void **state)
{
    struct mpixq_backoff backoff = {.polls = 1000, .since_ns = 1};

    (void)state;
    mpixq_backoff_begin(&backoff);
    assert_int_equal(backoff.polls, 0);
    /* The first pauses do not even look at the clock. */
    for (int i = 0; i < 64; i++) {
        mpixq_backoff_pause(&backoff);
        assert_int_equal(backoff.since_ns, 0);
    }
    mpixq_backoff_pause(&backoff);
    assert_true(backoff.since_ns > 1);
}

static void more_ranks_than_cores_end_too(void **state)
{
    (void)state;
    assert_int_equal(setenv("MPI_LOCALNRANKS", "1000000", 1), 0);
    assert_int_equal(setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000", 1), 0);
    mpixq_backoff_setup();
    pauses_end(state);
    assert_int_equal(setenv("MPI_LOCALNRANKS", "1", 1), 0);
    assert_int_equal(setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1", 1), 0);
    mpixq_backoff_setup();
    pauses_end(state);
}

static void clock_only_grows(void **state)
{
    uint64_t last = mpixq_now_ns();

    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t now = mpixq_now_ns();

        assert_true(now >= last);
        last = now;
    }
    mpixq_sleep_us(1000);
    assert_true(mpixq_now_ns() - last >= 1000000);
    mpixq_sleep_us(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_end),       cmocka_unit_test(old_wait_does_not_sleep_for_ever),
        cmocka_unit_test(wait_begins_anew), cmocka_unit_test(more_ranks_than_cores_end_too),
        cmocka_unit_test(clock_only_grows),
    };

    mpixq_env_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
