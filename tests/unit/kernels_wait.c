/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_wait.c - how long the kernel that waits looks at words that do not come, once the queue
 * has failed: each nap is counted, and none is taken
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

enum { WORDS = 6, MINE = 2 };

static unsigned naps, arrives_at; /* 0: never */
static uint64_t *arriving;

static int take_no_nap(const struct timespec *wanted, struct timespec *rest)
{
    (void)wanted;
    (void)rest;
    if (++naps == arrives_at) {
        *arriving = 1;
    }
    return 0;
}
#define nanosleep take_no_nap
#include "stream/kernels_host.c"

enum { ALL_LOOKS = RARELY * LATE };

static uint64_t gate, halt, done[WORDS], slots[WORDS], left;
static struct mpixq_end_state states[WORDS];
static char buffers[WORDS][MPIXQ_UNIT];

/* One of the kernels that wait: each of them does so for pairs that no GPU counts. */
static void (*wait_for)(struct mpixq_words all);

/* A wait for the first start of WORDS pairs, of which the other ends have come, on a queue that has
 * failed. */
static struct mpixq_words failed_wait(void)
{
    struct mpixq_words all = {.until = {&gate, 1, &halt}, .n = WORDS, .each = 1};

    gate = halt = 1;
    naps = arrives_at = 0;
    left = 0;
    all.word = &left;
    all.value = 7;
    memset(done, 0, sizeof done);
    memset(slots, 0, sizeof slots);
    for (int i = 0; i < WORDS; i++) {
        states[i].value = MPIXQ_STATE_BOTH(1);
        all.at[i].address = &done[i];
        all.at[i].value = 1;
        all.at[i].state = &states[i];
        all.at[i].mine = MINE;
    }
    return all;
}

static void looks_once_for_all(void **state)
{
    (void)state;
    wait_for(failed_wait());
    assert_int_equal(left, 7);
    assert_in_range(naps, ALL_LOOKS, ALL_LOOKS + 2 * WORDS * RARELY);
}

static void looks_once_for_slots(void **state)
{
    struct mpixq_words all = failed_wait();

    (void)state;
    for (int i = 0; i < WORDS; i++) {
        all.at[i].slot = &slots[i];
        all.at[i].to = buffers[i];
        all.at[i].bytes = MPIXQ_UNIT;
    }
    wait_for(all);
    assert_int_equal(left, 7);
    assert_in_range(naps, ALL_LOOKS, ALL_LOOKS + 2 * WORDS * RARELY);
}

/* The data of a live peer comes while it is waited for that of a dead one. */
static void takes_what_comes(void **state)
{
    (void)state;
    struct mpixq_words all = failed_wait();

    arriving = &done[0];
    arrives_at = ALL_LOOKS / 2;
    wait_for(all);
    assert_int_equal(done[0], 1);
    assert_in_range(naps, ALL_LOOKS, ALL_LOOKS + 2 * WORDS * RARELY);
}

/* Where the other end has not come, and after all looks also. */
static void closes_pairs(void **state)
{
    struct mpixq_words all = failed_wait();

    (void)state;
    states[0].value = states[WORDS - 1].value = MINE;
    wait_for(all);
    assert_true(states[0].value == MPIXQ_STATE_CLOSED);
    assert_true(states[WORDS - 1].value == MPIXQ_STATE_CLOSED);
    for (int i = 1; i < WORDS - 1; i++) {
        assert_int_equal(states[i].value, MPIXQ_STATE_BOTH(1));
    }
    naps = 0;
    for (int i = 0; i < WORDS; i++) {
        states[i].value = MINE;
    }
    wait_for(all);
    assert_in_range(naps, WORDS, WORDS * RARELY);
}

/* A queue that has not failed waits on. */
static void waits_for_what_lives(void **state)
{
    struct mpixq_words all = failed_wait();

    (void)state;
    gate = halt = 0;
    all.n = 1;
    arriving = &done[0];
    arrives_at = 3 * ALL_LOOKS;
    wait_for(all);
    assert_int_equal(naps, arrives_at);
    assert_int_equal(states[0].value, MPIXQ_STATE_BOTH(1));
}

/* Slots with nothing but data: each message is copied when its word is there, of any length and to
 * any address, and nothing beside it is written. */
static void copies_whole(void **state)
{
    enum { ROOM = 64 };
    static char from[WORDS][ROOM], to[WORDS][ROOM + 2];
    uint64_t taken[WORDS] = {0};
    struct mpixq_words all = failed_wait();

    (void)state;
    gate = halt = 0;
    memset(from, 'a', sizeof from);
    memset(to, 'z', sizeof to);
    all.n_whole = WORDS;
    for (int i = 0; i < WORDS; i++) {
        done[i] = i > 0 ? 40 : 0;
        all.at[i].state = NULL;
        all.at[i].value = 40;
        all.at[i].mine = 3;
        all.at[i].slot = from[i];
        all.at[i].to = to[i] + 1;
        all.at[i].bytes = i < 4 ? (uint64_t)i : ROOM;
        all.at[i].taken = &taken[i];
    }
    arriving = &done[0];
    arrives_at = 5;
    all.at[0].value = 1;
    wait_for(all);
    assert_int_equal(naps, 5);
    for (int i = 0; i < WORDS; i++) {
        assert_int_equal(taken[i], 3);
        assert_int_equal(to[i][0], 'z');
        assert_int_equal(to[i][all.at[i].bytes + 1], 'z');
        assert_true(all.at[i].bytes == 0 || memcmp(to[i] + 1, from[i], all.at[i].bytes) == 0);
    }
}

/* A message that does not come before the queue has failed is not copied, nor said to be. */
static void copies_nothing(void **state)
{
    static char from[4], to[4] = "zzz";
    uint64_t taken = 0;
    struct mpixq_words all = failed_wait();

    (void)state;
    all.n = all.n_whole = 1;
    all.at[0].state = NULL;
    all.at[0].slot = from;
    all.at[0].to = to;
    all.at[0].bytes = 3;
    all.at[0].taken = &taken;
    wait_for(all);
    assert_int_equal(taken, 0);
    assert_string_equal(to, "zzz");
    assert_int_equal(left, 7);
}

/* Two contributions are combined behind the wait if they have come, and left alone if not: by the
 * kernel that waits, or by one behind it, which a word tells. */
static void combines_what_has_come(void **state)
{
    struct mpixq_words all = failed_wait();
    int mine = 1, theirs = 41, sum = -1;
    uint64_t go = 9;

    (void)state;
    all.is_combined = 1;
    all.at[0].go = &go;
    all.combine = (struct mpixq_combine){.to = (char *)&sum,
                                         .from = {(char *)&mine, (char *)&theirs},
                                         .count = 1,
                                         .bytes = sizeof sum,
                                         .n = 2,
                                         .blocks = 1,
                                         .number = MPIXQ_INT32,
                                         .operation = MPIXQ_SUM,
                                         .go = &go};
    mpixq_wait_combine(all);
    mpixq_combine_all(all.combine);
    assert_int_equal(sum, -1);
    assert_int_equal(go, 0);
    for (int i = 0; i < WORDS; i++) {
        done[i] = 1;
    }
    mpixq_wait_combine(all);
    assert_int_equal(sum, 42);
    assert_int_equal(go, 1);
    sum = -1;
    mpixq_combine_all(all.combine);
    assert_int_equal(sum, 42);
}

static int by_all(void **state)
{
    (void)state;
    wait_for = mpixq_wait_all;
    return 0;
}

static int by_plain(void **state)
{
    (void)state;
    wait_for = mpixq_wait_plain;
    return 0;
}

static int by_combine(void **state)
{
    (void)state;
    wait_for = mpixq_wait_combine;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_once_for_all),   cmocka_unit_test(looks_once_for_slots),
        cmocka_unit_test(takes_what_comes),     cmocka_unit_test(closes_pairs),
        cmocka_unit_test(waits_for_what_lives), cmocka_unit_test(copies_whole),
        cmocka_unit_test(copies_nothing),       cmocka_unit_test(combines_what_has_come),
    };
    int failed = cmocka_run_group_tests_name("mpixq_wait_all", tests, by_all, NULL);

    failed += cmocka_run_group_tests_name("mpixq_wait_plain", tests, by_plain, NULL);
    return failed + cmocka_run_group_tests_name("mpixq_wait_combine", tests, by_combine, NULL);
}
