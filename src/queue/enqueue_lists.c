/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The lists of operations of a call: room for them; and what takes more than one, which most calls
 * have nothing of: the steps of starts and waits, and what goes on behind waits. */
#include "core/schedule.h"
#include "core/steps.h"
#include "enqueue.h"
#include "stream/stream.h"
#include "util/alloc.h"

/* A message that goes by several NICs takes an operation for each of its shares, and a collective
 * that GPUs move one for each of its messages. */
static int ops_of_each(const struct mpixq_queue *queue)
{
    int shares = queue->nics <= 1 ? 1 : queue->nics < MPIXQ_PAIR_OPS ? queue->nics : MPIXQ_PAIR_OPS;

    return queue->wanted > shares ? queue->wanted : shares;
}

/* Grows rarely, so the enqueue path does not allocate. */
bool mpixq_enqueue_make_room(struct mpixq_queue *queue, int n)
{
    int room = queue->room > 0 ? queue->room : 16, each = ops_of_each(queue);
    void *pairs, *list;

    if (n <= queue->room && each <= queue->each) {
        return true;
    }
    while (room < n) {
        room = room > INT32_MAX / 2 ? n : room * 2;
    }
    /* The arrays stay with the queue's memory for good. */
    pairs = mpixq_realloc(queue->pairs, (size_t)room * sizeof *queue->pairs);
    queue->pairs = pairs != NULL ? pairs : queue->pairs;
    list = mpixq_realloc(queue->list, (size_t)room * (size_t)each * sizeof *queue->list);
    queue->list = list != NULL ? list : queue->list;
    if (pairs == NULL || list == NULL) {
        return false;
    }
    queue->room = room;
    queue->each = each;
    return true;
}

bool mpixq_enqueue_in_lists(const struct mpixq_request *req)
{
    bool in_steps = false;

    for (int phase = 0; phase < MPIXQ_PHASES; phase++) {
        in_steps = in_steps || mpixq_steps_of(&req->pair, (enum mpixq_phase)phase) > 1;
    }
    return in_steps ||
           (mpixq_channel_goes_on(req->pair.channel) && mpixq_collective_has_rounds(req));
}

static int most_steps(const struct mpixq_queue *queue, int n, enum mpixq_phase phase)
{
    int most = 1;

    for (int i = 0; i < n; i++) {
        int steps = mpixq_steps_of(queue->pairs[i], phase);

        most = steps > most ? steps : most;
    }
    return most;
}

/* A wait is only for what is started. */
static bool has_phase(struct mpixq_pair *pair, enum mpixq_phase phase)
{
    return phase != MPIXQ_PHASE_WAIT ||
           mpixq_request_state(mpixq_request_of(pair)) == MPIXQ_STARTED;
}

void mpixq_enqueue_steps(struct mpixq_queue *queue, int n, enum mpixq_phase phase)
{
    int most = most_steps(queue, n, phase), first = mpixq_phase_waits(phase) ? 0 : 1;

    for (int step = first; step < first + most - 1; step++) {
        int n_ops = 0;

        for (int i = 0; i < n; i++) {
            if (has_phase(queue->pairs[i], phase)) {
                n_ops += mpixq_steps_fill(queue, queue->pairs[i], phase, step, most,
                                          &queue->list[n_ops]);
            }
        }
        if (n_ops > 0) {
            queue->ticket =
                queue->stream->ops->submit(queue->stream, queue->list, n_ops, &queue->submission);
        }
    }
}

int mpixq_enqueue_find_going_on(struct mpixq_queue *queue, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = queue->pairs[i];

        if (mpixq_channel_goes_on(pair->channel) &&
            mpixq_request_state(mpixq_request_of(pair)) == MPIXQ_STARTED) {
            queue->pairs[i] = queue->pairs[found];
            queue->pairs[found++] = pair;
        }
    }
    return found;
}

int mpixq_enqueue_fill_then(struct mpixq_queue *queue, int n, bool waits)
{
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        const struct mpixq_channel_queues *of = queue->pairs[i]->channel->queues;

        n_ops +=
            (waits ? of->then_wait : of->then_start)(queue, queue->pairs[i], &queue->list[n_ops]);
    }
    return n_ops;
}
