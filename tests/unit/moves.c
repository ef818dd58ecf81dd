/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * moves.c - the kernel that starts ends of pairs, where its order matters and no run would show it:
 * the words are written by functions of this test, which keeps the order
 */
#include "unit.h"

#include <string.h>

#include "stream/pieces.h"

typedef mpixq_word_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));
typedef unsigned unit_t __attribute__((may_alias));

enum { MANY = 32, UNITS = 8 };

/* Whether kernels for pairs that no GPU counts do what they can. */
static bool is_plain;

/* What was written, and where all before was made visible: NULL. */
static const word_t *written[MANY];
static int n_written;

static inline void put(word_t *word, word_t value)
{
    *word = value;
    written[n_written++] = word;
}

/* As one store. */
static inline void put_two(word_t *words, word_t first, word_t second)
{
    put(words, first);
    words[1] = second;
}

static inline void store_end(word_t *word, word_t value)
{
    put(word, value);
}

static inline void release(void)
{
    written[n_written++] = NULL;
}

static inline void release_here(void)
{
}

static inline word_t peek(const word_t *word)
{
    return *word;
}

static inline word_t count(word_t *word, word_t value)
{
    word_t before = *word;

    *word += value;
    return before;
}

static inline void add(word_t *word, word_t value)
{
    *word += value;
}

static inline word_t replace(word_t *word, word_t expected, word_t value)
{
    word_t before = *word;

    if (before == expected) {
        put(word, value);
    }
    return before;
}

/* Nobody else is here to be waited for. */
static inline void nap(void)
{
    abort();
}

static inline void meet(void)
{
}

#define store(word, value) put(word, value)
#define load(word) peek(word)
#define add_here(word, value) count(word, value)
#define store_here(word, value) put(word, value)
#define load_here(word) peek(word)
#define MPIXQ_KERNEL static void
#define MPIXQ_INLINE static inline
#define MPIXQ_SHARED
#define ONE_BY_ONE
#define AWAIT_EARLIER
#define LET_LATER_COME
#define IS_FIRST true
#define LATE 16u
#define TURNS 1u
#define TURN 0u
#define EACH_PIECE(i, all) for (unsigned i = 0; i < (all).n; i++)
#define EACH_WORD(i, all) for (unsigned i = 0; i < (all).n; i++)
#define EACH_BLOCK(block, all) for (unsigned block = 0; block < (all).blocks; block++)
#define EACH_OF_GROUP(k, n) for (unsigned k = 0; k < (n); k++)
#define BLOCKS_OF(move) ((move).blocks)
#define BLOCKS_OF_ALL(all) 1u
#define EACH_OF_BLOCK(i, all) for (unsigned i = 0; i < (all).n; i++)
#define PART(all) 0
#define PARTS(all) 1
#define BLOCK_SHARE THREAD
#define BLOCK_SHARES(all) THREADS
#define PART_OF_GROUP(n) 0
#define PARTS_OF_GROUP(n) 1
#define THREAD 0u
#define BLOCK 0u
#define THREADS 1u
#pragma GCC diagnostic ignored "-Wunused-function" /* other kernels */
#include "stream/kernels.inc"

/* A pair with slots, whose starts before this one have all completed. */
static struct mpixq_end sender, receiver;
static struct mpixq_told told_sender, told_receiver;
static word_t slots[MPIXQ_SLOTS][UNITS];
static char from[UNITS * MPIXQ_UNIT], to[sizeof from];

static struct mpixq_moves start(bool is_send, word_t value)
{
    struct mpixq_moves all = {.n = 1, .n_near = 1, .n_small = 1, .group = 1, .blocks = 1};

    memset(&sender, 0, sizeof sender);
    memset(&receiver, 0, sizeof receiver);
    memset(slots, 0, sizeof slots);
    memset(from, 'f', sizeof from);
    memset(to, 't', sizeof to);
    n_written = 0;
    sender.done = receiver.done = told_sender.done = told_receiver.done = value - 1;
    sender.posted = value - 1;
    receiver.state.value = MPIXQ_STATE_BOTH(value - 1);
    all.move[0] = (struct mpixq_move){.to = to,
                                      .from = from,
                                      .bytes = sizeof from,
                                      .own = is_send ? &sender : &receiver,
                                      .peer = is_send ? &receiver : &sender,
                                      .own_told = is_send ? &told_sender : &told_receiver,
                                      .told = &told_receiver,
                                      .value = value,
                                      .slot = slots[value % MPIXQ_SLOTS],
                                      .blocks = 1,
                                      .is_send = is_send};
    return all;
}

static int place_of(const word_t *word)
{
    for (int i = 0; i < n_written; i++) {
        if (written[i] == word) {
            return i;
        }
    }
    fail_msg("it was never written");
    return -1;
}

/* What is launched: another kernel for pairs that no GPU counts. */
static bool any_is_counted(const struct mpixq_moves *all)
{
    bool any = false;

    for (unsigned i = 0; i < all->n; i++) {
        any = any || all->move[i].is_counted;
    }
    return any;
}

static void move_by(struct mpixq_moves all)
{
    if (is_plain && !any_is_counted(&all)) {
        mpixq_move_plain(all);
    } else {
        mpixq_move_all(all);
    }
}

static void pass_by(struct mpixq_moves all)
{
    if (is_plain && !any_is_counted(&all)) {
        mpixq_pass_plain(all);
    } else {
        mpixq_pass_all(all);
    }
}

/* The sender sees done, goes on, and tells the hosts of its next start: never before they have
 * heard of this one. */
static void test_hosts_hear_first(void **state)
{
    struct mpixq_moves all = start(false, 9);
    int done;

    (void)state;
    receiver.state.value = MPIXQ_STATE_SEND(9);
    move_by(all);
    assert_memory_equal(to, from, sizeof from);
    done = place_of(&sender.done);
    assert_true(place_of(&told_receiver.done) < done);
    assert_ptr_equal(written[done - 1], NULL);
    assert_int_equal(sender.done, 9);
    assert_int_equal(receiver.done, 9);
    assert_int_equal(told_receiver.done, 9);
}

/* Without slots what is told is that the data is there. */
static void test_data_comes_first(void **state)
{
    struct mpixq_moves all = start(false, 9);

    (void)state;
    sender.state.value = MPIXQ_STATE_SEND(9);
    all.move[0].slot = NULL;
    move_by(all);
    assert_int_equal(sender.state.value, MPIXQ_STATE_BOTH(9));
    assert_int_equal(receiver.state.value, MPIXQ_STATE_BOTH(8));
    assert_true(place_of(NULL) < place_of(&sender.done));
    assert_true(place_of(&sender.done) < place_of(&told_receiver.done));
}

/* A sender that finds its receiver there moves the data, by memory of its own GPU alone, and
 * nothing has to be visible before. */
static void test_finds_receiver(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    sender.state.value = MPIXQ_STATE_RECEIVE(9);
    all.move[0].slot = NULL;
    move_by(all);
    assert_memory_equal(to, from, sizeof from);
    assert_ptr_equal(written[0], &sender.state.value);
    assert_int_equal(sender.state.value, MPIXQ_STATE_BOTH(9));
    assert_int_equal(receiver.state.value, MPIXQ_STATE_BOTH(8));
    assert_int_equal(receiver.done, 9);
}

/* One that does not says that it has come, behind what it sends: the receiver will read that. */
static void test_leaves_it_to_receiver(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    sender.state.value = MPIXQ_STATE_BOTH(8);
    all.move[0].slot = NULL;
    move_by(all);
    assert_int_equal(sender.state.value, MPIXQ_STATE_SEND(9));
    assert_true(place_of(NULL) < place_of(&sender.state.value));
    assert_int_equal(receiver.done, 8);
    assert_int_equal(to[0], 't');
}

/* Nor does one whose receiver was taken back ever move anything. */
static void test_receiver_is_gone(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    sender.state.value = MPIXQ_STATE_CLOSED;
    all.move[0].slot = NULL;
    move_by(all);
    assert_int_equal(sender.state.value, MPIXQ_STATE_CLOSED);
    assert_int_equal(receiver.done, 8);
    assert_int_equal(to[0], 't');
}

/* The host has seen that start 8 was done, and the GPU has not: start 9 does not go ahead. */
static void test_host_was_faster(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    sender.done = 7;
    all.move[0].is_after_host = true;
    move_by(all);
    assert_int_equal(receiver.state.value, MPIXQ_STATE_SEND(9));
    assert_int_equal(sender.done, 7);
    assert_int_equal(told_receiver.done, 8);
    assert_int_equal(slots[9 % MPIXQ_SLOTS][0], 0);
}

/* Words that the pair before has left may be less than the first number of this one: that does not
 * keep its first send, which its GPU counts, from its slot. */
static void test_first_goes_ahead(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    sender.done = sender.posted = 0;
    all.move[0].value = 8;
    all.move[0].slot = slots[0];
    all.move[0].is_counted = all.move[0].is_early = all.move[0].is_after_host = true;
    move_by(all);
    assert_int_equal(sender.started, 9);
    assert_int_equal(sender.done, 9);
    assert_int_not_equal(slots[9 % MPIXQ_SLOTS][0], 0);
}

/* Stores to memory of the host are slow: of a start that is counted, and goes to its slot, there is
 * one for both hosts. */
static void test_tells_hosts_once(void **state)
{
    struct mpixq_moves all = start(true, 9);
    int told = 0;

    (void)state;
    told_sender.started = 8;
    all.move[0].value = 8;
    all.move[0].slot = slots[0];
    all.move[0].is_counted = true;
    move_by(all);
    for (int i = 0; i < n_written; i++) {
        told += written[i] == &told_sender.done || written[i] == &told_sender.started ||
                written[i] == &told_receiver.done;
    }
    assert_int_equal(told, 1);
    assert_int_equal(told_receiver.done, 9);
}

static void test_goes_ahead(void **state)
{
    (void)state;
    for (int after_host = 0; after_host < 2; after_host++) {
        struct mpixq_moves all = start(true, 9);

        all.move[0].is_after_host = after_host != 0;
        move_by(all);
        assert_int_equal(receiver.state.value, MPIXQ_STATE_BOTH(8));
        assert_int_equal(sender.done, 9);
        assert_int_equal(told_sender.done, 8); /* the sender's host reads the receiver's */
        assert_int_equal(told_receiver.done, 9);
        assert_int_equal(receiver.done, 8);
        for (int i = 0; i < UNITS; i++) {
            assert_int_equal(slots[9 % MPIXQ_SLOTS][i], flag_of(9) | 0x66666666);
        }
    }
}

/* Both ends of a pair by one launch, which waits for them: first the receiver comes, then the
 * sender. That the stream has come here is said before anything else, that it has passed at
 * last. */
static void test_passes(void **state)
{
    struct mpixq_moves all = start(true, 9);
    word_t gate = 0, came = 0, passed = 0;

    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        all = start(true, 9);
        all.n = all.n_near = all.n_small = 2;
        all.group = 2;
        all.each = 1;
        all.move[1] = all.move[0];
        all.move[0].own = &receiver;
        all.move[0].own_told = &told_receiver;
        all.move[0].peer = &sender;
        all.move[0].told = &told_receiver;
        all.move[0].is_send = false;
        all.until = (struct mpixq_until){&gate, 1, &gate};
        all.came = &came;
        all.came_value = 3;
        all.word = &passed;
        all.value = 4;
        for (int i = 0; counted != 0 && i < 2; i++) {
            all.move[i].is_counted = true;
            all.move[i].value = 8;
            all.move[i].slot = slots[0];
        }
        pass_by(all);
        assert_memory_equal(to, from, sizeof from);
        assert_int_equal(sender.done, 9);
        assert_int_equal(receiver.state.value, MPIXQ_STATE_RECEIVE(9));
        assert_int_equal(place_of(&came), 0);
        assert_int_equal(place_of(&passed), n_written - 1);
        assert_int_equal(sender.waited, counted ? 9 : 0);
        assert_int_equal(receiver.waited, counted ? 9 : 0);
    }
}

/* A start that cannot be made, as one is under way, is told, and is not waited for. */
static void test_waits_for_no_other(void **state)
{
    struct mpixq_moves all = start(true, 9);
    word_t gate = 0;

    (void)state;
    all.each = 1;
    all.until = (struct mpixq_until){&gate, 1, &gate};
    all.move[0].is_counted = true;
    all.move[0].value = 8;
    all.move[0].slot = slots[0];
    sender.started = 9;
    pass_by(all);
    assert_int_equal(told_sender.fault, MPIXQ_STARTED_TWICE);
    assert_int_equal(sender.waited, 0);
    assert_int_equal(sender.started, 9);
    assert_int_equal(to[0], 't');
}

/* What does not matter is not read. */
static void test_sends_nothing(void **state)
{
    struct mpixq_moves all = start(true, 9);

    (void)state;
    all.move[0].bytes = 1;
    all.move[0].is_blank = 1;
    move_by(all);
    assert_true(slots[9 % MPIXQ_SLOTS][0] == (word_t)(9u | 1u << 31) << 32);
    assert_int_equal(told_receiver.done, 9);
}

/* A start behind something that was not done is not made, and nothing is told. */
static void test_comes_after(void **state)
{
    word_t go = 0;

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool is_counted = kind % 2 == 1, is_large = kind / 2 == 1;

        for (go = 0; go < 2; go++) {
            struct mpixq_moves all = start(true, 9);

            all.move[0].after = &go;
            all.move[0].is_counted = is_counted;
            all.move[0].value -= is_counted;
            told_sender.fault = 0;
            if (is_large) {
                all.n_small = all.n_near = 0;
                all.move[0].slot = NULL;
            } else if (is_counted) {
                all.move[0].slot = slots[0];
            }
            move_by(all);
            assert_int_equal(n_written > 0, go);
            assert_int_equal(told_sender.fault, 0);
            assert_int_equal(sender.started, go != 0 && is_counted ? 9 : 0);
        }
    }
}

/* What has come is combined, with what is here; but not if a start was not made. */
static void test_combines(void **state)
{
    unsigned mine[UNITS], sum[UNITS];
    word_t gate = 0;

    (void)state;
    for (int is_made = 0; is_made < 2; is_made++) {
        struct mpixq_moves all = start(true, 9);
        word_t data[UNITS];

        for (int i = 0; i < UNITS; i++) {
            mine[i] = 100u + (unsigned)i;
            sum[i] = 7;
            data[i] = (word_t)(9u | 1u << 31) << 32 | (word_t)(1000 * i);
        }
        memcpy(slots[9 % MPIXQ_SLOTS], data, sizeof data);
        all.each = 1;
        all.until = (struct mpixq_until){&gate, 1, &gate};
        all.move[0].own = &receiver;
        all.move[0].own_told = &told_receiver;
        all.move[0].peer = &sender;
        all.move[0].told = &told_receiver;
        all.move[0].is_send = false;
        all.move[0].is_counted = true;
        all.move[0].value = 8;
        all.move[0].slot = slots[0];
        receiver.started = is_made ? 0 : 9; /* and was not waited for */
        all.combine = (struct mpixq_combine){.to = (char *)sum,
                                             .from = {(char *)mine, to},
                                             .count = UNITS,
                                             .bytes = sizeof sum,
                                             .n = 2,
                                             .blocks = 1,
                                             .number = MPIXQ_UINT32,
                                             .operation = MPIXQ_SUM};
        mpixq_pass_combine(all);
        for (int i = 0; i < UNITS; i++) {
            assert_int_equal(sum[i], is_made ? 100 + 1001 * i : 7);
        }
    }
}

static int by_plain(void **state)
{
    (void)state;
    is_plain = true;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_hear_first),   cmocka_unit_test(test_data_comes_first),
        cmocka_unit_test(test_finds_receiver),     cmocka_unit_test(test_leaves_it_to_receiver),
        cmocka_unit_test(test_receiver_is_gone),   cmocka_unit_test(test_host_was_faster),
        cmocka_unit_test(test_first_goes_ahead),   cmocka_unit_test(test_tells_hosts_once),
        cmocka_unit_test(test_goes_ahead),         cmocka_unit_test(test_passes),
        cmocka_unit_test(test_waits_for_no_other), cmocka_unit_test(test_comes_after),
        cmocka_unit_test(test_combines),           cmocka_unit_test(test_sends_nothing),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    return failed + cmocka_run_group_tests_name("plain", tests, by_plain, NULL);
}
