/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * counters.c - behaviours of counters and doorbells
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { STORES = 20000, SETTLE_MS = 50, ADDITIONS = 2000 };

static void ring(void *bell, unsigned offset, uint64_t value)
{
    *(volatile uint64_t *)((char *)bell + offset) = value;
}

static void *ring_often(void *bell)
{
    for (int i = 0; i < STORES; i++) {
        ring(bell, MPIXQ_CXI_BELL_ADD, 3);
    }
    return NULL;
}

/* No store of two threads may be lost, and each adds its value. */
static void doorbell_add(void)
{
    struct fid_cntr *cntr;
    pthread_t thread;
    void *bell;

    rig_open();
    cntr = cntr_open();
    bell = cntr_bell(cntr);
    must(-pthread_create(&thread, NULL, ring_often, bell), "pthread_create");
    ring_often(bell);
    pthread_join(thread, NULL);
    (void)await(cntr, 2 * 3 * STORES);
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(cntr) == 2 * 3 * STORES ? "all stores add" : "stores are lost");
}

static void doorbell_halves(void)
{
    struct fid_cntr *cntr;
    void *bell;

    rig_open();
    cntr = cntr_open();
    bell = cntr_bell(cntr);
    ring(bell, MPIXQ_CXI_BELL_ADD, 5);
    ring(bell, MPIXQ_CXI_BELL_ADD_FAILURE, 2);
    pause_ms(SETTLE_MS);
    (void)fi_cntr_read(cntr);
    pause_ms(SETTLE_MS);
    if (fi_cntr_read(cntr) != 5 || fi_cntr_readerr(cntr) != 2) {
        found("other words add");
    }
    ring(bell, MPIXQ_CXI_BELL_RESET, 0);
    pause_ms(SETTLE_MS);
    if (fi_cntr_read(cntr) != 0 || fi_cntr_readerr(cntr) != 2) {
        found("reset of successes differs");
    }
    ring(bell, MPIXQ_CXI_BELL_RESET_FAILURE, 0);
    pause_ms(SETTLE_MS);
    found(fi_cntr_readerr(cntr) == 0 ? "0, 64, 128, 192" : "reset of failures differs");
}

static void doorbell_length(void)
{
    struct fid_cntr *cntr;
    void *bell = NULL;
    size_t length = 0;

    rig_open();
    cntr = cntr_open();
    must(cntr_ops(cntr)->get_mmio_addr(&cntr->fid, &bell, &length), "get_mmio_addr");
    found("%zu", length);
}

static void doorbell_load(void)
{
    void *bell;

    rig_open();
    bell = cntr_bell(cntr_open());
    found(*(volatile uint64_t *)bell == 0 ? "zero" : "senseless");
}

static void counter_width(void)
{
    struct fid_cntr *cntr;

    rig_open();
    cntr = cntr_open();
    if (fi_cntr_add(cntr, 1ULL << 48) != -FI_EINVAL) {
        found("more than 48 bits of successes");
    }
    if (fi_cntr_adderr(cntr, 1ULL << 7) != -FI_EINVAL) {
        found("more than 7 bits of failures");
    }
    must(fi_cntr_set(cntr, (1ULL << 48) - 1), "fi_cntr_set");
    pause_ms(SETTLE_MS);
    (void)fi_cntr_read(cntr);
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(cntr) == (1ULL << 48) - 1 ? "48 and 7 bits" : "fewer than 48 bits");
}

/* The word changes with a read, and not with a success. */
static void write_back(void)
{
    static uint64_t word;
    struct fid_cntr *cntr;
    uint64_t before;

    rig_open();
    cntr = cntr_open();
    must(cntr_ops(cntr)->set_wb_buffer(&cntr->fid, &word, sizeof(word)), "set_wb_buffer");
    pause_ms(SETTLE_MS);
    before = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
    must(fi_cntr_add(cntr, 7), "fi_cntr_add");
    pause_ms(SETTLE_MS);
    if (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != before) {
        found("with every success");
    }
    (void)fi_cntr_read(cntr);
    pause_ms(SETTLE_MS);
    found(__atomic_load_n(&word, __ATOMIC_ACQUIRE) == (MPIXQ_CXI_WRITTEN_BACK | 7)
              ? "with a read only"
              : "not with a read");
}

static void write_back_failure(void)
{
    static uint64_t word;
    struct fid_cntr *cntr;

    rig_open();
    cntr = cntr_open();
    must(cntr_ops(cntr)->set_wb_buffer(&cntr->fid, &word, sizeof(word)), "set_wb_buffer");
    must(fi_cntr_adderr(cntr, 1), "fi_cntr_adderr");
    if (!await_word(&word, MPIXQ_CXI_WRITTEN_BACK | 1ULL << 48)) {
        found("not by itself");
    }
    must(fi_cntr_adderr(cntr, 1), "fi_cntr_adderr");
    pause_ms(SETTLE_MS);
    found((__atomic_load_n(&word, __ATOMIC_ACQUIRE) >> 48 & 0x7f) == 1 ? "with the first"
                                                                       : "with every one");
}

static void read_fresh(void)
{
    struct fid_cntr *cntr;

    rig_open();
    cntr = cntr_open();
    (void)fi_cntr_read(cntr);
    pause_ms(SETTLE_MS);
    must(fi_cntr_add(cntr, 1), "fi_cntr_add");
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(cntr) == 1 ? "new value" : "old value");
}

/* A read that does not wait: the second one has what the first asked for. */
static void read_cached(void)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .flags = FI_CXI_CNTR_CACHED};
    struct fid_cntr *cntr;

    rig_open();
    if (fi_cntr_open(rig.domain, &attr, &cntr, NULL) != 0) {
        found("refused");
    }
    (void)fi_cntr_read(cntr);
    pause_ms(SETTLE_MS);
    must(fi_cntr_add(cntr, 1), "fi_cntr_add");
    pause_ms(SETTLE_MS);
    if (fi_cntr_read(cntr) != 0) {
        found("new value");
    }
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(cntr) == 1 ? "old value, then the new" : "old value");
}

static void reset_shows(void)
{
    static uint64_t word;
    struct fid_cntr *cntr;

    rig_open();
    cntr = cntr_open();
    must(cntr_ops(cntr)->set_wb_buffer(&cntr->fid, &word, sizeof(word)), "set_wb_buffer");
    pause_ms(SETTLE_MS);
    must(fi_cntr_add(cntr, 3), "fi_cntr_add");
    must(fi_cntr_seterr(cntr, 0), "fi_cntr_seterr");
    found(await_word(&word, MPIXQ_CXI_WRITTEN_BACK | 3) ? "shows the successes" : "shows nothing");
}

static void wait_none(void)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    struct fid_cntr *cntr;

    rig_open();
    must(fi_cntr_open(rig.domain, &attr, &cntr, NULL), "fi_cntr_open");
    must(fi_cntr_add(cntr, 1), "fi_cntr_add");
    found(fi_cntr_wait(cntr, 1, 1000) == -FI_EINVAL ? "refused" : "accepted");
}

static void wait_failure(void)
{
    struct fid_cntr *cntr;
    int rc;

    rig_open();
    cntr = cntr_open();
    rc = fi_cntr_wait(cntr, 1, 20);
    if (rc != -FI_ETIMEDOUT) {
        found("%d when the time is over", rc);
    }
    found("time is over");
}

static void *fail_later(void *cntr)
{
    pause_ms(2 * SETTLE_MS);
    must(fi_cntr_adderr(cntr, 1), "fi_cntr_adderr");
    return NULL;
}

/* A failure ends the wait, and is not taken for the success that lacks. */
static void wait_with_failure(void)
{
    struct fid_cntr *cntr;
    pthread_t thread;
    int rc;

    rig_open();
    cntr = cntr_open();
    must(fi_cntr_add(cntr, 1), "fi_cntr_add");
    must(-pthread_create(&thread, NULL, fail_later, cntr), "pthread_create");
    rc = fi_cntr_wait(cntr, 2, 2000);
    pthread_join(thread, NULL);
    if (rc == 0) {
        found("success");
    }
    found("%s", rc == -FI_EAVAIL ? "-FI_EAVAIL" : "another error");
}

/* An addition, and then a read by the same thread. */
static void add_read(void)
{
    struct fid_cntr *cntr;

    rig_open();
    cntr = cntr_open();
    for (uint64_t i = 1; i <= ADDITIONS; i++) {
        must(fi_cntr_add(cntr, 1), "fi_cntr_add");
        if (fi_cntr_read(cntr) < i) {
            found("passed by the read");
        }
    }
    found("in order");
}

static void counter_busy(void)
{
    rig_open();
    found(fi_close(&rig.bound->fid) == -FI_EBUSY ? "busy" : "closed");
}

/* Work that was not reaped still knows its counter. */
static void counter_lifetime(void)
{
    static uint64_t source[2], target[2];
    struct work work = {.threshold = 1, .key = 200, .source = source, .length = sizeof(source)};

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work.trigger = cntr_open();
    work.counted = cntr_open();
    must(queue_write(&work), "FI_QUEUE_WORK");
    must(fi_cntr_add(work.trigger, 1), "fi_cntr_add");
    pause_ms(200);
    must(fi_close(&work.counted->fid), "fi_close of the counter");
    (void)fi_cntr_read(rig.bound);
    found("no sign of it");
}

static void endpoint_remote(void)
{
    static uint64_t source, target;
    struct fid_cntr *remote, *local;
    struct work work = {.key = 200, .source = &source, .length = sizeof(source)};

    rig_open();
    remote = cntr_open();
    local = cntr_open();
    must(fi_ep_bind(rig.ep, &remote->fid, FI_REMOTE_WRITE), "fi_ep_bind");
    mr_open(&target, sizeof(target), 200, local);
    work.trigger = cntr_open();
    work.counted = cntr_open();
    must(queue_write(&work), "FI_QUEUE_WORK");
    if (!await(local, 1)) {
        found("a region does not count");
    }
    pause_ms(SETTLE_MS);
    found(fi_cntr_read(remote) == 0 ? "does not count" : "counts");
}

static long resident_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long total = 0, resident = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &total, &resident) != 2) {
        must(-FI_EOTHER, "/proc/self/statm");
    }
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

/* By what the process has more of in memory than with an endpoint that takes none. */
static void endpoint_messages(void)
{
    struct fi_info *hints = rig_hints();
    long before, without, with;

    before = resident_mib();
    rig_open();
    without = resident_mib() - before;
    hints->caps |= FI_MSG;
    before = resident_mib();
    rig_open_with(hints, true);
    with = resident_mib() - before;
    found("%s, %s", with >= 36 ? "36 MiB" : "less", without < 36 ? "without less" : "without too");
}

const struct behaviour counter_behaviours[] = {
    {"doorbell-add", doorbell_add, "all stores add", false},
    {"doorbell-words", doorbell_halves, "0, 64, 128, 192", false},
    {"doorbell-length", doorbell_length, "8", false},
    {"doorbell-load", doorbell_load, "crash", false},
    {"counter-width", counter_width, "48 and 7 bits", false},
    {"counter-write-back", write_back, "with a read only", false},
    {"counter-first-failure", write_back_failure, "with the first", false},
    {"counter-read", read_fresh, "new value", false},
    {"counter-cached", read_cached, "old value, then the new", false},
    {"counter-reset-shows", reset_shows, "shows the successes", false},
    {"counter-wait-none", wait_none, "refused", false},
    {"counter-wait-time", wait_failure, "time is over", false},
    {"counter-wait-failure", wait_with_failure, "-FI_EAVAIL", false},
    {"counter-add-read", add_read, "in order", false},
    {"counter-busy", counter_busy, "busy", false},
    {"counter-lifetime", counter_lifetime, "crash", false},
    {"endpoint-remote-counter", endpoint_remote, "does not count", false},
    {"endpoint-messages", endpoint_messages, "36 MiB, without less", false},
    {NULL, NULL, NULL, false},
};
