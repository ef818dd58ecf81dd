/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trace_clock.c - the records of calls that enqueue have the time of the kernel's clock where this
 * is not made from a counter of the CPU, wherever in memory they are
 */
#include "unit.h"

#include <string.h>

#include "core/queue.h"
#include "core/trace_enqueue.h"
#include "util/backoff.h"
#include "util/trace.h"

enum { PAIRS = 5, SLOTS = 64 };

static struct mpixq_pair *pairs[PAIRS];
static struct mpixq_queue queue = {.number = 7, .pairs = pairs};
static struct mpixq_trace_record slots[SLOTS + 1];

/* Calls of 1 to PAIRS requests; the first record lies so many words behind the first slot. */
static void record_calls(size_t words)
{
    struct mpixq_trace_record *first =
        (struct mpixq_trace_record *)(void *)((char *)slots + words * sizeof(uint64_t));

    for (int n = 1; n <= PAIRS; n++) {
        uint64_t before = mpixq_now_ns();

        memset(slots, 0, sizeof slots);
        mpixq_trace_room = (struct mpixq_trace_room){.next = first, .end = first + SLOTS};
        mpixq_trace_starts_enqueued(&queue, n);
        assert_in_range(first->ticks, before, mpixq_now_ns());
        assert_int_equal(first->n, n);
        assert_int_equal(first->who, 7);
        assert_ptr_equal(mpixq_trace_room.next, first + 1 + first->slots);
    }
}

static void no_counter(void **state)
{
    (void)state;
    assert_false(mpixq_tracing.has_ticks);
    mpixq_tracing.is_on = true;
    for (size_t words = 0; words < sizeof slots[0] / sizeof(uint64_t); words++) {
        record_calls(words);
    }
    mpixq_tracing.is_on = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_counter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
