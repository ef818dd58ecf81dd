/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * backoff.c - waiting by polling: every pause ends, however long the wait has been, and asks for no
 * longer a sleep than is promised. How long it then takes is a matter of the machine.
 */
#include "unit.h"

#include <stdlib.h>
#include <time.h>

#include "util/backoff.h"
#include "util/env.h"

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

/* A clock for tests that has only the time that they let pass; 0: the machine's. */
static uint64_t test_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (test_ns == 0) {
        return __real_clock_gettime(clock, t);
    }
    *t = (struct timespec){(time_t)(test_ns / 1000000000u), (long)(test_ns % 1000000000u)};
    return 0;
}

static uint64_t asked_ns; /* for sleep, since it was set to 0 */

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    asked_ns += (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
    if (test_ns != 0) {
        test_ns += (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
        return 0;
    }
    return t->tv_sec == 0 && t->tv_nsec < 2000000 ? __real_nanosleep(t, left) : 0;
}

/* A sleep is a sixteenth of the wait so far, or MPIXQ_SLEEP_MAX_US if that is less: the first half
 * of it bounds how late the end of the wait is seen, the second half how many polls it takes. */
static void sleeps_a_sixteenth(void **state)
{
    static const uint64_t waits_us[] = {160, 16000, 1600000, 160000000};

    (void)state;
    mpixq_env.spin_us = 100;
    for (int i = 0; i < 4; i++) {
        for (long most_us = 10; most_us <= 100000; most_us *= 100) {
            uint64_t now = mpixq_now_ns(), share_ns, most_ns = (uint64_t)most_us * 1000;
            struct mpixq_backoff backoff = {.polls = 64};

            mpixq_env.sleep_max_us = most_us;
            backoff.since_ns = now > waits_us[i] * 1000 ? now - waits_us[i] * 1000 : 1;
            share_ns = (now - backoff.since_ns) / 16;
            asked_ns = 0;
            mpixq_backoff_pause(&backoff);
            assert_true(asked_ns <= most_ns);
            assert_true(asked_ns <= (mpixq_now_ns() - backoff.since_ns) / 16 + 1000);
            assert_true(asked_ns + 1000 >= (share_ns < most_ns ? share_ns : most_ns));
        }
    }
}

static void burn_us(uint64_t us)
{
    uint64_t end = mpixq_now_ns() + us * 1000;

    while (mpixq_now_ns() < end) {
    }
}

/* Now and then another thread is at it, and a poll does not even look. Those that do are long, but
 * move no more data for that. */
static void poll_that_does_not_look_tells_nothing(void **state)
{
    struct mpixq_backoff backoff;

    (void)state;
    mpixq_env.spin_us = 1000;
    mpixq_env.sleep_max_us = 10;
    mpixq_backoff_begin(&backoff);
    backoff.moves = true;
    asked_ns = 0;
    for (int i = 0; i < 1000; i++) {
        if (i % 100 == 66) {
            mpixq_backoff_busy();
        } else {
            burn_us(20);
        }
        mpixq_backoff_pause(&backoff);
    }
    assert_true(asked_ns > 0);
}

/* A wait that drives MPI, with the clock of the test. */
static void begin_to_move(struct mpixq_backoff *backoff)
{
    mpixq_env.spin_us = 1000;
    mpixq_env.sleep_max_us = 1000;
    test_ns = 1000000000;
    asked_ns = 0;
    mpixq_backoff_begin(backoff);
    backoff->moves = true;
}

/* A large message that comes in fragments until 20 ms after from_ns, one each gap_ns from then on,
 * each of which takes a poll 4 us more than the 0.3 of one that finds nothing. */
static void poll_fragments(struct mpixq_backoff *backoff, uint64_t from_ns, uint64_t gap_ns)
{
    uint64_t next_ns = from_ns, end_ns = from_ns + 20000000;

    while (test_ns < end_ns) {
        test_ns += 300;
        if (test_ns >= next_ns) {
            test_ns += 4000;
            next_ns = test_ns + gap_ns;
        }
        mpixq_backoff_pause(backoff);
    }
}

static void poll_none(struct mpixq_backoff *backoff)
{
    for (uint64_t end_ns = test_ns + 20000000; test_ns < end_ns; mpixq_backoff_pause(backoff)) {
        test_ns += 300;
    }
}

/* Whoever waits for one does not sleep, though most polls find nothing. */
static void fragments_keep_awake(void **state)
{
    struct mpixq_backoff backoff;

    (void)state;
    for (uint64_t gap_ns = 1000; gap_ns <= 50000; gap_ns += 3500) {
        begin_to_move(&backoff);
        poll_fragments(&backoff, test_ns, gap_ns);
        assert_int_equal(asked_ns, 0);
    }
    test_ns = 0;
}

/* Who sleeps wakes up when one begins, and then for good; afterwards it sleeps again. */
static void fragments_wake(void **state)
{
    struct mpixq_backoff backoff;

    (void)state;
    for (uint64_t gap_ns = 1000; gap_ns <= 15000; gap_ns += 3500) {
        begin_to_move(&backoff);
        poll_fragments(&backoff, test_ns + 200000000, gap_ns); /* the first comes late */
        asked_ns = 0;
        poll_fragments(&backoff, test_ns, gap_ns);
        assert_int_equal(asked_ns, 0);
        poll_none(&backoff);
        assert_true(asked_ns > 10000000);
    }
    test_ns = 0;
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
    mpixq_backoff_crowd(1000000);
    pauses_end(state);
    mpixq_backoff_crowd(1);
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
        cmocka_unit_test(pauses_end),
        cmocka_unit_test(old_wait_does_not_sleep_for_ever),
        cmocka_unit_test(wait_begins_anew),
        cmocka_unit_test(more_ranks_than_cores_end_too),
        cmocka_unit_test(clock_only_grows),
        cmocka_unit_test(sleeps_a_sixteenth),
        cmocka_unit_test(poll_that_does_not_look_tells_nothing),
        cmocka_unit_test(fragments_keep_awake),
        cmocka_unit_test(fragments_wake),
    };

    mpixq_env_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
