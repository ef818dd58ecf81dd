/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits. The stream's GPU makes them; its worker keeps the books, behind it. */
#include "core/failure.h"
#include "core/trace_pairs.h"
#include "ipc.h"

/* The stream has reached starts that its GPU has made, or would have made if the queue had not
 * failed by then. No stream takes such a pair whose GPU does not make its starts. */
static void book_all(void *const args[], int n, bool on_gpu, void (*executed)(struct ipc_end *end))
{
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        const struct mpixq_queue *queue = atomic_load(&pair->queue);

        if (!on_gpu) {
            mpixq_failure_of(pair->id, mpixq_error_code(MPIXQ_E_GPU_OPS), "start");
        } else if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
        } else {
            mpixq_trace_start_executed(pair);
            executed(pair->end);
        }
    }
    if (on_gpu) {
        mpixq_ipc_note_starts(args, n);
    }
}

static void book(void *const args[], int n, bool on_gpu)
{
    book_all(args, n, on_gpu, mpixq_ipc_executed);
}

static void book_counted(void *const args[], int n, bool on_gpu)
{
    book_all(args, n, on_gpu, mpixq_ipc_count);
}

/* What was enqueued before its GPU counts may be executed after others have seen what that has
 * counted. */
void mpixq_ipc_executed(struct ipc_end *end)
{
    (void)mpixq_pair_raise(&end->pair->executed, atomic_fetch_add(&end->booked, 1) + 1);
}

uint64_t mpixq_ipc_value(const struct ipc_end *end)
{
    return end->base + mpixq_pair_started(end->pair);
}

/* What the state of the pair is at most while a start waits for the other end. */
static uint64_t mine_of(const struct ipc_end *end, uint64_t value)
{
    return end->is_send ? MPIXQ_STATE_SEND(value) : MPIXQ_STATE_RECEIVE(value);
}

/* A start that was counted. Ready sends do not ask whether their receive is there: either this sees
 * that it is not, or who closes its buffer sees the new count. */
static bool has_no_peer(const struct ipc_end *end)
{
    if (end->is_ready) {
        mpixq_pair_fence_start(end->pair);
    }
    return atomic_load(&end->is_gone);
}

bool mpixq_ipc_starts_nothing(const struct ipc_end *end)
{
    return !end->is_send && end->is_ready && end->slots.first < 0 && !mpixq_ipc_is_counted(end);
}

void mpixq_ipc_start_op(struct ipc_end *end, struct mpixq_op *op)
{
    op->value = mpixq_ipc_value(end);
    op->is_after_host = end->by_host == op->value - 1;
    op->gpu.end = &end->gpu;
    op->copy = NULL;        /* GPUs reach both buffers */
    if (has_no_peer(end)) { /* nor will it have one again */
        end->gpu.move.to = end->buffer;
        end->gpu.move.from = end->buffer;
    }
}

int mpixq_ipc_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                    struct mpixq_op list[])
{
    for (int i = 0; i < n; i++) {
        struct ipc_end *end = pairs[i]->end;

        if (queue == NULL) {
            mpixq_op_call(&list[i], MPIXQ_OP_CALL, mpixq_ipc_starts_by_host, pairs[i]);
            continue;
        }
        mpixq_op_call(&list[i], MPIXQ_OP_MOVE, mpixq_ipc_is_counted(end) ? book_counted : book,
                      pairs[i]);
        if (mpixq_ipc_starts_nothing(end)) {
            list[i].gpu.end = NULL;
            list[i].copy = NULL;
        } else {
            mpixq_ipc_start_op(end, &list[i]);
        }
    }
    return n;
}

int mpixq_ipc_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    const struct ipc_end *end = pair->end;

    mpixq_op_wait(op, MPIXQ_OP_TAKE, pair, end->told, mpixq_ipc_value(end), &queue->halted);
    op->gpu.end = &end->gpu;
    return 1;
}

bool mpixq_ipc_poll(struct mpixq_pair *pair)
{
    uint64_t done;

    mpixq_ipc_count(pair->end);
    done = ipc_done(pair->end);
    if (mpixq_pair_done(pair) < done && done >= mpixq_pair_executed(pair)) {
        mpixq_trace_completed(pair);
    }
    mpixq_pair_raise_done(pair, done);
    return done == mpixq_pair_started(pair) || mpixq_pair_has_failed(pair);
}

/* A wait that is given up may not have copied what has come to its slot. Other starts that are
 * closed have never completed. */
bool mpixq_ipc_is_broken(struct mpixq_pair *pair)
{
    const struct ipc_end *end = pair->end;

    return end->slots.first >= 0 && !end->is_send;
}

void mpixq_ipc_recall(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->channel == &mpixq_channel_ipc ? pair->end : NULL;
    struct mpixq_recall recall;

    if (end == NULL) {
        return;
    }
    mpixq_ipc_count(end);
    if (ipc_done(end) >= mpixq_pair_started(pair) || mpixq_memory_is_over(end->life)) {
        return;
    }
    /* Before it hears that this end is freed, by which it would take the words for clean. */
    mpixq_failure_abandon(pair);
    if (end->gpu.state == NULL) {
        mpixq_ipc_await_launch(end);
        return;
    }
    recall = (struct mpixq_recall){.state = end->gpu.state,
                                   .mine = mine_of(end, mpixq_ipc_value(end)),
                                   .own = end->gpu.move.own,
                                   .value = mpixq_ipc_value(end)};
    (void)mpixq_share_recall(end->place->share, &recall);
}

const char *mpixq_ipc_what_is_missing(const struct mpixq_pair *pair)
{
    const struct ipc_end *end = pair->end;

    if (end->is_ready && end->slots.first < 0) {
        return end->is_send ? "it is started here, and the GPU is moving the data"
                            : "it is started here and lacks the data: the peer has not started its "
                              "send, or its GPU is moving the data";
    }
    return "it is started here, and the peer has not started its end, or a GPU is moving the data";
}
