/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * resources.c - what deferred work takes of the NIC and of the provider, and what happens without it
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint64_t source[2] = {41, 42}, target[2];

static size_t depth_of(void)
{
    struct fi_cxi_dom_ops *ops = NULL;
    size_t depth = 0;

    must(fi_open_ops(&rig.domain->fid, FI_CXI_DOM_OPS_6, 0, (void **)&ops, NULL),
         "fi_open_ops of the domain");
    must(ops->get_dwq_depth(&rig.domain->fid, &depth), "get_dwq_depth");
    return depth;
}

static void depth(void)
{
    rig_open();
    found(depth_of() <= 2048 ? "known" : "senseless");
}

static void *read_counter(void *arg)
{
    static _Atomic int done;

    if (arg != NULL) {
        (void)fi_cntr_read(arg);
        atomic_store(&done, 1);
    }
    return &done;
}

/* More entries than there are, of writes without data, which need no request. Returns what the last
 * one got. */
static int fill_entries(const struct work *work, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = queue_write(work);
        for (int tries = 0; rc == -FI_EAGAIN && tries < 100; tries++) {
            pause_ms(1);
            rc = queue_write(work);
        }
    }
    return rc;
}

/* Does a read of a counter come back then? */
static void full(void)
{
    const _Atomic int *done = read_counter(NULL);
    struct work work;
    pthread_t thread;
    size_t count;
    int rc;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    work.length = 0;
    count = depth_of() + 9;
    rc = fill_entries(&work, count);
    if (rc != 0) {
        found(rc == -FI_ENOSPC ? "refused" : "other error");
    }
    pause_ms(100);
    must(-pthread_create(&thread, NULL, read_counter, work.counted), "pthread_create");
    pause_ms(500);
    if (atomic_load(done) != 0) {
        found("more than were told");
    }
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    pause_ms(500);
    if (atomic_load(done) == 0) {
        found("stalls");
    }
    found(await(work.counted, count) ? "stalls until one fires" : "loses work");
}

/* Requests come back only when software reads. */
static void requests(void)
{
    struct fi_info *hints = rig_hints();
    struct work work;
    struct fi_cq_entry entry;
    int rc = 0;

    hints->tx_attr->size = 16;
    rig_open_with(hints, true);
    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    work.threshold = 0;
    for (int i = 0; i < 64 && rc == 0; i++) {
        rc = queue_write(&work);
        pause_ms(2);
    }
    if (rc == 0) {
        found("no limit");
    }
    pause_ms(100);
    if (rc != -FI_EAGAIN || queue_write(&work) != -FI_EAGAIN) {
        found("come back by themselves");
    }
    (void)fi_cq_read(rig.cq, &entry, 1);
    found(queue_write(&work) == 0 ? "come back by reading" : "do not come back");
}

/* With few requests, and work that names a region of its source, which is to be looked at. */
static struct work named_work(void)
{
    struct fi_info *hints = rig_hints();
    struct fi_cxi_dom_ops *ops = NULL;
    struct work work;

    hints->tx_attr->size = 16;
    rig_open_with(hints, true);
    must(fi_open_ops(&rig.domain->fid, FI_CXI_DOM_OPS_2, 0, (void **)&ops, NULL),
         "fi_open_ops of the domain");
    must(ops->enable_hybrid_mr_desc(&rig.domain->fid, true), "enable_hybrid_mr_desc");
    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    work.threshold = 0;
    work.desc = fi_mr_desc(mr_open(source, sizeof(source), 201, NULL));
    return work;
}

/* The operand of an atomic that a region of its own holds needs no request; one that it does not
 * hold is an error of the operation, and of nothing else. */
static void registered(void)
{
    struct work work = named_work();
    struct fi_cq_err_entry error = {.err = 0};
    int rc = 0;

    for (int i = 0; i < 64 && rc == 0; i++) {
        rc = queue_atomic(&work, FI_SUM);
        pause_ms(2);
    }
    if (rc != 0 || !await(work.counted, 64)) {
        found("needs requests");
    }
    work.source = (void *)((uintptr_t)source + (1ULL << 36));
    must(queue_atomic(&work, FI_SUM), "FI_QUEUE_WORK");
    if (!await_error(&error) || !await_failure(work.counted)) {
        found("a wrong address is no error");
    }
    found("no request, an error");
}

/* The data of a deferred write needs one all the same. */
static void named_write(void)
{
    struct work work = named_work();
    int rc = 0;

    for (int i = 0; i < 64 && rc == 0; i++) {
        rc = queue_write(&work);
        pause_ms(2);
    }
    found(rc == 0 ? "needs no request" : rc == -FI_EAGAIN ? "needs a request" : "another error");
}

/* Where the provider keeps count, it has work refused before the entries are used up. */
static void limit(void)
{
    struct work work;
    size_t accepted = 0, told;
    int rc = 0;

    must(-setenv("FI_CXI_ENABLE_TRIG_OP_LIMIT", "1", 1), "setenv");
    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(uint64_t));
    work.length = 0;
    told = depth_of();
    while (rc == 0 && accepted <= told + 16) {
        rc = queue_write(&work);
        accepted += rc == 0;
    }
    found("%s, %s",
          accepted == told  ? "as told"
          : accepted < told ? "fewer"
                            : "more",
          rc == -FI_ENOSPC ? "-FI_ENOSPC" : "another error");
}

const struct behaviour resource_behaviours[] = {
    {"work-depth", depth, "known", false},
    {"work-full", full, "stalls until one fires", true},
    {"work-requests", requests, "come back by reading", false},
    {"work-registered", registered, "no request, an error", false},
    {"work-write-named", named_write, "needs a request", false},
    {"work-limit", limit, "as told, -FI_ENOSPC", true},
    {NULL, NULL, NULL, false},
};
