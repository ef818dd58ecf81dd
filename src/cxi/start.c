/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits. The call that enqueues a start only logs it, to be armed (arm.c) by the time
 * that the stream has come to it. What has no room by then is taken over (drive.c). */
#include "check.h"
#include "core/failure.h"
#include "core/trace_pairs.h"
#include "eager.h"
#include "nic.h"
#include "start_log.h"
#include "supply.h"
#include "util/lock.h"
#include "util/progress.h"

enum { READ_EVERY = 32 }; /* starts after which who executes them reads completion queues */

/* Starts. */

static struct cxi_queue *queue_of(const struct mpixq_pair *pair)
{
    const struct mpixq_pair *whole = pair->is_share ? pair->whole : pair;
    const struct mpixq_queue *queue = atomic_load(&whole->queue);
    const struct cxi_end *end = pair->end;
    struct cxi_queues *all = queue != NULL ? queue->own[MPIXQ_CHANNEL_CXI] : NULL;

    return all != NULL ? &all->of[end->nic->number] : &end->nic->host;
}

/* The start is the next of its pair. Nobody else will arm it: what the host itself starts is in
 * no log, and rings in the order in which it gets here. */
static void arm_by_host(struct cxi_queue *host, struct mpixq_pair *pair)
{
    struct cxi_end *end = pair->end;
    uint64_t ring = end->shared ? ++host->issued : 0;

    if (end->settled == mpixq_pair_executed(pair)) {
        (void)mpixq_cxi_arm(host, end, ring);
    }
}

/* The stream is about to execute the next start of a pair. */
static void arm_in_time(struct cxi_queue *cxq, const struct mpixq_pair *pair)
{
    const struct cxi_end *end = pair->end;
    const struct cxi_logged *logged;

    while (end->settled == mpixq_pair_executed(pair) && (logged = log_first(cxq)) != NULL) {
        bool is_last = logged->end == end;

        if (mpixq_cxi_is_early(logged)) {
            log_pop(cxq); /* it will wait for its credit in the NIC */
            if (is_last) {
                return;
            }
        } else if (!mpixq_cxi_arm_first(cxq, logged)) {
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

/* The stream is at the start, so that the NIC may begin it on the clear-to-send that it lacks. Like
 * a ring, this comes behind what the program wrote. */
static void arm_at_last(struct cxi_queue *cxq, struct cxi_end *end)
{
    __sync_synchronize();
    (void)mpixq_cxi_arm(cxq, end, 0);
}

/* The stream has reached a start: what was not armed by now is the host's. If the GPU has rung for
 * it, it may be further than we are, and so may the peer. */
static void execute(struct cxi_queue *cxq, struct mpixq_pair *pair, bool rung)
{
    struct cxi_end *end = pair->end;
    uint64_t epoch;

    if (!pair->is_share) { /* else that of its first share stands for it */
        mpixq_trace_start_executed(pair);
    }
    epoch = atomic_fetch_add(&pair->executed, 1) + 1;
    end->queue = cxq;
    mpixq_cxi_fail_if_used_up(end, epoch, cxq->rung);
    assert(end->failed || epoch <= end->settled + 1);
    if (!rung) {
        check_order(end, epoch);
    }
    mpixq_cxi_set_live(end, true);
    if (end->settled < epoch && mpixq_cxi_is_to_slots(end)) {
        arm_at_last(cxq, end);
    }
    if (end->settled < epoch) {
        mpixq_cxi_take_over(end, epoch);
    }
}

/* Of an eager send T only counts clear-to-sends. */
static bool rings_alone(const struct cxi_end *end)
{
    return end->trigger != NULL && !end->shared;
}

/* Ring for so many starts of a queue that share its counter, and for those that have their own. */
static void ring(const struct cxi_queue *cxq, void *const args[], int n, uint64_t shared)
{
    /* What the program wrote comes before what the NIC is told to read. No fence of C11: the thread
     * sanitizer has none, and GCC says so. */
    __sync_synchronize();
    for (int i = 0; i < n; i++) {
        const struct cxi_end *end = ((struct mpixq_pair *)args[i])->end;

        if (rings_alone(end)) {
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
        rings += rings_alone(((struct mpixq_pair *)args[i])->end);
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
        mpixq_failure_abandon(mpixq_cxi_whole(pair));
    }
}

/* The stream has reached the starts, which are all of one queue and NIC. Rung: the GPU has rung for
 * them, before. What is posted behind its ring is executed at once. */
static void reach_on_nic(void *const args[], int n, bool rung)
{
    struct cxi_queue *cxq = queue_of(args[0]);
    struct cxi_nic *nic = cxq->nic;
    uint64_t shared = 0;
    bool read;

    if (mpixq_cxi_has_failed(cxq)) {
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

static const struct cxi_nic *nic_of(const void *arg)
{
    return ((const struct cxi_end *)((const struct mpixq_pair *)arg)->end)->nic;
}

/* Those of one NIC stand together, as the call that started them has put them there. */
static void reach(void *const args[], int n, bool rung)
{
    for (int first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && nic_of(args[end]) == nic_of(args[first])) {
            end++;
        }
        reach_on_nic(args + first, end - first, rung);
    }
}

/* The share of a pair that goes by a NIC, or NULL. */
static struct cxi_end *share_on(const struct mpixq_pair *pair, const struct cxi_nic *nic)
{
    struct cxi_end *end = pair->end;

    while (end != NULL && end->nic != nic) {
        end = end->next_share;
    }
    return end;
}

/* Starts of a queue, of those the ones on a NIC; all of them, if that is the only one, which costs
 * no look for shares. They are rung for by their own doorbells, or by that of the queue. Returns
 * how many there are. */
__attribute__((always_inline)) static inline int log_starts(struct cxi_queue *cxq,
                                                            struct mpixq_pair *const pairs[], int n,
                                                            struct mpixq_op list[], bool is_only)
{
    const struct mpixq_exposed *bell = cxq->shared != NULL ? &cxq->shared->exposed : NULL;
    const struct cxi_nic *nic = cxq->nic;
    struct cxi_logged *log = cxq->log;
    uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_relaxed), mask = cxq->mask;
    uint64_t issued = cxq->issued, end_of_log = tail + log_room(cxq, tail, (uint64_t)n);
    struct mpixq_op *op = list;

    for (int i = 0; i < n; i++) {
        struct cxi_end *end = is_only ? pairs[i]->end : share_on(pairs[i], nic);

        if (!is_only && end == NULL) {
            continue;
        }
        if (!is_only && end->own_pair != NULL) {
            mpixq_pair_count_start(end->own_pair, false);
        }
        issued += end->shared;
        mpixq_op_call(op, MPIXQ_OP_RING, reach, is_only ? pairs[i] : end->pair);
        op->gpu.exposed = end->shared ? bell : end->bell;
        op++;
        if (tail < end_of_log) {
            struct cxi_logged *logged = &log[tail++ & mask];

            logged->end = end;
            logged->epoch = mpixq_pair_started(is_only ? pairs[i] : end->pair);
            logged->ring = issued;
        }
    }
    cxq->issued = issued;
    if (op > list) {
        log_publish(cxq, tail);
    }
    return (int)(op - list);
}

int mpixq_cxi_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                    struct mpixq_op list[])
{
    struct cxi_queues *all = queue != NULL ? queue->own[MPIXQ_CHANNEL_CXI] : NULL;
    int n_ops = 0;

    if (all != NULL && all->n == 1) {
        return log_starts(&all->of[0], pairs, n, list, true);
    }
    if (all != NULL) {
        for (int i = 0; i < all->n; i++) {
            n_ops += log_starts(&all->of[i], pairs, n, list + n_ops, false);
        }
        return n_ops;
    }
    for (int i = 0; i < n; i++) {
        for (struct cxi_end *end = pairs[i]->end; end != NULL; end = end->next_share) {
            if (end->own_pair != NULL) {
                mpixq_pair_count_start(end->own_pair, true);
            }
            mpixq_op_call(&list[n_ops++], MPIXQ_OP_CALL, reach, end->pair);
        }
    }
    return n_ops;
}

/* Waits. */

/* What pairs wait for is driven as a whole. A NIC that has all it needs is left alone: to read
 * its queues costs time, and for failures the progress thread does. */
static void poll_many(void *const args[], int n)
{
    unsigned seen = 0;

    for (int i = 0; i < n; i++) {
        struct cxi_end *end = ((struct mpixq_pair *)args[i])->end;

        for (; end != NULL; end = end->next_share) {
            mpixq_cxi_take(end);
            if ((seen & 1u << end->nic->number) == 0 && needs_host(end->nic)) {
                mpixq_cxi_drive(end->nic, false);
            }
            seen |= 1u << end->nic->number;
        }
    }
}

static void fill_wait(const struct mpixq_queue *queue, struct mpixq_pair *pair,
                      const struct cxi_end *end, uint64_t start, struct mpixq_op *op)
{
    if (__builtin_expect(mpixq_cxi_has_slots(end), false)) { /* who waits copies */
        mpixq_op_wait(op, MPIXQ_OP_DRAIN, pair, end->slots->gpu.taken, start, &queue->failed);
        op->gpu.slots = &end->slots->gpu;
    } else {
        mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, &end->word->value, end->word_base + start,
                      &queue->failed);
        op->gpu.exposed = end->page;
    }
    op->poll = poll_many;
}

int mpixq_cxi_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    const struct cxi_end *end = pair->end;
    int n = 1;

    fill_wait(queue, pair, end, mpixq_pair_started(pair), &list[0]);
    while (__builtin_expect(end->next_share != NULL, false)) {
        end = end->next_share;
        fill_wait(queue, pair, end, mpixq_pair_started(end->pair), &list[n++]);
    }
    return n;
}

/* Starts of the pair that are done: all shares of them. */
static uint64_t drive_and_count(const struct mpixq_pair *pair)
{
    uint64_t done = UINT64_MAX, started = mpixq_pair_started(pair);

    for (struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        uint64_t here;

        mpixq_cxi_take(end);
        here = mpixq_cxi_complete(end);
        if (here < started) {
            mpixq_cxi_drive(end->nic, false);
            mpixq_cxi_take(end);
            here = mpixq_cxi_complete(end);
        }
        done = here < done ? here : done;
    }
    return done;
}

bool mpixq_cxi_poll(struct mpixq_pair *pair)
{
    uint64_t done = drive_and_count(pair);

    if (mpixq_pair_done(pair) < done && done >= mpixq_pair_executed(pair)) {
        mpixq_trace_completed(pair);
    }
    mpixq_pair_raise_done(pair, done);
    return done == mpixq_pair_started(pair) || mpixq_pair_has_failed(pair);
}
