/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_ranges.c - ranges of elements in kernels of the program: the functions of
 * mpix_queue_device_ranges.h as each thread of a block calls them, one thread after the other, with
 * ranges, places in the slots and memory of the program at any offset
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "device_gpu.h"

enum { UNITS = 260, SLOTS = 3, THREADS = 70, GUARD = 4, MARK = 0x5A, CASES = 4000, LOOKS = 100 };

static unsigned threads;

static void peek_two(const mpixq_dev_word *words, mpixq_dev_word *first, mpixq_dev_word *second);

#undef MPIXQ_DEV_WARP
#define MPIXQ_DEV_WARP 8u
#define mpixq_dev_peek_two peek_two
#define mpixq_dev_block_size() threads
#include "mpix_queue_device_ranges.h"

/* A pair, of which this process has one end, with slots. */
static struct {
    struct mpixq_device_end own, peer;
    struct mpixq_device_told own_told, peer_told;
    mpixq_dev_word slots[SLOTS * UNITS] __attribute__((aligned(16)));
    unsigned buffer[UNITS];
} pair;
static unsigned memory[UNITS + 2 * GUARD + 1] __attribute__((aligned(16)));
static unsigned long long state = 1;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void put_two(mpixq_dev_word *words, mpixq_dev_word first, mpixq_dev_word second)
{
    assert_int_equal((uintptr_t)words % 16, 0);
    words[0] = first;
    words[1] = second;
}

static void peek_two(const mpixq_dev_word *words, mpixq_dev_word *first, mpixq_dev_word *second)
{
    assert_int_equal((uintptr_t)words % 16, 0);
    *first = words[0];
    *second = words[1];
}

static void look_again(void)
{
    clock_ns++;
}

/* So many starts were made before this one. */
static MPIXQ_Device_request request(unsigned is_send, unsigned units, unsigned starts)
{
    memset(&pair, 0, sizeof pair);
    memset(memory, MARK, sizeof memory);
    clock_ns = 0;
    thread = 0;
    threads = 1;
    pair.own.started = pair.own.waited = pair.own.done = pair.own.posted = starts;
    return (MPIXQ_Device_request){.to = (char *)pair.buffer,
                                  .from = (char *)pair.buffer,
                                  .bytes = 4 * units,
                                  .own = &pair.own,
                                  .peer = &pair.peer,
                                  .own_told = &pair.own_told,
                                  .told = is_send ? &pair.peer_told : &pair.own_told,
                                  .slots = pair.slots,
                                  .state = is_send ? &pair.peer.state : &pair.own.state,
                                  .is_send = is_send,
                                  .abi = MPIXQ_DEVICE_ABI};
}

static unsigned value_of(unsigned element, unsigned starts)
{
    return element * 2654435761u + starts * 97u + 1u;
}

/* The words of the slots: those of this one from first on hold so many elements, and no others. */
static void expect_slots(const MPIXQ_Device_request *r, unsigned starts, unsigned first,
                         unsigned count)
{
    unsigned units = (unsigned)(r->bytes / 4), slot = (starts + 1) % SLOTS * units;

    for (unsigned i = 0; i < SLOTS * units; i++) {
        int is_there = i >= slot + first && i < slot + first + count;
        mpixq_dev_word wanted =
            mpixq_dev_flag(starts + 1) | (is_there ? value_of(i - slot, starts) : 0);

        assert_true(pair.slots[i] == (is_there ? wanted : 0));
    }
}

/* The memory at this offset has so many elements from first on, and nothing is beside it. */
static void expect_range(unsigned at, unsigned starts, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        assert_int_equal(memory[i], i >= at && i < at + count ? value_of(first + i - at, starts)
                                                              : MARK * 0x01010101u);
    }
}

/* Any range of a message of any size, by any number of threads. */
struct range_case {
    MPIXQ_Device_request r;
    unsigned starts, units, first, count, at; /* at: in the memory of the program */
};

static struct range_case draw_case(unsigned is_send)
{
    struct range_case c = {.starts = draw(7), .units = 1 + draw(UNITS), .at = GUARD + draw(2)};

    c.first = draw(2) ? draw(c.units) : 0;
    c.count = draw(3) ? draw(c.units - c.first + 1) : c.units - c.first;
    c.r = request(is_send, c.units, c.starts);
    threads = 1 + draw(THREADS);
    return c;
}

static void test_any_range_is_put(void **unused_state)
{
    (void)unused_state;
    for (unsigned i = 0; i < CASES; i++) {
        struct range_case c = draw_case(1);
        unsigned sum = 0;

        for (unsigned k = 0; k < c.count; k++) {
            memory[c.at + k] = value_of(c.first + k, c.starts);
        }
        for (thread = 0; thread < threads; thread++) {
            MPIXQ_Device_access out;

            assert_int_equal(MPIXQ_Device_begin(&out, &c.r, 1, 1, MPIXQ_DEVICE_BLOCK), 0);
            assert_int_equal(
                MPIXQ_Device_put_range(&out, c.first, &memory[c.at], c.count, MPIXQ_DEVICE_BLOCK),
                0);
            sum += out.count;
        }
        assert_int_equal(sum, c.count);
        expect_slots(&c.r, c.starts, c.first, c.count);
        expect_range(c.at, c.starts, c.first, c.count);
    }
}

/* From the slot, or from the buffer if the message has come there; the host says so too late or in
 * time. */
static void test_any_range_is_got(void **unused_state)
{
    (void)unused_state;
    for (unsigned i = 0; i < CASES; i++) {
        struct range_case c = draw_case(0);
        int is_in_buffer = draw(4) == 0;

        for (unsigned k = 0; k < c.units; k++) {
            pair.buffer[k] = is_in_buffer ? value_of(k, c.starts) : 0;
            pair.slots[(c.starts + 1) % SLOTS * c.units + k] =
                is_in_buffer ? 0 : mpixq_dev_flag(c.starts + 1) | value_of(k, c.starts);
        }
        for (thread = 0; thread < threads; thread++) {
            MPIXQ_Device_access in;

            assert_int_equal(MPIXQ_Device_begin(&in, &c.r, 1, 1, MPIXQ_DEVICE_BLOCK), 0);
            pair.own.done = is_in_buffer ? c.starts + 1 : c.starts;
            assert_int_equal(
                MPIXQ_Device_get_range(&in, c.first, &memory[c.at], c.count, MPIXQ_DEVICE_BLOCK),
                0);
            assert_int_equal(in.error, 0);
        }
        expect_range(c.at, c.starts, c.first, c.count);
    }
}

/* Ranges of warps, and single elements between them. */
static void test_ranges_and_elements(void **unused_state)
{
    enum { WARPS = 3, EACH = 20 };
    MPIXQ_Device_request r = request(1, WARPS * EACH, 4);
    MPIXQ_Device_access all[WARPS * 8];

    (void)unused_state;
    threads = WARPS * 8;
    for (unsigned k = 0; k < WARPS * EACH; k++) {
        memory[GUARD + k] = value_of(k, 4);
    }
    for (thread = 0; thread < threads; thread++) {
        unsigned warp = thread / 8, first = warp * EACH;

        assert_int_equal(MPIXQ_Device_begin(&all[thread], &r, 1, 1, MPIXQ_DEVICE_BLOCK), 0);
        if (thread % 8 == 1) {
            MPIXQ_Device_put(&all[thread], first, value_of(first, 4));
        } else if (thread % 8 == 2) {
            MPIXQ_Device_put64(&all[thread], first / 2 + 1,
                               (unsigned long long)value_of(first + 3, 4) << 32 |
                                   value_of(first + 2, 4));
            MPIXQ_Device_put(&all[thread], first + 1, value_of(first + 1, 4));
        }
        assert_int_equal(MPIXQ_Device_put_range(&all[thread], first + 4, &memory[GUARD + first + 4],
                                                EACH - 4, MPIXQ_DEVICE_WARP),
                         0);
        all[0].count += thread > 0 ? all[thread].count : 0;
    }
    expect_slots(&r, 4, 0, WARPS * EACH);
    thread = 0;
    assert_int_equal(MPIXQ_Device_end(&all[0], MPIXQ_DEVICE_THREAD), 0);
    assert_int_equal(pair.own.started, 5);
}

/* Of what the message does not have, or the access is not for, nothing is put and nothing got. */
static void test_wrong_ranges(void **unused_state)
{
    static const unsigned long long wrong[][2] = {{0, 9},     {8, 1},     {9, 0},         {7, 2},
                                                  {~0ull, 2}, {2, ~0ull}, {1ull << 61, 4}};
    MPIXQ_Device_request r = request(1, 8, 3);
    MPIXQ_Device_access out, in;

    (void)unused_state;
    assert_int_equal(MPIXQ_Device_begin(&out, &r, 1, 1, MPIXQ_DEVICE_THREAD), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(
            MPIXQ_Device_put_range(&out, wrong[i][0], memory, wrong[i][1], MPIXQ_DEVICE_THREAD),
            MPIXQ_DEVICE_ERR_ARG);
    }
    assert_int_equal(MPIXQ_Device_get_range(&out, 0, memory, 8, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_ARG);
    expect_slots(&r, 3, 0, 0);
    expect_range(0, 0, 0, 0);
    assert_int_equal(MPIXQ_Device_put_range(&out, 8, memory, 0, MPIXQ_DEVICE_THREAD), 0);
    assert_int_equal(MPIXQ_Device_end(&out, MPIXQ_DEVICE_THREAD), MPIXQ_DEVICE_ERR_COUNT);

    r = request(0, 8, 3);
    assert_int_equal(MPIXQ_Device_begin(&in, &r, 1, 1, MPIXQ_DEVICE_THREAD), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(
            MPIXQ_Device_get_range(&in, wrong[i][0], memory, wrong[i][1], MPIXQ_DEVICE_THREAD),
            MPIXQ_DEVICE_ERR_ARG);
    }
    assert_int_equal(MPIXQ_Device_put_range(&in, 0, memory, 8, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_ARG);
    expect_slots(&r, 3, 0, 0);
    expect_range(0, 0, 0, 0);
    assert_int_equal(MPIXQ_Device_end(&in, MPIXQ_DEVICE_THREAD), 0);
}

/* What a begin, or a get before, has returned: nothing is put, and nobody blocks again. */
static void test_failures(void **unused_state)
{
    MPIXQ_Device_request r = request(1, 8, 3);
    MPIXQ_Device_access out, in;
    mpixq_dev_word now;

    (void)unused_state;
    pair.own.posted = 1;
    assert_int_equal(MPIXQ_Device_begin(&out, &r, 1, LOOKS, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_TIMEOUT);
    assert_int_equal(MPIXQ_Device_put_range(&out, 0, memory, 8, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_TIMEOUT);
    expect_slots(&r, 3, 0, 0);
    r.slots = 0;
    assert_int_equal(MPIXQ_Device_begin(&out, &r, 1, LOOKS, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_ARG);
    assert_int_equal(MPIXQ_Device_put_range(&out, 0, memory, 8, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_ARG);

    for (unsigned i = 0; i < 16; i++) { /* one element is not there; alone, or among others */
        unsigned lacks = i / 2, first = i % 2 * lacks, count = i % 2 ? 1 : 8;

        r = request(0, 8, 3);
        for (unsigned k = 0; k < 8; k++) {
            pair.slots[4 % SLOTS * 8 + k] = mpixq_dev_flag(k == lacks ? 1 : 4) | value_of(k, 3);
        }
        assert_int_equal(MPIXQ_Device_begin(&in, &r, 1, LOOKS, MPIXQ_DEVICE_THREAD), 0);
        assert_int_equal(MPIXQ_Device_get_range(&in, 0, memory, lacks, MPIXQ_DEVICE_THREAD), 0);
        expect_range(0, 3, 0, lacks);
        assert_int_equal(
            MPIXQ_Device_get_range(&in, first, &memory[first], count, MPIXQ_DEVICE_THREAD),
            MPIXQ_DEVICE_ERR_TIMEOUT);
        assert_int_equal(memory[lacks], MARK * 0x01010101u);
        now = clock_ns;
        assert_int_equal(
            MPIXQ_Device_get_range(&in, first, &memory[first], count, MPIXQ_DEVICE_THREAD),
            MPIXQ_DEVICE_ERR_TIMEOUT);
        assert_int_equal(clock_ns, now);
        assert_int_equal(MPIXQ_Device_end(&in, MPIXQ_DEVICE_THREAD), MPIXQ_DEVICE_ERR_TIMEOUT);
        assert_int_equal(pair.own.started, 3);

        pair.own_told.halt = 1;
        assert_int_equal(MPIXQ_Device_begin(&in, &r, 1, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD),
                         0);
        assert_int_equal(
            MPIXQ_Device_get_range(&in, first, &memory[first], count, MPIXQ_DEVICE_THREAD),
            MPIXQ_DEVICE_ERR_FAILED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_range_is_put),
        cmocka_unit_test(test_any_range_is_got),
        cmocka_unit_test(test_ranges_and_elements),
        cmocka_unit_test(test_wrong_ranges),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
