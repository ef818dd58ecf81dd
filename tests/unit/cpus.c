/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cpus.c - sets of CPUs, and the choice of some beside threads that are bound
 */
#include "unit.h"

#include <string.h>

#include "util/cpus.h"

static struct mpixq_cpus set(const char *list)
{
    struct mpixq_cpus cpus = {{0}};

    if (*list != '\0') {
        assert_true(mpixq_cpus_parse(list, &cpus));
    }
    return cpus;
}

static void lists_are_read_and_written(void **state)
{
    static const char *const good[][2] = {
        {"0", "0"},       {"0-3", "0-3"},         {"0-3,8", "0-3,8"}, {"8,0-3", "0-3,8"},
        {"1,2,3", "1-3"}, {"5-5", "5"},           {"63,64", "63-64"}, {"0-8191", "0-8191"},
        {"7\n", "7"},     {"0,2,4,6", "0,2,4,6"}, {"8191", "8191"},   {"1-2,2-3", "1-3"},
    };
    static const char *const bad[] = {"",
                                      ",",
                                      "1,",
                                      ",1",
                                      "-",
                                      "1-",
                                      "-1",
                                      "2-1",
                                      "a",
                                      "1a",
                                      "1;2",
                                      "8192",
                                      "0x1",
                                      "1--2",
                                      " 1",
                                      "1 ",
                                      "1.5",
                                      "0-8192",
                                      "99999999999999999999"};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct mpixq_cpus cpus = set(good[i][0]);

        assert_string_equal(mpixq_cpus_format(&cpus, text, sizeof text), good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct mpixq_cpus cpus;

        if (mpixq_cpus_parse(bad[i], &cpus)) {
            fail_msg("'%s' is taken for a list", bad[i]);
        }
    }
}

static void long_list_is_cut_off(void **state)
{
    struct mpixq_cpus cpus = {{0}};
    char text[16];

    (void)state;
    for (int cpu = 0; cpu < MPIXQ_CPUS_MAX; cpu += 2) {
        mpixq_cpus_add(&cpus, cpu);
    }
    memset(text, 'x', sizeof text);
    (void)mpixq_cpus_format(&cpus, text, sizeof text - 1);
    assert_true(strlen(text) < sizeof text - 1);
    assert_int_equal(text[sizeof text - 1], 'x');
    assert_int_equal(mpixq_cpus_count(&cpus), MPIXQ_CPUS_MAX / 2);
}

static void sets_are_compared(void **state)
{
    struct mpixq_cpus a = set("1-3"), b = set("2"), c = set("4,200"), none = set("");

    (void)state;
    assert_true(mpixq_cpus_within(&b, &a));
    assert_false(mpixq_cpus_within(&a, &b));
    assert_true(mpixq_cpus_within(&none, &a));
    assert_true(mpixq_cpus_meet(&a, &b));
    assert_false(mpixq_cpus_meet(&a, &c));
    mpixq_cpus_unite(&b, &c);
    assert_true(mpixq_cpus_has(&b, 200));
    assert_false(mpixq_cpus_has(&b, 3));
    assert_int_equal(mpixq_cpus_count(&b), 3);
    assert_true(mpixq_cpus_equal(&a, &a));
    assert_false(mpixq_cpus_equal(&a, &b));
}

static int one_each(int cpu)
{
    return cpu;
}

/* Two CPUs to a core, as many machines number them: n and n + 8. */
static int two_each(int cpu)
{
    return cpu % 8;
}

static void choice_avoids_what_is_taken(void **state)
{
    static const struct {
        const char *allowed, *masks[4]; /* of other threads */
        int (*core_of)(int cpu);
        enum mpixq_choice choice;
        const char *chosen;
    } cases[] = {
        /* Threads that may be anywhere are not bound. */
        {"0-3", {"0-3", "0-3"}, one_each, MPIXQ_CHOICE_UNBOUND, "0-3"},
        {"0-3", {"0-7"}, one_each, MPIXQ_CHOICE_UNBOUND, "0-3"},
        {"0-3", {"4-7", "9"}, one_each, MPIXQ_CHOICE_UNBOUND, "0-3"},
        {"0-3", {"0"}, one_each, MPIXQ_CHOICE_CORES, "1-3"},
        {"0-3", {"0", "1", "2", "0-3"}, one_each, MPIXQ_CHOICE_CORES, "3"},
        {"0-3", {"0-1"}, one_each, MPIXQ_CHOICE_CORES, "2-3"},
        {"0-3", {"0-1", "2-5"}, one_each, MPIXQ_CHOICE_SHARED, "0-3"},
        {"5", {"5"}, one_each, MPIXQ_CHOICE_ONLY, "5"},
        {"5", {"4"}, one_each, MPIXQ_CHOICE_ONLY, "5"},
        /* A whole core is better than a half; a half is better than none. */
        {"0-15", {"0"}, two_each, MPIXQ_CHOICE_CORES, "1-7,9-15"},
        {"0-1,8-9", {"0", "1"}, two_each, MPIXQ_CHOICE_CPUS, "8-9"},
        {"0-1,8-9", {"0", "1", "8"}, two_each, MPIXQ_CHOICE_CPUS, "9"},
        {"0,8", {"0"}, two_each, MPIXQ_CHOICE_CPUS, "8"},
        {"0,8", {"0", "8"}, two_each, MPIXQ_CHOICE_SHARED, "0,8"},
        /* A neighbour on the other half of our core. */
        {"0-1", {"9"}, two_each, MPIXQ_CHOICE_UNBOUND, "0-1"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mpixq_cpus allowed = set(cases[i].allowed), chosen;
        struct mpixq_taken taken = {.all = allowed};

        for (int k = 0; k < 4 && cases[i].masks[k] != NULL; k++) {
            struct mpixq_cpus mask = set(cases[i].masks[k]);

            mpixq_taken_add(&taken, &mask);
        }
        assert_int_equal(mpixq_cpus_choose(&allowed, &taken, cases[i].core_of, &chosen),
                         cases[i].choice);
        assert_string_equal(mpixq_cpus_format(&chosen, text, sizeof text), cases[i].chosen);
    }
}

/* Allowed is more, or less, than what the process was started with. */
static void bound_is_seen_among_all(void **state)
{
    struct mpixq_cpus allowed = set("0-1"), main_mask = set("0"), chosen;
    struct mpixq_taken taken = {.all = set("0-1")};
    char text[64];

    (void)state;
    mpixq_taken_add(&taken, &main_mask);
    assert_int_equal(mpixq_cpus_choose(&allowed, &taken, one_each, &chosen), MPIXQ_CHOICE_CORES);
    assert_string_equal(mpixq_cpus_format(&chosen, text, sizeof text), "1");
    allowed = set("0");
    assert_int_equal(mpixq_cpus_choose(&allowed, &taken, one_each, &chosen), MPIXQ_CHOICE_SHARED);
    assert_string_equal(mpixq_cpus_format(&chosen, text, sizeof text), "0");
}

/* What two looks agree on. */
static void bound_for_a_moment_does_not_count(void **state)
{
    const struct {
        const char *first, *second;
        enum mpixq_choice choice;
        const char *chosen;
    } cases[] = {{"0", "1", MPIXQ_CHOICE_UNBOUND, "0-3"},
                 {"0", "0-3", MPIXQ_CHOICE_UNBOUND, "0-3"},
                 {"0-1", "1-2", MPIXQ_CHOICE_CORES, "0,2-3"},
                 {"3", "3", MPIXQ_CHOICE_CORES, "0-2"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mpixq_cpus allowed = set("0-3"), first = set(cases[i].first);
        struct mpixq_cpus second = set(cases[i].second), chosen;
        struct mpixq_taken taken = {.all = allowed}, later = {.all = allowed};
        char text[64];

        mpixq_taken_add(&taken, &first);
        mpixq_taken_add(&later, &second);
        mpixq_taken_keep(&taken, &later);
        assert_int_equal(mpixq_cpus_choose(&allowed, &taken, one_each, &chosen), cases[i].choice);
        assert_string_equal(mpixq_cpus_format(&chosen, text, sizeof text), cases[i].chosen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_for_a_moment_does_not_count),
        cmocka_unit_test(lists_are_read_and_written),
        cmocka_unit_test(long_list_is_cut_off),
        cmocka_unit_test(sets_are_compared),
        cmocka_unit_test(choice_avoids_what_is_taken),
        cmocka_unit_test(bound_is_seen_among_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
