/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * signal_word.c - what a signal counts: parts of striped messages add up to events in any order, no
 * proper part of them looks complete, and an event too many is seen however it comes.
 */
#include "unit.h"

#include "rma/signal_word.h"

enum { MOST = 64 };

struct part {
    uint32_t part, parts;
};

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

/* The parts of n messages in a random order. */
static int mix(struct part all[MOST], int n, unsigned *seed)
{
    int n_parts = 0;

    for (int i = 0; i < n; i++) {
        uint32_t parts = next(seed) % 3 == 0 ? 1 : 1 + next(seed) % 7;

        for (uint32_t k = 0; k < parts; k++) {
            all[n_parts++] = (struct part){.part = k, .parts = parts};
        }
    }
    for (int i = n_parts - 1; i > 0; i--) {
        int k = (int)(next(seed) % (unsigned)(i + 1));
        struct part other = all[i];

        all[i] = all[k];
        all[k] = other;
    }
    return n_parts;
}

static void zero_when_all_parts_are_there(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int run = 0; run < 2000; run++) {
        int n = 1 + (int)(next(&seed) % 8), n_parts;
        struct part all[MOST];
        int64_t word = n;

        n_parts = mix(all, n, &seed);
        for (int i = 0; i < n_parts; i++) {
            assert_true(word != 0);
            assert_false(mpixq_signal_has_overflow(word));
            word += mpixq_signal_addend(all[i].part, all[i].parts);
        }
        assert_int_equal(word, 0);
    }
}

static void surplus_is_seen(void **state)
{
    unsigned seed = 7;

    (void)state;
    for (int run = 0; run < 500; run++) {
        int n = 1 + (int)(next(&seed) % 4), more = 1 + (int)(next(&seed) % 4), n_parts;
        struct part all[MOST];
        int64_t word = n;

        n_parts = mix(all, n + more, &seed);
        for (int i = 0; i < n_parts; i++) {
            word += mpixq_signal_addend(all[i].part, all[i].parts);
        }
        assert_true(mpixq_signal_has_overflow(word));
        assert_int_equal(mpixq_signal_events(word), more);
    }
}

static void largest_numbers_fit(void **state)
{
    int64_t word = INT32_MAX;

    (void)state;
    assert_false(mpixq_signal_has_overflow(word));
    assert_int_equal(mpixq_signal_events(word), INT32_MAX);
    word += mpixq_signal_addend(0, MPIXQ_SIGNAL_PARTS);
    assert_false(mpixq_signal_has_overflow(word));
    assert_int_equal(mpixq_signal_events(word), INT32_MAX - 1);
    for (uint32_t k = 1; k < MPIXQ_SIGNAL_PARTS; k++) {
        word += mpixq_signal_addend(k, MPIXQ_SIGNAL_PARTS);
    }
    assert_int_equal(word, INT32_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_when_all_parts_are_there),
        cmocka_unit_test(surplus_is_seen),
        cmocka_unit_test(largest_numbers_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
