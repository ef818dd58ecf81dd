/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits. The stream's GPU makes them; its worker keeps the books, behind it. */
#include "core/failure.h"
#include "core/trace.h"
#include "ipc.h"

/* The stream has reached starts that its GPU has made, or would have made if the queue had not
 * failed by then. */
static void book(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        const struct mpixq_queue *queue = atomic_load(&pair->queue);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
        } else {
            mpixq_trace_start_executed(pair);
            atomic_fetch_add(&pair->executed, 1);
        }
    }
    mpixq_ipc_note_starts(args, n);
}

/* No stream takes such a pair whose GPU does not make its starts. */
static void refuse(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        const struct mpixq_pair *pair = args[i];

        mpixq_failure_of(pair->id, mpixq_error_code(MPIXQ_E_GPU_OPS), "start");
    }
}

int mpixq_ipc_start_many(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                         struct mpixq_trigger triggers[])
{
    (void)queue;
    for (int i = 0; i < n; i++) {
        triggers[i].call = refuse;
        triggers[i].arg = pairs[i];
        triggers[i].copy = NULL;
    }
    return n;
}

bool mpixq_ipc_start(struct mpixq_queue *queue, struct mpixq_pair *pair,
                     struct mpixq_trigger *trigger)
{
    return queue == NULL ? mpixq_ipc_start_by_host(pair, trigger)
                         : mpixq_ipc_start_many(queue, &pair, 1, trigger) == 1;
}

static uint64_t value_of(const struct ipc_end *end)
{
    return end->base + mpixq_pair_started(end->pair);
}

static char *slot_of(const struct ipc_end *end, uint64_t value)
{
    return end->first_slot != NULL
               ? end->first_slot + value % MPIXQ_SLOTS * ipc_slot_bytes(end->pair->bytes)
               : NULL;
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

struct mpixq_move mpixq_ipc_move(const struct ipc_end *end)
{
    struct mpixq_move move = end->move;

    if (has_no_peer(end)) {
        move.to = end->buffer;
        move.from = end->buffer;
    }
    move.value = value_of(end);
    move.slot = slot_of(end, move.value);
    move.is_early = move.value - end->base < MPIXQ_SLOTS;
    move.is_after_host = end->by_host == move.value - 1;
    return move;
}

struct mpixq_gpu_word mpixq_ipc_word(const struct ipc_end *end)
{
    uint64_t value = value_of(end);

    return (struct mpixq_gpu_word){.address = &end->move.own->done,
                                   .value = value,
                                   .state = end->state,
                                   .mine = mine_of(end, value),
                                   .slot = end->is_send ? NULL : slot_of(end, value),
                                   .to = end->buffer,
                                   .bytes = end->pair->bytes};
}

void mpixq_ipc_move_by_gpu(struct mpixq_queue *queue, struct mpixq_trigger triggers[], int n)
{
    for (int i = 0; i < n; i++) {
        const struct ipc_end *end;

        if (triggers[i].call != refuse) {
            continue;
        }
        triggers[i].call = book;
        end = ((const struct mpixq_pair *)triggers[i].arg)->end;
        /* A ready send without slots does not ask whether its receive is there. */
        if (end->is_send || !end->is_ready || end->slots.first >= 0) {
            queue->moves[queue->n_moves++] = mpixq_ipc_move(end);
        }
    }
}

bool mpixq_ipc_wait(struct mpixq_queue *queue, struct mpixq_pair *pair,
                    struct mpixq_awaited *awaited)
{
    const struct ipc_end *end = pair->end;

    *awaited = (struct mpixq_awaited){
        .word = &end->place->told[end->number], .value = value_of(end), .failed = &queue->failed};
    return true;
}

void mpixq_ipc_watch_by_gpu(struct mpixq_queue *queue, const struct mpixq_awaited *awaited)
{
    const struct ipc_end *end = ((const struct mpixq_pair *)awaited->who)->end;

    queue->by_gpu[queue->n_by_gpu++] = mpixq_ipc_word(end);
}

bool mpixq_ipc_poll(struct mpixq_pair *pair)
{
    uint64_t done = ipc_done(pair->end);

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
    if (ipc_done(end) >= mpixq_pair_started(pair) || mpixq_memory_is_over(end->life)) {
        return;
    }
    /* Before it hears that this end is freed, by which it would take the words for clean. */
    mpixq_failure_abandon(pair);
    if (end->state == NULL) {
        mpixq_ipc_await_launch(end);
        return;
    }
    recall = (struct mpixq_recall){.state = end->state,
                                   .mine = mine_of(end, value_of(end)),
                                   .own = end->move.own,
                                   .value = value_of(end)};
    (void)mpixq_share_recall(end->place->share, &recall);
}

const char *mpixq_ipc_lacks(const struct mpixq_pair *pair)
{
    const struct ipc_end *end = pair->end;

    if (end->is_ready && end->slots.first < 0) {
        return end->is_send ? "it is started here, and the GPU is moving the data"
                            : "it is started here and lacks the data: the peer has not started its "
                              "send, or its GPU is moving the data";
    }
    return "it is started here, and the peer has not started its end, or a GPU is moving the data";
}
