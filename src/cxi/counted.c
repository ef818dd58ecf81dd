/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * One thread at a time makes a start of such a pair, or tells that it has completed: the one that
 * is in its end. */
#include "counted.h"

#include "ahead.h"
#include "core/failure.h"
#include "core/queue.h"
#include "execute.h"
#include "nic.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

static bool try_enter(struct cxi_end *end)
{
    return !atomic_exchange_explicit(&end->is_entered, true, memory_order_acquire);
}

static void leave(struct cxi_end *end)
{
    atomic_store_explicit(&end->is_entered, false, memory_order_release);
}

/* Entered. */
static void note_completion(struct mpixq_pair *pair, struct mpixq_tally *tally)
{
    uint64_t done = mpixq_cxi_count_complete(pair), executed = mpixq_pair_executed(pair);

    done = done < executed ? done : executed; /* the GPU may be ahead */
    if (done > mpixq_pair_done(pair)) {
        mpixq_tally_completes(tally, done);
        mpixq_pair_raise_done(pair, done);
        mpixq_tally_completed(tally);
    }
}

/* Entered. What it takes is counted for the queue, as the starts that it enqueues are. */
static void start(struct mpixq_pair *pair, bool rung)
{
    struct mpixq_queue *queue = mpixq_graphs_queue(pair);

    mpixq_cxi_start_now(pair, rung);
    for (struct cxi_end *end = pair->end; queue != NULL && end != NULL; end = end->next_share) {
        atomic_fetch_add_explicit(&queue->posts, mpixq_cxi_n_ops(end), memory_order_relaxed);
        atomic_fetch_add_explicit(&queue->rings, 1, memory_order_relaxed);
    }
}

/* Entered: follow the GPU as far as it has come. A start that the NIC has completed by now may have
 * others behind it. */
static enum mpixq_tally_next follow(struct mpixq_pair *pair, struct mpixq_tally *tally)
{
    enum mpixq_tally_next next = MPIXQ_TALLY_NONE;

    do {
        note_completion(pair, tally);
        if (mpixq_pair_done(pair) != mpixq_pair_executed(pair)) {
            return MPIXQ_TALLY_NONE;
        }
        next = mpixq_tally_next(tally);
        if (next == MPIXQ_TALLY_START) {
            start(pair, tally->is_rung);
        }
    } while (next == MPIXQ_TALLY_START);
    return next;
}

/* It is not made; but what a kernel has rung for may be under way. */
static void drop(struct cxi_end *end, struct mpixq_tally *tally)
{
    if (tally->is_rung) {
        mpixq_lock_acquire(&end->nic->lock);
        end->perhaps = mpixq_pair_executed(end->pair) + 1;
        mpixq_lock_release(&end->nic->lock);
    }
    mpixq_tally_dropped(tally);
}

/* What was enqueued before the first capture is executed by its stream, and comes first. */
void mpixq_cxi_go_on(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    enum mpixq_tally_next next;
    struct cxi_end *end = pair->end;

    if (mpixq_tally_is_older(tally) || !try_enter(end)) {
        return;
    }
    next = follow(pair, tally);
    leave(end);
    if (next == MPIXQ_TALLY_DROP) {
        drop(end, tally);
    }
}

/* Entered. False: a start is under way. */
static bool start_unless_active(struct mpixq_pair *pair, const struct mpixq_queue *queue)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    if (follow(pair, tally) == MPIXQ_TALLY_DROP || mpixq_tally_is_under_way(tally)) {
        return false;
    }
    mpixq_tally_begin(tally, queue);
    start(pair, false);
    return true;
}

/* By a thread, of a stream or of the program: once what was enqueued before the first capture has
 * been executed, which the program has waited for. */
static void start_by_thread(struct mpixq_pair *pair, const struct mpixq_queue *queue)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    struct cxi_end *end = pair->end;
    struct mpixq_backoff backoff;
    bool is_made;

    mpixq_backoff_begin(&backoff);
    while ((mpixq_tally_is_older(tally) && !mpixq_pair_has_failed(pair)) || !try_enter(end)) {
        mpixq_backoff_pause(&backoff);
    }
    is_made = start_unless_active(pair, queue);
    leave(end);
    if (!is_made) {
        mpixq_failure_abandon(pair);
        mpixq_queue_fail(mpixq_graphs_queue(pair), pair, mpixq_error_code(MPIXQ_E_REPLAY_ACTIVE),
                         "start");
    }
}

static void reach(void *const args[], int n, bool rung)
{
    (void)rung;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        const struct mpixq_queue *queue = atomic_load(&pair->queue);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
        } else {
            start_by_thread(pair, queue);
        }
    }
    mpixq_progress_wake();
}

void mpixq_cxi_start_counted(struct mpixq_queue *queue, struct mpixq_pair *pair,
                             struct mpixq_op *op)
{
    if (queue == NULL || !mpixq_tally_start(mpixq_tally_of(pair), queue, op)) {
        mpixq_op_call(op, MPIXQ_OP_CALL, reach, pair);
    }
}

const struct mpixq_channel_graphs mpixq_cxi_graphs = {.go_on = mpixq_cxi_go_on,
                                                      .equip = mpixq_cxi_equip,
                                                      .refresh = mpixq_tally_refresh,
                                                      .halt = mpixq_tally_halt,
                                                      .close = mpixq_tally_close,
                                                      .describe = mpixq_tally_describe};
