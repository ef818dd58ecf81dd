/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * refusals.c - what posts that the provider refuses leave behind, and what else ends them
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"

enum { REQUESTS = 16, SETTLE_MS = 100 };

static unsigned char source[4096], target[4096];
static struct fid_mr *region;

static ssize_t write_now(void)
{
    return fi_write(rig.ep, source, sizeof(source), NULL, rig.self, 0, 200, NULL);
}

/* As many requests as there may be, of writes that are over, which nobody has read yet. */
static struct work open_full(void)
{
    struct fi_info *hints = rig_hints();
    struct work work;
    int rc = 0;

    hints->tx_attr->size = REQUESTS;
    rig_open_with(hints, true);
    region = mr_open(target, sizeof(target), 200, NULL);
    work = work_of(source, sizeof(source));
    work.threshold = 0;
    for (int i = 0; i < 4 * REQUESTS && rc == 0; i++) {
        rc = queue_write(&work);
        pause_ms(2);
    }
    if (rc != -FI_EAGAIN) {
        found(rc == 0 ? "no limit" : "another error");
    }
    pause_ms(SETTLE_MS);
    return work;
}

/* Reads of a counter look at events only while a request knows it, or the provider believes so. */
static void refused(void)
{
    struct work work = open_full();

    (void)fi_cntr_read(rig.bound);
    if (queue_write(&work) != -FI_EAGAIN) {
        found("each read makes progress");
    }
    if (write_now() != -FI_EAGAIN) {
        found("is not refused");
    }
    (void)fi_cntr_read(rig.bound);
    found(queue_write(&work) == 0 ? "leaves a count" : "leaves nothing");
}

static void close_one(struct fid *fid, const char *what)
{
    must(fi_close(fid), what);
}

static void refused_close(void)
{
    struct work work = open_full();
    struct fi_cq_entry entry;

    if (write_now() != -FI_EAGAIN) {
        found("is not refused");
    }
    for (int i = 0; i < 2; i++) {
        (void)fi_cq_read(rig.cq, &entry, 1);
        pause_ms(SETTLE_MS);
    }
    close_one(&region->fid, "fi_close of a region");
    close_one(&rig.ep->fid, "fi_close of an endpoint");
    close_one(&work.trigger->fid, "fi_close of a counter");
    close_one(&work.counted->fid, "fi_close of a counter");
    close_one(&rig.bound->fid, "fi_close of a counter");
    close_one(&rig.cq->fid, "fi_close of a completion queue");
    close_one(&rig.av->fid, "fi_close of an address vector");
    close_one(&rig.domain->fid, "fi_close of a domain");
    found("can be closed");
}

static _Atomic int interrupted;

static void take_signal(int number)
{
    (void)number;
}

static void *post_on(void *arg)
{
    while (atomic_load(&interrupted) == 0) {
        if (queue_write(arg) == -FI_EINTR) {
            atomic_store(&interrupted, 1);
        }
    }
    return NULL;
}

/* Several post, and so wait for each other; a signal comes to one that waits. */
static void interruption(void)
{
    enum { THREADS = 3, PATIENCE_MS = 4000 };
    const struct sigaction action = {.sa_handler = take_signal};
    pthread_t threads[THREADS];
    struct work work[THREADS];
    uint64_t end;

    must(-setenv("FI_CXI_ENABLE_TRIG_OP_LIMIT", "1", 1), "setenv");
    must(-sigaction(SIGUSR1, &action, NULL), "sigaction");
    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    for (int i = 0; i < THREADS; i++) {
        work[i] = work_of(source, 0);
        work[i].threshold = 0;
        must(-pthread_create(&threads[i], NULL, post_on, &work[i]), "pthread_create");
    }
    end = now_ms() + PATIENCE_MS;
    for (int i = 0; atomic_load(&interrupted) == 0 && now_ms() < end; i++) {
        must(-pthread_kill(threads[i % THREADS], SIGUSR1), "pthread_kill");
        pause_ms(1);
    }
    found(atomic_load(&interrupted) != 0 ? "-FI_EINTR" : "waits on");
}

const struct behaviour refusal_behaviours[] = {
    {"work-refused", refused, "leaves a count", false},
    {"work-refused-close", refused_close, "can be closed", false},
    {"work-interrupted", interruption, "-FI_EINTR", true},
    {NULL, NULL, NULL, false},
};
