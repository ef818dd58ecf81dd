/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts that a stream, or the host, has come to: what is not armed by then is taken over
 * (drive.c). */
#include "execute.h"

#include "ahead.h"
#include "chain.h"
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
    uint64_t epoch = mpixq_pair_executed(pair) + 1;
    uint64_t ring =
        mpixq_cxi_rings_queue(end, epoch) ? ++host->issued : mpixq_cxi_own_rings(end, epoch);

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
    if (end->cts != NULL && mpixq_cxi_cts(end) > mpixq_cxi_clears(end) * epoch) {
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

/* The counter that the start which was executed last rings alone, or NULL. */
static struct cxi_counter *ring_of(const void *arg)
{
    const struct mpixq_pair *pair = arg;

    return mpixq_cxi_ring_of(pair->end, mpixq_pair_executed(pair));
}

/* Ring for so many starts of a queue that share its counter, and for those that have their own. */
static void ring(const struct cxi_queue *cxq, void *const args[], int n, uint64_t shared)
{
    /* What the program wrote comes before what the NIC is told to read. No fence of C11: the thread
     * sanitizer has none, and GCC says so. */
    __sync_synchronize();
    for (int i = 0; i < n; i++) {
        const struct cxi_counter *alone = ring_of(args[i]);

        if (alone != NULL) {
            mpixq_cxi_ring(alone, 1);
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
        rings += ring_of(args[i]) != NULL;
    }
    if (cxq->queue != NULL) {
        atomic_fetch_add_explicit(&cxq->queue->rings, rings, memory_order_relaxed);
        mpixq_trace_rang(cxq->queue, rings);
    }
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

/* The stream has reached the starts, all of this queue and its NIC. Rung: the GPU has rung
 * for them, before. What is posted behind its ring is executed at once. */
static void reach_on_nic(struct cxi_queue *cxq, void *const args[], int n, bool rung)
{
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
        shared += mpixq_cxi_rings_queue(pair->end, mpixq_pair_executed(pair) + 1);
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
    if (read && mpixq_cxi_needs_host(nic)) {
        mpixq_cxi_read(nic);
    }
}

static const struct cxi_nic *nic_of(const void *arg)
{
    return ((const struct cxi_end *)((const struct mpixq_pair *)arg)->end)->nic;
}

/* Those of one NIC stand together, as the call that started them has put them there. */
void mpixq_cxi_executes(void *const args[], int n, bool rung)
{
    for (int first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && nic_of(args[end]) == nic_of(args[first])) {
            end++;
        }
        reach_on_nic(queue_of(args[first]), args + first, end - first, rung);
    }
}

void mpixq_cxi_start_now(struct mpixq_pair *pair, bool rung)
{
    for (struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        void *arg = end->pair;

        if (end->own_pair != NULL) {
            mpixq_pair_count_start(end->own_pair, true);
        }
        reach_on_nic(&end->nic->host, &arg, 1, rung);
    }
}

uint64_t mpixq_cxi_count_complete(const struct mpixq_pair *pair)
{
    uint64_t done = UINT64_MAX;

    for (struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        uint64_t here;

        mpixq_cxi_take(end);
        here = mpixq_cxi_complete(end);
        done = here < done ? here : done;
    }
    return done;
}

uint64_t mpixq_cxi_drive_and_count(const struct mpixq_pair *pair)
{
    uint64_t started = mpixq_pair_started(pair);

    for (struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        mpixq_cxi_take(end); /* what is there needs no NIC */
        if (mpixq_cxi_complete(end) < started) {
            mpixq_cxi_drive(end->nic, false);
        }
    }
    return mpixq_cxi_count_complete(pair);
}
