/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu_slots.c - which waits a GPU copies for: those that it can, but none behind one that is left
 * to a thread, which would never copy what is below a claim
 */
#include "unit.h"

#include "stream/gpu_slots.h"

enum { ROOM = 64 };

static char memory[4096], buffer[ROOM];
static _Atomic uint64_t word, taken;
static struct mpixq_stream_kind kind;
static struct mpixq_stream stream = {.kind = &kind};
static struct mpixq_exposed page, block;
static struct mpixq_gpu_slots slots;

static int begin(void **state)
{
    (void)state;
    page = block = (struct mpixq_exposed){.memory = memory, .by = &kind};
    page.memory = (char *)&word;
    atomic_init(&page.seen, page.memory);
    atomic_init(&block.seen, memory);
    slots = (struct mpixq_gpu_slots){.page = &page,
                                     .block = &block,
                                     .word = &word,
                                     .first = memory,
                                     .room = ROOM,
                                     .bytes = ROOM,
                                     .n = 2,
                                     .taken = &taken,
                                     .to = buffer};
    atomic_store(&taken, 0);
    return 0;
}

static bool claims(uint64_t start)
{
    struct mpixq_op op = {.kind = MPIXQ_OP_DRAIN, .value = start};

    op.gpu.slots = &slots;
    return mpixq_gpu_slots_claim(&stream, &op);
}

static void claims_what_it_sees(void **state)
{
    (void)state;
    for (uint64_t start = 1; start <= 5; start++) {
        assert_true(claims(start));
        assert_int_equal(atomic_load(&slots.claimed), start);
        assert_ptr_equal(slots.seen.slot, memory + (start - 1) % 2 * ROOM);
        assert_ptr_equal(slots.seen.to, buffer);
    }
}

static void keeps_what_was_claimed(void **state)
{
    (void)state;
    assert_true(claims(1));
    assert_true(claims(2));
    atomic_store(&slots.busy, true);
    assert_false(claims(3));
    assert_int_equal(atomic_load(&slots.claimed), 2);
}

static void expect_left(uint64_t start)
{
    assert_false(claims(start + 1));
    assert_false(claims(start + 2));
    assert_true(atomic_load(&slots.claimed) < start); /* a thread may copy all of them */
    atomic_store(&taken, start + 1);
    assert_false(claims(start + 3));
    atomic_store(&taken, start + 3);
    assert_true(claims(start + 4));
    assert_int_equal(atomic_load(&slots.claimed), start + 4);
}

static void claims_nothing_behind_what_a_thread_copies(void **state)
{
    (void)state;
    assert_true(claims(1));
    atomic_store(&slots.busy, true);
    assert_false(claims(2));
    atomic_store(&slots.busy, false);
    expect_left(2);
}

static void claims_nothing_behind_what_it_did_not_see(void **state)
{
    (void)state;
    assert_true(claims(1));
    atomic_store(&block.seen, NULL);
    assert_false(claims(2));
    atomic_store(&block.seen, memory);
    expect_left(2);
    slots.to = NULL;
    assert_false(claims(7));
    slots.to = buffer;
    atomic_store(&taken, 6);
    assert_false(claims(8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(claims_what_it_sees, begin),
        cmocka_unit_test_setup(keeps_what_was_claimed, begin),
        cmocka_unit_test_setup(claims_nothing_behind_what_a_thread_copies, begin),
        cmocka_unit_test_setup(claims_nothing_behind_what_it_did_not_see, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
