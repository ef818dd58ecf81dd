/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits. The call that enqueues a start only logs it, to be armed (arm.c) by the time
 * that the stream has come to it. What has no room by then is taken over (execute.c). */
#include "core/trace_pairs.h"
#include "counted.h"
#include "eager.h"
#include "execute.h"
#include "nic.h"
#include "start_log.h"

/* Starts. */

/* The share of a pair that goes by a NIC, or NULL. */
static struct cxi_end *share_on(const struct mpixq_pair *pair, const struct cxi_nic *nic)
{
    struct cxi_end *end = pair->end;

    while (end != NULL && end->nic != nic) {
        end = end->next_share;
    }
    return end;
}

static bool is_counted(const struct mpixq_pair *pair)
{
    return __builtin_expect(mpixq_tally_of(pair) != NULL, false);
}

/* Once, whatever the NICs of its shares. Returns the number of operations. */
static int start_counted(const struct cxi_queue *cxq, struct mpixq_pair *pair, struct mpixq_op *op)
{
    const struct cxi_end *end = pair->end;

    if (end->nic != cxq->nic) {
        return 0;
    }
    mpixq_cxi_start_counted(cxq->queue, pair, op);
    return 1;
}

/* Starts of a queue, of those the ones on a NIC; all of them, if that is the only one, which costs
 * no look for shares, and if none is counted by a GPU. They are rung for by their own doorbells, or
 * by that of the queue. Returns how many there are. */
__attribute__((always_inline)) static inline int log_starts(struct cxi_queue *cxq,
                                                            struct mpixq_pair *const pairs[], int n,
                                                            struct mpixq_op list[], bool is_only,
                                                            bool may_count)
{
    const struct mpixq_exposed *bell = cxq->shared != NULL ? &cxq->shared->exposed : NULL;
    const struct cxi_nic *nic = cxq->nic;
    struct cxi_logged *log = cxq->log;
    uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_relaxed), mask = cxq->mask;
    uint64_t issued = cxq->issued, end_of_log = tail + log_room(cxq, tail, (uint64_t)n);
    struct mpixq_op *op = list;

    for (int i = 0; i < n; i++) {
        struct cxi_end *end = is_only ? pairs[i]->end : share_on(pairs[i], nic);

        if (may_count && is_counted(pairs[i])) {
            op += start_counted(cxq, pairs[i], op);
            continue;
        }
        if (!is_only && end == NULL) {
            continue;
        }
        if (!is_only && end->own_pair != NULL) {
            mpixq_pair_count_start(end->own_pair, false);
        }
        issued += end->shared;
        mpixq_op_call(op, MPIXQ_OP_RING, mpixq_cxi_executes, is_only ? pairs[i] : end->pair);
        op->gpu.exposed = end->shared ? bell : end->bell;
        op++;
        if (tail < end_of_log) {
            log[tail++ & mask] = (struct cxi_logged){
                end, mpixq_pair_started(is_only ? pairs[i] : end->pair), issued};
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
        return mpixq_tallies_any() ? log_starts(&all->of[0], pairs, n, list, true, true)
                                   : log_starts(&all->of[0], pairs, n, list, true, false);
    }
    if (all != NULL) {
        for (int i = 0; i < all->n; i++) {
            n_ops += log_starts(&all->of[i], pairs, n, list + n_ops, false, true);
        }
        return n_ops;
    }
    for (int i = 0; i < n; i++) {
        if (is_counted(pairs[i])) {
            mpixq_cxi_start_counted(queue, pairs[i], &list[n_ops++]);
            continue;
        }
        for (struct cxi_end *end = pairs[i]->end; end != NULL; end = end->next_share) {
            if (end->own_pair != NULL) {
                mpixq_pair_count_start(end->own_pair, true);
            }
            mpixq_op_call(&list[n_ops++], MPIXQ_OP_CALL, mpixq_cxi_executes, end->pair);
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
            if ((seen & 1u << end->nic->number) == 0 && mpixq_cxi_needs_host(end->nic)) {
                mpixq_cxi_drive(end->nic, false);
            }
            seen |= 1u << end->nic->number;
        }
    }
}

static void poll_counted(void *const args[], int n)
{
    poll_many(args, n);
    for (int i = 0; i < n; i++) {
        mpixq_cxi_go_on(args[i]);
    }
}

static void fill_wait(const struct mpixq_queue *queue, struct mpixq_pair *pair,
                      const struct cxi_end *end, uint64_t start, struct mpixq_op *op)
{
    if (__builtin_expect(mpixq_cxi_has_slots(end), false)) { /* who waits copies */
        mpixq_op_wait(op, MPIXQ_OP_DRAIN, pair, end->slots->gpu.taken, start, &queue->halted);
        op->gpu.slots = &end->slots->gpu;
    } else {
        mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, &end->word->value, end->word_base + start,
                      &queue->halted);
        op->gpu.exposed = end->page;
    }
    op->poll = poll_many;
}

int mpixq_cxi_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    const struct cxi_end *end = pair->end;
    int n = 1;

    if (is_counted(pair)) {
        mpixq_tally_wait_slow(queue, mpixq_tally_of(pair), poll_counted, &list[0]);
        return 1;
    }
    fill_wait(queue, pair, end, mpixq_pair_started(pair), &list[0]);
    while (__builtin_expect(end->next_share != NULL, false)) {
        end = end->next_share;
        fill_wait(queue, pair, end, mpixq_pair_started(end->pair), &list[n++]);
    }
    return n;
}

bool mpixq_cxi_poll(struct mpixq_pair *pair)
{
    uint64_t done = mpixq_cxi_drive_and_count(pair);

    if (mpixq_tally_of(pair) != NULL) {
        mpixq_cxi_go_on(pair);
        return mpixq_pair_is_complete(pair) || mpixq_pair_has_failed(pair);
    }
    if (mpixq_pair_done(pair) < done && done >= mpixq_pair_executed(pair)) {
        mpixq_trace_completed(pair);
    }
    mpixq_pair_raise_done(pair, done);
    return done == mpixq_pair_started(pair) || mpixq_pair_has_failed(pair);
}
