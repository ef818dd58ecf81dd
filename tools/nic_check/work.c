/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * work.c - behaviours of deferred work
 */
#include <string.h>

#include "check.h"

static uint64_t source[2] = {41, 42}, target[2];

/* A write of source[0] to target[0], with new counters. */
static struct work work_new(void)
{
    return work_of(source, sizeof(uint64_t));
}

static void ring(const struct work *work, uint64_t value)
{
    must(fi_cntr_add(work->trigger, value), "fi_cntr_add");
}

static void threshold_met(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    ring(&work, 3);
    pause_ms(50);
    must(queue_write(&work), "FI_QUEUE_WORK");
    found(await(work.counted, 1) ? "fires at once" : "waits");
}

/* Changes of one counter show in which order entries fire. */
static void threshold_order(void)
{
    struct fid_cntr *trigger, *value;

    rig_open();
    trigger = cntr_open();
    value = cntr_open();
    must(queue_change(trigger, 2, FI_OP_CNTR_SET, value, 20, NULL), "FI_QUEUE_WORK");
    must(queue_change(trigger, 1, FI_OP_CNTR_SET, value, 10, NULL), "FI_QUEUE_WORK");
    must(queue_change(trigger, 3, FI_OP_CNTR_SET, value, 30, NULL), "FI_QUEUE_WORK");
    must(queue_change(trigger, 3, FI_OP_CNTR_SET, value, 40, NULL), "FI_QUEUE_WORK");
    must(fi_cntr_add(trigger, 2), "fi_cntr_add");
    (void)await(value, 20);
    pause_ms(50);
    if (fi_cntr_read(value) != 20) {
        found("as queued");
    }
    must(fi_cntr_add(trigger, 1), "fi_cntr_add");
    (void)await(value, 40);
    pause_ms(50);
    found(fi_cntr_read(value) == 40 ? "threshold, then queue" : "equal ones in any order");
}

/* What the structures say is changed before the work fires. */
static void capture(void)
{
    struct fi_deferred_work deferred = {.threshold = 1, .op_type = FI_OP_WRITE};
    struct iovec iov = {.iov_base = &source[0], .iov_len = sizeof(uint64_t)};
    struct fi_rma_iov rma_iov = {.len = sizeof(uint64_t), .key = 200};
    struct fi_op_rma rma;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    rma = (struct fi_op_rma){.ep = rig.ep};
    rma.msg = (struct fi_msg_rma){
        .msg_iov = &iov, .iov_count = 1, .addr = rig.self, .rma_iov = &rma_iov, .rma_iov_count = 1};
    deferred.op.rma = &rma;
    deferred.triggering_cntr = cntr_open();
    deferred.completion_cntr = cntr_open();
    must(fi_control(&rig.domain->fid, FI_QUEUE_WORK, &deferred), "FI_QUEUE_WORK");
    iov.iov_base = &source[1];
    pause_ms(20);
    must(fi_cntr_add(deferred.triggering_cntr, 1), "fi_cntr_add");
    if (!await(deferred.completion_cntr, 1)) {
        found("never fires");
    }
    pause_ms(50);
    found(__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) == 41 ? "when queued" : "when it fires");
}

static void source_read(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    must(queue_write(&work), "FI_QUEUE_WORK");
    source[0] = 43;
    ring(&work, 1);
    (void)await(work.counted, 1);
    pause_ms(50);
    found(__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) == 43 ? "when it fires" : "when queued");
}

static void atomic_write_read(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    must(queue_atomic(&work, FI_ATOMIC_WRITE), "FI_QUEUE_WORK");
    source[0] = 43;
    ring(&work, 1);
    (void)await(work.counted, 1);
    pause_ms(50);
    found(__atomic_load_n(&target[0], __ATOMIC_ACQUIRE) == 43 ? "when it fires" : "when queued");
}

static void flags(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    work.flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
    must(queue_write(&work), "FI_QUEUE_WORK with delivery complete");
    work.flags = FI_FENCE;
    if (queue_write(&work) != -FI_EINVAL) {
        found("FI_FENCE is accepted");
    }
    work.flags = FI_INJECT;
    found(queue_write(&work) == -FI_EINVAL ? "refused" : "FI_INJECT is accepted");
}

static void no_trigger(void)
{
    struct work work;

    rig_open();
    work = work_new();
    work.trigger = NULL;
    found(queue_write(&work) == -FI_EINVAL ? "refused" : "accepted");
}

static void no_completion(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    work.counted = NULL;
    must(queue_write(&work), "FI_QUEUE_WORK");
    ring(&work, 1);
    found(await_word(&target[0], 41) ? "accepted" : "never fires");
}

static void change_counted(void)
{
    struct fid_cntr *trigger, *changed;

    rig_open();
    trigger = cntr_open();
    changed = cntr_open();
    found(queue_change(trigger, 1, FI_OP_CNTR_ADD, changed, 1, cntr_open()) == -FI_EINVAL
              ? "refused"
              : "accepted");
}

static void receive_deferred(void)
{
    static char buffer[8];
    static struct iovec iov = {.iov_base = buffer, .iov_len = sizeof(buffer)};
    static struct fi_op_msg msg;
    static struct fi_deferred_work deferred = {.threshold = 1, .op_type = FI_OP_RECV};

    rig_open();
    msg.ep = rig.ep;
    msg.msg = (struct fi_msg){.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
    deferred.op.msg = &msg;
    deferred.triggering_cntr = cntr_open();
    found(fi_control(&rig.domain->fid, FI_QUEUE_WORK, &deferred) == 0 ? "accepted" : "refused");
}

static void cancel(void)
{
    struct fi_deferred_work deferred = {.threshold = 1};

    rig_open();
    found(fi_control(&rig.domain->fid, FI_CANCEL_WORK, &deferred) == 0 ? "accepted" : "refused");
}

static void flush(void)
{
    struct work work;
    uint64_t start;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    must(queue_write(&work), "FI_QUEUE_WORK");
    start = now_ms();
    must(fi_control(&rig.domain->fid, FI_FLUSH_WORK, NULL), "FI_FLUSH_WORK");
    start = now_ms() - start;
    ring(&work, 1);
    pause_ms(100);
    if (target[0] != 0) {
        found("cancels nothing");
    }
    found(start >= 500 ? "cancels all, slowly" : "cancels all");
}

/* A failed operation counts as a failure; does it fire what waits for its success? */
static void chain_failure(void)
{
    struct work work, next;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    next = work_new();
    next.trigger = work.counted;
    work.key = 201;
    must(queue_write(&next), "FI_QUEUE_WORK");
    must(queue_write(&work), "FI_QUEUE_WORK");
    ring(&work, 1);
    if (!await_failure(work.counted)) {
        found("no failure is counted");
    }
    pause_ms(200);
    (void)fi_cntr_read(next.counted);
    found(fi_cntr_read(next.counted) == 0 ? "does not fire" : "fires");
}

/* What is queued has no region at its target. */
static void report(int (*queue)(const struct work *work))
{
    struct work work;
    struct fi_cq_err_entry error = {.op_context = NULL};

    rig_open();
    work = work_new();
    work.threshold = 0;
    work.context = &work;
    must(queue(&work), "FI_QUEUE_WORK");
    if (!await_error(&error)) {
        found("no entry");
    }
    if (fi_cntr_readerr(work.counted) != 1 || fi_cntr_read(work.counted) != 0) {
        found("not counted as failure");
    }
    found(error.op_context == &work && error.err == FI_EIO ? "entry and count" : "other entry");
}

static void failure_report(void)
{
    report(queue_write);
}

static void read_deferred(void)
{
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    if (queue_read(&work) != 0) {
        found("refused");
    }
    target[0] = 43;
    ring(&work, 1);
    found(!await(work.counted, 1)                               ? "does not end"
          : __atomic_load_n(&source[0], __ATOMIC_ACQUIRE) == 43 ? "reads when it fires"
                                                                : "reads when queued");
}

/* As of a write: what waits for it is not to fire. */
static void read_failure(void)
{
    report(queue_read);
}

static void untracked(void)
{
    struct work work;
    struct fi_cq_err_entry error = {.op_context = NULL};

    rig_open();
    work = work_new();
    work.threshold = 0;
    work.length = 0;
    work.context = &work;
    must(queue_write(&work), "FI_QUEUE_WORK");
    if (!await_error(&error)) {
        found("no entry");
    }
    found(error.op_context == &work ? "its own context" : "context of the endpoint");
}

/* In versions with a defect the endpoint needs a counter for FI_WRITE, or the program crashes. */
static void atomic_counter(void)
{
    struct work work;

    rig_open_with(rig_hints(), false);
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    work.threshold = 0;
    must(queue_atomic(&work, FI_SUM), "FI_QUEUE_WORK");
    found(await(work.counted, 1) ? "works" : "does not end");
}

/* The flag writes back the counter that triggers, not the one that is counted on. */
static void flag_write_back(void)
{
    static uint64_t word;
    struct work work;

    rig_open();
    mr_open(target, sizeof(target), 200, NULL);
    work = work_new();
    must(cntr_ops(work.trigger)->set_wb_buffer(&work.trigger->fid, &word, sizeof(word)),
         "set_wb_buffer");
    work.flags = FI_CXI_CNTR_WB;
    must(queue_write(&work), "FI_QUEUE_WORK");
    ring(&work, 1);
    (void)await(work.counted, 1);
    pause_ms(50);
    if ((__atomic_load_n(&word, __ATOMIC_ACQUIRE) & FI_CXI_CNTR_SUCCESS_MAX) != 0) {
        found("at the threshold");
    }
    ring(&work, 1);
    found(await_word(&word, MPIXQ_CXI_WRITTEN_BACK | 2) ? "one behind the threshold" : "never");
}

const struct behaviour work_behaviours[] = {
    {"work-threshold-met", threshold_met, "fires at once", false},
    {"work-order", threshold_order, "threshold, then queue", false},
    {"work-capture", capture, "when queued", false},
    {"work-source", source_read, "when it fires", false},
    {"work-atomic-write", atomic_write_read, "when queued", false},
    {"work-flags", flags, "refused", false},
    {"work-no-trigger", no_trigger, "refused", false},
    {"work-no-completion", no_completion, "accepted", false},
    {"work-change-counted", change_counted, "refused", false},
    {"work-receive", receive_deferred, "refused", false},
    {"work-cancel", cancel, "refused", false},
    {"work-flush", flush, "cancels all, slowly", false},
    {"work-chain-failure", chain_failure, "does not fire", false},
    {"work-failure-report", failure_report, "entry and count", false},
    {"work-read", read_deferred, "reads when it fires", false},
    {"work-read-failure", read_failure, "entry and count", false},
    {"work-untracked", untracked, "context of the endpoint", false},
    {"work-atomic-counter", atomic_counter, "crash", false},
    {"work-write-back", flag_write_back, "one behind the threshold", false},
    {NULL, NULL, NULL, false},
};
