/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * patience.c - threads that are stopped between two looks: what was told meanwhile is found by the
 * next look, and what is found old has been looked at several times
 */
#include "unit.h"

#include <mpi.h>
#include <unistd.h>

#include "core/channel.h"
#include "core/graphs.h"
#include "util/age.h"
#include "util/patience.h"

/* How long mpixq_graphs_keep_started looks, and more. */
enum { STOPPED_US = 700000, LIMIT = 800, EVERY = LIMIT / 8 };

static int n_looks, stopped_at, told_at; /* looks of the pair, from 1 */

/* The thread is stopped at the end of a look, and meanwhile the GPU tells. */
static enum mpixq_error refresh(struct mpixq_pair *pair)
{
    n_looks++;
    if (n_looks == stopped_at) {
        (void)usleep(STOPPED_US);
    }
    if (n_looks >= told_at) {
        mpixq_pair_raise_done(pair, 1);
    }
    return MPIXQ_E_NONE;
}

static bool keep_started(int stopped, int told)
{
    static const struct mpixq_channel_graphs graphs = {.refresh = refresh};
    static const struct mpixq_channel channel = {.name = "none", .graphs = &graphs};
    struct mpixq_pair pair = {.channel = &channel};
    struct mpixq_counted counted = {.pair = &pair};

    n_looks = 0;
    stopped_at = stopped;
    told_at = told;
    atomic_store(&pair.counted, &counted);
    (void)mpixq_pair_raise(&pair.executed, 1);
    return mpixq_graphs_keep_started(&pair);
}

static void test_stopped(void **state)
{
    (void)state;
    /* Also if this machine stands still before the first look. */
    for (int told = 3; told <= 1 + MPIXQ_PATIENCE_LOOKS; told++) {
        for (int stopped = 2; stopped < told; stopped++) {
            assert_false(keep_started(stopped, told));
        }
    }
}

/* It does not look for ever. */
static void test_never_told(void **state)
{
    (void)state;
    assert_true(keep_started(0, INT32_MAX));
    assert_true(keep_started(2, INT32_MAX));
    assert_in_range(n_looks, 1 + MPIXQ_PATIENCE_LOOKS, 2 + MPIXQ_PATIENCE_LOOKS);
}

static void test_goes_on(void **state)
{
    struct mpixq_patience patience;

    (void)state;
    mpixq_patience_begin(&patience, 1000, LIMIT);
    for (uint64_t now = 1000; now < 1000 + LIMIT; now++) {
        assert_true(mpixq_patience_goes_on(&patience, now));
    }
    for (int i = 0; i < MPIXQ_PATIENCE_LOOKS; i++) {
        assert_true(mpixq_patience_goes_on(&patience, 1000 + LIMIT));
    }
    assert_false(mpixq_patience_goes_on(&patience, 1000 + LIMIT));
}

/* What a watchdog finds that first sees something at the given look, all but one of which are
 * EVERY apart: before that one the machine stands still. Returns how many looks it takes until it
 * is old. */
static int looks_until_old(int first, int still, uint64_t stands)
{
    struct mpixq_looks looks = {.n = 0};
    uint64_t now = 5000, since = 0, before;

    for (int i = 0; i < 100; i++, now += EVERY) {
        now += i == still ? stands : 0;
        before = mpixq_looks_note(&looks, now);
        if (i == first) {
            since = now;
        }
        if (i >= first && mpixq_age_is_old(since, before, now, LIMIT)) {
            return i - first;
        }
    }
    return -1;
}

static void test_old(void **state)
{
    (void)state;
    for (int first = 0; first < 10; first++) {
        assert_int_equal(looks_until_old(first, -1, 0), LIMIT / EVERY);
        for (int still = first + 1; still < first + 8; still++) {
            int looks = looks_until_old(first, still, LIMIT);

            assert_int_equal(looks,
                             still - first > MPIXQ_AGE_LOOKS ? still - first : MPIXQ_AGE_LOOKS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_never_told),
        cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
