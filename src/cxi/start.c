/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits. The call that enqueues a start only logs it. It is armed, in the order of the
 * log, by whoever comes first: the progress thread, a thread that waits, or the one that executes
 * the stream, just before it rings. What has no room by then is taken over (drive.c). */
#include <stddef.h>
#include <utlist.h>

#include "check.h"
#include "core/failure.h"
#include "core/trace_pairs.h"
#include "nic.h"
#include "process.h"
#include "shares.h"
#include "start_log.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/progress.h"

enum {
    LOG = 4096,     /* starts of a queue that wait to be armed; those beyond are taken over */
    AT_ONCE = 64,   /* as many are armed under one hold of the lock, of those not needed yet */
    READ_EVERY = 32 /* starts after which the one that executes them reads completion queues */
};

/* Queues. */

bool mpixq_cxi_queue_open(struct cxi_queue *cxq, struct cxi_nic *nic, struct mpixq_queue *queue,
                          uint64_t log)
{
    cxq->queue = queue;
    cxq->nic = nic;
    if (log > 0) {
        cxq->mask = log - 1;
        cxq->log = mpixq_alloc(log * sizeof *cxq->log); /* freed in mpixq_cxi_queue_close */
        if (cxq->log == NULL) {
            return false;
        }
    }
    cxq->shared = mpixq_cxi_counter_take(nic);
    mpixq_lock_acquire(&nic->lock);
    DL_APPEND(nic->queues, cxq);
    mpixq_lock_release(&nic->lock);
    return true;
}

void mpixq_cxi_queue_close(struct cxi_queue *cxq)
{
    struct cxi_nic *nic = cxq->nic;
    struct cxi_end *end;

    mpixq_lock_acquire(&nic->lock);
    while (log_first(cxq) != NULL) {
        log_pop(cxq);
    }
    DL_FOREACH(nic->ends, end)
    {
        if (end->queue == cxq) {
            end->queue = NULL;
        }
    }
    assert(cxq->rung <= cxq->issued);
    /* If it was rung for all that it was posted for, nothing waits for it any more. */
    mpixq_cxi_counter_put(nic, cxq->shared, cxq->issued == cxq->rung, cxq->rung);
    DL_DELETE(nic->queues, cxq);
    mpixq_lock_release(&nic->lock);
    mpixq_free(cxq->log);
}

enum mpixq_error mpixq_cxi_attach(struct mpixq_queue *queue)
{
    struct cxi_queue *cxq;
    struct cxi_nic *nic;
    const char *why;

    mpixq_cxi_ask_gpus();
    nic = mpixq_cxi_open(&why);
    if (nic == NULL) {
        return queue->type == MPIXQ_QUEUE_CXI ? MPIXQ_E_CXI : MPIXQ_E_NONE;
    }
    cxq = mpixq_alloc(sizeof *cxq); /* freed in mpixq_cxi_detach */
    if (cxq == NULL || !mpixq_cxi_queue_open(cxq, nic, queue, LOG)) {
        mpixq_free(cxq);
        return MPIXQ_E_NO_MEMORY;
    }
    queue->own[MPIXQ_CHANNEL_CXI] = cxq;
    return MPIXQ_E_NONE;
}

void mpixq_cxi_detach(struct mpixq_queue *queue)
{
    struct cxi_queue *cxq = queue->own[MPIXQ_CHANNEL_CXI];

    if (cxq != NULL) {
        mpixq_cxi_queue_close(cxq);
        mpixq_free(cxq);
        queue->own[MPIXQ_CHANNEL_CXI] = NULL;
    }
}

void mpixq_cxi_count_posts(const struct cxi_end *end, uint64_t n)
{
    if (end->queue != NULL && end->queue->queue != NULL) {
        atomic_fetch_add_explicit(&end->queue->queue->posts, n, memory_order_relaxed);
    }
}

/* Arming. */

static bool has_room(const struct cxi_end *end)
{
    uint32_t left = mpixq_cxi_n_ops(end) - end->posted;

    return left <= (uint32_t)mpixq_cxi_shares_room(&end->nic->shares);
}

static bool make_room(const struct cxi_end *end)
{
    struct cxi_end *other;

    if (!has_room(end)) {
        DL_FOREACH(end->nic->ends, other)
        {
            mpixq_cxi_entries_reap(other);
        }
    }
    if (!has_room(end)) {
        mpixq_cxi_shares_ask(&end->nic->shares, end->nic->in_use);
    }
    return has_room(end);
}

static bool has_failed(const struct cxi_queue *cxq)
{
    return cxq->queue != NULL && mpixq_queue_has_failed(cxq->queue);
}

static const char no_room[] = "start, for which no counter has room,";

/* Would a counter of the provider wrap? */
static bool is_used_up(const struct cxi_end *end, uint64_t epoch, uint64_t ring)
{
    uint64_t max = end->nic->quirks->counter_max / 2; /* the other half is the base, at most */

    return ring > max || epoch > max / 2 || epoch > max / mpixq_cxi_counted(end);
}

/* Post all operations of the start behind the settled ones. False: no room, or the NIC is busy;
 * what was posted by then stays. */
static bool arm(struct cxi_queue *cxq, struct cxi_end *end, uint64_t ring)
{
    uint64_t epoch = end->settled + 1;
    uint32_t n = mpixq_cxi_n_ops(end);

    end->queue = cxq;
    if (is_used_up(end, epoch, ring)) {
        mpixq_cxi_fail(end, no_room, FI_EOVERFLOW);
    }
    if (end->failed || has_failed(cxq)) {
        return true; /* nothing is to be posted any more */
    }
    assert(mpixq_pair_executed(end->pair) < epoch && (ring > cxq->rung || !end->shared));
    assert(end->over == 0 || end->over < epoch);
    mpixq_cxi_entries_reap(end);
    if ((end->shared && cxq->shared == NULL) || !make_room(end)) {
        return false;
    }
    while (end->posted < n) {
        int rc = mpixq_cxi_post(end, end->posted, epoch, ring);

        if (rc == -FI_EAGAIN) {
            return false;
        }
        if (rc != 0) {
            mpixq_cxi_fail(end, "post", rc);
            return true;
        }
        end->posted++;
        mpixq_cxi_count_posts(end, 1);
    }
    end->posted = 0;
    end->settled = epoch;
    end->nic->counts.armed++;
    return true;
}

/* Arm the first of the log. False: no room. */
static bool arm_first(struct cxi_queue *cxq, const struct cxi_logged *logged)
{
    /* Starts before it may have been left to be taken over; then so is this one. */
    if (logged->end != NULL && logged->epoch == logged->end->settled + 1 &&
        !arm(cxq, logged->end, logged->end->shared ? logged->ring : 0)) {
        return false;
    }
    log_pop(cxq);
    return true;
}

void mpixq_cxi_arm_logged(struct cxi_nic *nic)
{
    const struct cxi_logged *logged;
    struct cxi_queue *cxq;
    int n = 0;

    DL_FOREACH(nic->queues, cxq)
    {
        while ((logged = log_first(cxq)) != NULL && n++ < AT_ONCE) {
            if (!arm_first(cxq, logged)) {
                return;
            }
        }
    }
}

void mpixq_cxi_unlog(const struct cxi_end *end)
{
    struct cxi_queue *cxq;

    DL_FOREACH(end->nic->queues, cxq)
    {
        uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_acquire);

        for (uint64_t i = atomic_load(&cxq->head); i < tail; i++) {
            struct cxi_logged *logged = log_at(cxq, i);

            logged->end = logged->end == end ? NULL : logged->end;
        }
    }
}

/* Starts. */

static struct cxi_queue *queue_of(const struct mpixq_pair *pair)
{
    const struct mpixq_queue *queue = atomic_load(&pair->queue);
    const struct cxi_end *end = pair->end;

    return queue != NULL ? queue->own[MPIXQ_CHANNEL_CXI] : &end->nic->host;
}

/* The start is the next of its pair. Nobody else will arm it: what the host itself starts is in
 * no log, and rings in the order in which it gets here. */
static void arm_by_host(struct cxi_queue *host, struct mpixq_pair *pair)
{
    struct cxi_end *end = pair->end;
    uint64_t ring = end->shared ? ++host->issued : 0;

    if (end->settled == mpixq_pair_executed(pair)) {
        (void)arm(host, end, ring);
    }
}

/* The stream is about to execute the next start of a pair. */
static void arm_in_time(struct cxi_queue *cxq, const struct mpixq_pair *pair)
{
    const struct cxi_end *end = pair->end;
    const struct cxi_logged *logged;

    while (end->settled == mpixq_pair_executed(pair) && (logged = log_first(cxq)) != NULL) {
        if (!arm_first(cxq, logged)) {
            return;
        }
    }
}

/* What the peer sends only after this start, or after the one before, is here already. */
static void check_order(struct cxi_end *end, uint64_t epoch)
{
    if (end->cts != NULL && mpixq_cxi_cts(end) > epoch) {
        mpixq_cxi_fail(end, "clear-to-send, which came twice,", FI_EOTHER);
    } else if (!end->is_send && !end->ready && mpixq_cxi_done(end) >= epoch) {
        mpixq_cxi_fail(end, "write, which came before the start,", FI_EOTHER);
    }
}

/* The stream has reached a start: what was not armed by now is the host's. If the GPU has rung for
 * it, it may be further than we are, and so may the peer. */
static void execute(struct cxi_queue *cxq, struct mpixq_pair *pair, bool rung)
{
    struct cxi_end *end = pair->end;
    uint64_t epoch;

    mpixq_trace_start_executed(pair);
    epoch = atomic_fetch_add(&pair->executed, 1) + 1;
    end->queue = cxq;
    if (is_used_up(end, epoch, cxq->rung)) {
        mpixq_cxi_fail(end, no_room, FI_EOVERFLOW);
    }
    assert(end->failed || epoch <= end->settled + 1);
    if (!rung) {
        check_order(end, epoch);
    }
    mpixq_cxi_set_live(end, true);
    if (end->settled < epoch) {
        mpixq_cxi_take_over(end, epoch);
    }
}

/* Ring for so many starts of a queue that share its counter, and for those that have their own. */
static void ring(const struct cxi_queue *cxq, void *const args[], int n, uint64_t shared)
{
    /* What the program wrote comes before what the NIC is told to read. No fence of C11: the thread
     * sanitizer has none, and GCC says so. */
    __sync_synchronize();
    for (int i = 0; i < n; i++) {
        const struct cxi_end *end = ((struct mpixq_pair *)args[i])->end;

        if (end->trigger != NULL) {
            mpixq_cxi_ring(end->trigger, 1);
        }
    }
    if (shared > 0 && cxq->shared != NULL) {
        mpixq_cxi_ring(cxq->shared, shared);
    }
}

static void count_rings(const struct cxi_queue *cxq, void *const args[], int n, uint64_t shared)
{
    uint64_t rings = shared > 0;

    for (int i = 0; cxq->queue != NULL && i < n; i++) {
        rings += ((const struct cxi_end *)((struct mpixq_pair *)args[i])->end)->trigger != NULL;
    }
    if (cxq->queue != NULL) {
        atomic_fetch_add_explicit(&cxq->queue->rings, rings, memory_order_relaxed);
        mpixq_trace_rang(cxq->queue, rings);
    }
}

/* Does something that a wait may depend on need the host? */
static bool needs_host(const struct cxi_nic *nic)
{
    return nic->quirks->software || atomic_load(&nic->n_over) > 0 || atomic_load(&nic->flying) > 0;
}

/* The queue has failed. What the GPU had rung for by then may be under way. */
static void drop(void *const args[], int n, bool rung)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        struct cxi_end *end = pair->end;

        if (rung) {
            mpixq_lock_acquire(&end->nic->lock);
            end->perhaps = mpixq_pair_executed(pair) + 1;
            mpixq_lock_release(&end->nic->lock);
        }
        mpixq_failure_abandon(pair);
    }
}

/* The stream has reached the starts, which are all of one queue. Rung: the GPU has rung for them,
 * before. What is posted behind its ring is executed at once. */
static void reach(void *const args[], int n, bool rung)
{
    struct cxi_queue *cxq = queue_of(args[0]);
    struct cxi_nic *nic = cxq->nic;
    uint64_t shared = 0;
    bool read;

    if (has_failed(cxq)) {
        drop(args, n, rung);
        return;
    }
    mpixq_lock_acquire(&nic->lock);
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];

        if (cxq->queue == NULL) {
            arm_by_host(cxq, pair);
        } else {
            arm_in_time(cxq, pair);
        }
        shared += ((const struct cxi_end *)pair->end)->shared;
    }
    cxq->rung += shared;
    for (int i = 0; i < n; i++) {
        execute(cxq, args[i], rung);
    }
    read = nic->starts / READ_EVERY != (nic->starts + (uint64_t)n) / READ_EVERY;
    nic->starts += (uint64_t)n;
    mpixq_lock_release(&nic->lock);
    if (!rung) {
        ring(cxq, args, n, shared);
    }
    count_rings(cxq, args, n, shared);
    mpixq_progress_wake();
    if (read && needs_host(nic)) {
        mpixq_cxi_read(nic);
    }
}

/* Starts of a queue. They are rung for by their own doorbells, or by that of the queue. */
static void log_starts(struct cxi_queue *cxq, struct mpixq_pair *const pairs[], int n,
                       struct mpixq_op list[])
{
    const struct mpixq_exposed *bell = cxq->shared != NULL ? &cxq->shared->exposed : NULL;
    struct cxi_logged *log = cxq->log;
    uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_relaxed), mask = cxq->mask;
    uint64_t issued = cxq->issued, end_of_log = tail + log_room(cxq, tail, (uint64_t)n);

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = pairs[i];
        const struct cxi_end *end = pair->end;

        issued += end->shared;
        mpixq_op_call(&list[i], MPIXQ_OP_RING, reach, pair);
        list[i].gpu.exposed = end->shared ? bell : end->bell;
        if (tail < end_of_log) {
            struct cxi_logged *logged = &log[tail++ & mask];

            logged->end = pair->end;
            logged->epoch = mpixq_pair_started(pair);
            logged->ring = issued;
        }
    }
    cxq->issued = issued;
    log_publish(cxq, tail);
}

int mpixq_cxi_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                    struct mpixq_op list[])
{
    if (queue != NULL) {
        log_starts(queue->own[MPIXQ_CHANNEL_CXI], pairs, n, list);
        return n;
    }
    for (int i = 0; i < n; i++) {
        mpixq_op_call(&list[i], MPIXQ_OP_CALL, reach, pairs[i]);
    }
    return n;
}

/* Waits. */

/* What pairs wait for is driven as a whole. A NIC that has all it needs is left alone: to read
 * its queues costs time, and for failures the progress thread does. */
static void poll_many(void *const args[], int n)
{
    const struct cxi_nic *last = NULL;

    for (int i = 0; i < n; i++) {
        struct cxi_nic *nic = ((const struct cxi_end *)((struct mpixq_pair *)args[i])->end)->nic;

        if (nic != last && needs_host(nic)) {
            mpixq_cxi_drive(nic, false);
        }
        last = nic;
    }
}

bool mpixq_cxi_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    const struct cxi_end *end = pair->end;

    mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, &end->word->value,
                  end->word_base + mpixq_pair_started(pair), &queue->failed);
    op->poll = poll_many;
    op->gpu.exposed = end->page;
    return true;
}

bool mpixq_cxi_poll(struct mpixq_pair *pair)
{
    const struct cxi_end *end = pair->end;
    uint64_t done = mpixq_cxi_done(end);

    if (done < mpixq_pair_started(pair)) {
        mpixq_cxi_drive(end->nic, false);
        done = mpixq_cxi_done(end);
    }
    if (mpixq_pair_done(pair) < done && done >= mpixq_pair_executed(pair)) {
        mpixq_trace_completed(pair);
    }
    mpixq_pair_raise_done(pair, done);
    return done == mpixq_pair_started(pair) || mpixq_pair_has_failed(pair);
}
