/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transport.c - behaviours of what is under way: order, answers, and when data can be seen
 *
 * That something may happen is shown by trying often. A NIC on which it never happens here is
 * kinder than what is promised, or only faster.
 */
#include <string.h>

#include "check.h"

enum { TRIES = 60, WORDS = 512 };

static uint64_t source[WORDS], target[WORDS];

static void fill(uint64_t value)
{
    for (int i = 0; i < WORDS; i++) {
        source[i] = value;
    }
}

static bool all_are(const uint64_t *words, uint64_t value)
{
    for (int i = 0; i < WORDS; i++) {
        if (__atomic_load_n(&words[i], __ATOMIC_RELAXED) != value) {
            return false;
        }
    }
    return true;
}

static bool target_is(uint64_t value)
{
    return all_are(target, value);
}

static struct work work_new(uint64_t key)
{
    struct work work = work_of(source, sizeof(source));

    work.threshold = 0;
    work.key = key;
    return work;
}

/* Two writes to one place, one after the other in the same queue: which one stays? */
static bool is_reordered(struct work *work, struct fid_cntr *count)
{
    static uint64_t values[2];

    work->length = sizeof(uint64_t);
    for (uint64_t try = 1; try <= TRIES; try++) {
        values[0] = 2 * try;
        values[1] = 2 * try + 1;
        for (int i = 0; i < 2; i++) {
            work->source = &values[i];
            must(queue_write(work), "FI_QUEUE_WORK");
        }
        if (!await(work->counted, 2 * try) || !await(count, 2 * try)) {
            found("does not end");
        }
        if (__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) != values[1]) {
            return true;
        }
    }
    return false;
}

static void order_none(void)
{
    struct fid_cntr *count;
    struct work work;

    rig_open();
    count = cntr_open();
    mr_open(target, sizeof(target), 200, count);
    work = work_new(200);
    found(is_reordered(&work, count) ? "none" : "in order");
}

static void order_asked(void)
{
    struct fi_info *hints = rig_hints();
    struct fid_cntr *count;
    struct work work;

    hints->tx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_RMA_WAW;
    rig_open_with(hints, true);
    count = cntr_open();
    mr_open(target, sizeof(target), 200, count);
    work = work_new(200);
    found(is_reordered(&work, count) ? "none" : "in order");
}

/* Is the data always there when this counter has counted? */
static bool data_is_there(struct work *work, struct fid_cntr *count)
{
    bool always = true;

    for (uint64_t try = 1; try <= TRIES && always; try++) {
        fill(try);
        must(queue_write(work), "FI_QUEUE_WORK");
        if (!await(count, try)) {
            found("does not end");
        }
        always = target_is(try);
        for (int left = 3000; !target_is(try) && left > 0; left--) {
            pause_ms(1);
        }
        if (!await(work->counted, try)) {
            found("does not end");
        }
    }
    return always;
}

static void data_at_answer(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new(200);
    found(data_is_there(&work, work.counted) ? "always there" : "may be missing");
}

static void data_at_delivery(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new(200);
    work.flags = FI_DELIVERY_COMPLETE;
    found(data_is_there(&work, work.counted) ? "always there" : "may be missing");
}

static void data_at_count_of(uint64_t key)
{
    struct fid_cntr *count;
    struct work work;

    rig_open();
    count = cntr_open();
    mr_open(target, sizeof(target), key, count);
    work = work_new(key);
    found(data_is_there(&work, count) ? "always there" : "may be missing");
}

static void data_at_count(void)
{
    data_at_count_of(200);
}

static void data_at_count_optimized(void)
{
    data_at_count_of(1);
}

/* The end of a read says that the data is here. */
static void data_at_read(void)
{
    struct work work;
    bool always = true;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new(200);
    work.flags = FI_COMPLETION;
    for (uint64_t try = 1; try <= TRIES && always; try++) {
        for (int i = 0; i < WORDS; i++) {
            target[i] = try;
        }
        must(queue_read(&work), "FI_QUEUE_WORK");
        if (!await_completion()) {
            found("does not end");
        }
        always = all_are(source, try);
    }
    found(always ? "always there" : "may be missing");
}

static void address_beyond(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new(200);
    /* A virtual address is far beyond the region. */
    work.offset = (uint64_t)(uintptr_t)target;
    must(queue_write(&work), "FI_QUEUE_WORK");
    found(await_failure(work.counted) ? "offsets" : "virtual addresses");
}

static void region_closed(void)
{
    struct fid_mr *mr;
    struct work work;

    rig_open();
    mr = mr_open(target, sizeof(target), 200, NULL);
    work = work_new(200);
    must(queue_write(&work), "FI_QUEUE_WORK");
    if (!await(work.counted, 1)) {
        found("does not end");
    }
    must(fi_close(&mr->fid), "fi_close of a region");
    must(queue_write(&work), "FI_QUEUE_WORK");
    found(await_failure(work.counted) ? "fails" : "goes on");
}

const struct behaviour transport_behaviours[] = {
    {"order-none", order_none, "none", false},
    {"order-asked", order_asked, "in order", false},
    {"data-at-answer", data_at_answer, "may be missing", false},
    {"data-at-delivery", data_at_delivery, "always there", false},
    {"data-at-count", data_at_count, "always there", false},
    {"data-at-count-optimized", data_at_count_optimized, "always there", false},
    {"data-at-read", data_at_read, "always there", false},
    {"target-offset", address_beyond, "offsets", false},
    {"target-closed", region_closed, "fails", false},
    {NULL, NULL, NULL, false},
};
