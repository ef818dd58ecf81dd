/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "waiters.h"

#include <stdio.h>

#include "queue/queues.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/patience.h"
#include "util/progress.h"

static struct mpixq_rma_waiter *find_waiter(const struct mpixq_signal *signal,
                                            const struct mpixq_queue *queue)
{
    struct mpixq_rma_waiter *waiter = atomic_load(&signal->waiters);

    while (waiter != NULL && waiter->queue != queue) {
        waiter = waiter->next;
    }
    return waiter;
}

/* The place of the queue among those that use the signal: one of a queue that was freed, or new.
 * The lock, which is held while MPI moves data, is taken the first time only. */
struct mpixq_rma_waiter *mpixq_rma_waiter_of(struct mpixq_signal *signal, struct mpixq_queue *queue)
{
    struct mpixq_rma_waiter *waiter = find_waiter(signal, queue);

    if (waiter != NULL) {
        return waiter;
    }
    mpixq_lock_acquire(&signal->window->lock);
    waiter = find_waiter(signal, queue);
    if (waiter == NULL) {
        waiter = signal->leftover;
        if (waiter != NULL) {
            signal->leftover = waiter->next;
        } else {
            waiter = mpixq_alloc(sizeof *waiter); /* kept with the memory of the signal */
        }
        if (waiter != NULL) {
            waiter->signal = signal;
            waiter->queue = queue;
            atomic_store(&waiter->awaits, 0);
            waiter->next = atomic_load(&signal->waiters);
            atomic_store(&signal->waiters, waiter);
        }
    }
    mpixq_lock_release(&signal->window->lock);
    return waiter;
}

void mpixq_rma_waiter_await(struct mpixq_rma_waiter *waiter, uint64_t round)
{
    bool is_new = waiter->queue_number != waiter->queue->number;

    if (is_new || atomic_load(&waiter->awaits) < round) {
        atomic_store(&waiter->awaits, round);
    }
}

int mpixq_rma_waiter_lacks(const struct mpixq_rma_waiter *waiter)
{
    const struct mpixq_signal *signal = waiter->signal;
    char what[64];

    if (atomic_load(&waiter->awaits) <= atomic_load(&signal->armed)) {
        return MPI_SUCCESS;
    }
    (void)snprintf(what, sizeof what, "signal %u of window %llu", (unsigned)signal->index,
                   (unsigned long long)signal->window->number);
    return mpixq_error_cause(MPIXQ_E_SIGNAL_DROPPED, what,
                             mpixq_error_text(MPIXQ_E_SIGNAL_DROPPED));
}

void mpixq_rma_waiter_note(struct mpixq_rma_waiter *waiter, const struct mpixq_queue *queue)
{
    waiter->queue_number = queue->number;
    waiter->ticket = queue->ticket;
}

void mpixq_rma_waiter_look(struct mpixq_rma_waiter *waiter)
{
    uint64_t begun = atomic_load(&waiter->begun);

    if (atomic_load(&waiter->ended) < begun &&
        atomic_load(&waiter->signal->fired) >= atomic_load(&waiter->round)) {
        atomic_store(&waiter->ended, begun);
    }
}

bool mpixq_rma_is_under_way(struct mpixq_queue *queue, uint64_t number, uint64_t ticket)
{
    enum mpixq_submission_state was;
    bool is;

    if (!mpixq_queue_is_live(queue)) {
        return false;
    }
    was = mpixq_submission_borrow(&queue->submission);
    is = mpixq_queue_is_live(queue) && queue->number == number &&
         !queue->stream->ops->passed(queue->stream, ticket);
    mpixq_submission_return(&queue->submission, was);
    return is;
}

void mpixq_rma_fail_queue(struct mpixq_queue *queue, uint64_t number, int code)
{
    enum mpixq_submission_state was;

    if (code == MPI_SUCCESS) {
        return;
    }
    was = mpixq_submission_borrow(&queue->submission); /* then nobody frees it */
    if (mpixq_queue_is_live(queue) && queue->number == number) {
        mpixq_queue_fail_alone(queue, code);
    }
    mpixq_submission_return(&queue->submission, was);
}

bool mpixq_rma_graphs_have(const atomic_long *graphs)
{
    static const uint64_t patience_ns = 3000000000; /* which only a program that errs waits out */
    struct mpixq_patience patience;
    struct mpixq_backoff backoff;

    if (atomic_load(graphs) == 0) {
        return false;
    }
    mpixq_patience_begin(&patience, mpixq_now_ns(), patience_ns);
    mpixq_backoff_begin(&backoff);
    while (atomic_load(graphs) > 0 && mpixq_patience_goes_on(&patience, mpixq_now_ns())) {
        mpixq_backoff_pause(&backoff);
    }
    return atomic_load(graphs) > 0;
}
