/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * tags.c - the tags of the fallback channel. The source is included, to begin next to the largest
 * tag: two thousand million calls would lead there otherwise.
 */
#include "unit.h"

#include <limits.h>

#include "util/alloc.h"
#include "util/env.h"
#include "fallback/tags.c"

enum { N_TAGS = 500, N_SOURCES = 5 };

static struct mpixq_tags tags;

static int end(void **state)
{
    (void)state;
    atomic_store(&mpixq_allocs.fail_in, 0);
    mpixq_tags_close(&tags);
    return tags.sources == NULL && unit_live_blocks() == 0 ? 0 : -1;
}

static void all_tags_are_distinct(void **state)
{
    (void)state;
    for (int largest = 0; largest < 40; largest++) {
        bool seen[40] = {false};

        mpixq_tags_open(&tags, largest);
        assert_int_equal(tags.largest, largest);
        for (int i = 0; i <= largest; i++) {
            int tag = mpixq_tag_take(&tags, 7);

            assert_in_range(tag, 0, largest);
            assert_false(seen[tag]);
            seen[tag] = true;
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(mpixq_tag_take(&tags, 7), -1);
        }
        mpixq_tags_close(&tags);
    }
}

static void tags_given_back_come_again(void **state)
{
    (void)state;
    mpixq_tags_open(&tags, 9);
    for (int i = 0; i < 10; i++) {
        assert_true(mpixq_tag_take(&tags, 0) >= 0);
    }
    for (int tag = 0; tag < 10; tag++) {
        mpixq_tag_give_back(&tags, 0, tag);
        assert_int_equal(mpixq_tag_take(&tags, 0), tag);
        assert_int_equal(mpixq_tag_take(&tags, 0), -1);
    }
}

static void sources_are_apart(void **state)
{
    (void)state;
    mpixq_tags_open(&tags, 0);
    for (int source = 0; source < 1000; source++) {
        assert_int_equal(mpixq_tag_take(&tags, source), 0);
    }
    for (int source = 0; source < 1000; source++) {
        assert_int_equal(mpixq_tag_take(&tags, source), -1);
    }
    mpixq_tag_give_back(&tags, 500, 0);
    assert_int_equal(mpixq_tag_take(&tags, 499), -1);
    assert_int_equal(mpixq_tag_take(&tags, 501), -1);
    assert_int_equal(mpixq_tag_take(&tags, 500), 0);
}

/* Random takes and returns against a table of what is in use. */
static void random_use(uint64_t seed, bool fail)
{
    static bool used[N_SOURCES][N_TAGS];
    int n_used[N_SOURCES] = {0};
    uint64_t random = seed;

    mpixq_tags_open(&tags, N_TAGS - 1);
    for (int step = 0; step < 5000; step++) {
        int source = unit_pick(&random, N_SOURCES), tag = unit_pick(&random, N_TAGS);

        /* A take may fail then; a return may not, or the tag would never come again. */
        atomic_store(&mpixq_allocs.fail_in, fail ? unit_pick(&random, 2) : 0);
        if (used[source][tag]) {
            atomic_store(&mpixq_allocs.fail_in, 0);
            mpixq_tag_give_back(&tags, source, tag);
            used[source][tag] = false;
            n_used[source]--;
            continue;
        }
        tag = mpixq_tag_take(&tags, source);
        if (tag < 0) {
            assert_true(n_used[source] == N_TAGS || (fail && n_used[source] == 0));
        } else {
            assert_true(tag < N_TAGS && !used[source][tag]);
            used[source][tag] = true;
            n_used[source]++;
        }
    }
    for (int source = 0; source < N_SOURCES; source++) {
        for (int tag = 0; tag < N_TAGS; tag++) {
            used[source][tag] = false;
        }
    }
    atomic_store(&mpixq_allocs.fail_in, 0);
    mpixq_tags_close(&tags);
    assert_int_equal(unit_live_blocks(), 0);
}

static void no_tag_is_given_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        random_use(seed, seed % 2 == 1);
    }
}

static void largest_tag_may_be_the_largest_int(void **state)
{
    struct mpixq_tag_source *source;

    (void)state;
    mpixq_tags_open(&tags, INT_MAX);
    assert_int_equal(mpixq_tag_take(&tags, 3), 0);
    source = source_get(&tags, 3);
    assert_non_null(source);
    source->next = INT_MAX - 1;
    assert_int_equal(mpixq_tag_take(&tags, 3), INT_MAX - 1);
    assert_int_equal(mpixq_tag_take(&tags, 3), INT_MAX);
    assert_int_equal(mpixq_tag_take(&tags, 3), -1);
    assert_int_equal(mpixq_tag_take(&tags, 3), -1);
    mpixq_tag_give_back(&tags, 3, INT_MAX);
    assert_int_equal(mpixq_tag_take(&tags, 3), INT_MAX);
    assert_int_equal(mpixq_tag_take(&tags, 3), -1);
}

/* Without memory there is no tag; with it there is, as if nothing had been. */
static void take_survives_failed_allocations(void **state)
{
    long n = 1;
    int tag;

    (void)state;
    mpixq_tags_open(&tags, 0);
    do {
        atomic_store(&mpixq_allocs.fail_in, n++);
        tag = mpixq_tag_take(&tags, 5);
        assert_true(tag == 0 || unit_live_blocks() == 0);
    } while (tag < 0);
    assert_true(n > 3);
    atomic_store(&mpixq_allocs.fail_in, 0);
    assert_int_equal(mpixq_tag_take(&tags, 5), -1);
}

/* A return that finds no memory costs that tag, and nothing else. */
static void return_survives_failed_allocations(void **state)
{
    bool is_free[N_TAGS];
    int lost = 0, tag;

    (void)state;
    mpixq_env.log = 0; /* it warns */
    mpixq_tags_open(&tags, N_TAGS - 1);
    for (int i = 0; i < N_TAGS; i++) {
        assert_int_equal(mpixq_tag_take(&tags, 1), i);
    }
    for (int i = 0; i < N_TAGS; i++) {
        bool fail = i % 3 == 0; /* and let the list grow in between */

        atomic_store(&mpixq_allocs.fail_in, fail);
        mpixq_tag_give_back(&tags, 1, i);
        is_free[i] = !fail || atomic_load(&mpixq_allocs.fail_in) == 1;
        lost += !is_free[i];
    }
    atomic_store(&mpixq_allocs.fail_in, 0);
    assert_true(lost > 0);
    for (int i = 0; i < N_TAGS - lost; i++) {
        tag = mpixq_tag_take(&tags, 1);
        assert_in_range(tag, 0, N_TAGS - 1);
        assert_true(is_free[tag]);
        is_free[tag] = false;
    }
    assert_int_equal(mpixq_tag_take(&tags, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_tags_are_distinct, end),
        cmocka_unit_test_teardown(tags_given_back_come_again, end),
        cmocka_unit_test_teardown(sources_are_apart, end),
        cmocka_unit_test_teardown(no_tag_is_given_twice, end),
        cmocka_unit_test_teardown(largest_tag_may_be_the_largest_int, end),
        cmocka_unit_test_teardown(take_survives_failed_allocations, end),
        cmocka_unit_test_teardown(return_survives_failed_allocations, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
