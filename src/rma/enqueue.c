/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, plans and signals in the order of a queue. For windows in memory of the host: calls of a
 * function of the host, and waits for the count of rounds of a signal that are over, which whoever
 * waits drives. For others: queued.c. */
#include <utlist.h>

#include "put.h"
#include "queue/queues.h"
#include "queued.h"
#include "rma.h"
#include "util/alloc.h"
#include "util/progress.h"
#include "waiters.h"
#include "watch.h"
#include "window.h"

/* What a stream is to do when it gets there. */
struct call {
    struct call *next;
    struct mpixq_queue *queue;
    struct mpixq_plan *plan;     /* NULL: a put, or a reset */
    struct mpixq_signal *signal; /* to reset; NULL: a put or a plan */
    struct mpixq_transfer put;
};

/* Those of a queue, which are used again: nothing is allocated unless more are under way than ever
 * before. */
struct mpixq_rma_calls {
    struct call *spare;          /* in turn */
    _Atomic(struct call *) back; /* from streams; taken all at once */
    struct chunk {
        struct chunk *next;
        struct call calls[32];
    } * chunks;
};

/* In turn. */
static bool more_calls(struct mpixq_rma_calls *calls)
{
    struct chunk *chunk = mpixq_alloc(sizeof *chunk); /* kept with the memory of the queue */

    if (chunk == NULL) {
        return false;
    }
    LL_PREPEND(calls->chunks, chunk);
    for (size_t i = 0; i < sizeof chunk->calls / sizeof chunk->calls[0]; i++) {
        LL_PREPEND(calls->spare, &chunk->calls[i]);
    }
    return true;
}

/* In turn. NULL: there is no memory. */
static struct call *take_call(struct mpixq_queue *queue)
{
    struct mpixq_rma_calls *calls = queue->calls;
    struct call *call;

    if (calls == NULL) {
        queue->calls = calls = mpixq_alloc(sizeof *calls); /* kept likewise */
        if (calls == NULL) {
            return NULL;
        }
    }
    if (calls->spare == NULL) {
        calls->spare = atomic_exchange_explicit(&calls->back, NULL, memory_order_acquire);
    }
    if (calls->spare == NULL && !more_calls(calls)) {
        return NULL;
    }
    call = calls->spare;
    calls->spare = call->next;
    return call;
}

static void give_back(struct call *call)
{
    struct mpixq_rma_calls *calls = call->queue->calls;

    call->next = atomic_load_explicit(&calls->back, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&calls->back, &call->next, call,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

/* What is to be started belongs to a window that may not be freed before. */
static struct mpixq_window *window_of(const struct call *call)
{
    return call->signal != NULL ? NULL : call->plan != NULL ? call->plan->window : call->put.window;
}

static int make(struct call *call)
{
    if (call->signal != NULL) {
        return mpixq_rma_signal_set(call->signal, true);
    }
    return call->plan != NULL
               ? mpixq_rma_start(call->plan->transfers, call->plan->n, MPIXQ_CALL_QUEUED)
               : mpixq_rma_start(&call->put, 1, MPIXQ_CALL_QUEUED);
}

/* Of a queue that has failed nothing is started any more. */
static void run(void *const args[], int n, bool by_gpu)
{
    (void)by_gpu;
    for (int i = 0; i < n; i++) {
        struct call *call = args[i];
        struct mpixq_window *window = window_of(call);

        if (mpixq_queue_has_failed(call->queue)) {
            if (call->signal != NULL) {
                atomic_fetch_sub(&call->signal->armed, 1);
            }
        } else {
            mpixq_queue_fail_alone(call->queue, make(call));
            atomic_fetch_add_explicit(&call->queue->posts, call->signal == NULL,
                                      memory_order_relaxed);
        }
        if (call->plan != NULL) {
            atomic_fetch_sub(&call->plan->enqueued, 1);
        }
        if (window != NULL) {
            atomic_fetch_sub(&window->enqueued, 1);
        }
        give_back(call);
    }
}

/* For streams: the windows of the signals that they wait for go on; and if a signal cannot come any
 * more, the queue fails. */
static void poll(void *const args[], int n)
{
    struct mpixq_window *last = NULL;

    for (int i = 0; i < n; i++) {
        const struct mpixq_rma_waiter *waiter = args[i];
        bool complete;

        if (waiter->signal->window != last) {
            last = waiter->signal->window;
            mpixq_rma_progress(last);
        }
        mpixq_rma_watch_signal(waiter->signal, waiter->queue);
        mpixq_queue_fail_alone(waiter->queue, mpixq_rma_signal_look(waiter->signal, &complete));
    }
}

/* May the program enqueue something of a window just now? An MPI code. What moves nothing, as it
 * goes to MPI_PROC_NULL, needs no way of the queue's, and no place in a graph. */
static int check(struct mpixq_queue *queue, bool moves, struct mpixq_fault *fault_p)
{
    enum mpixq_error error = (enum mpixq_error)queue->stream->ops->admits(queue->stream);

    *fault_p = MPIXQ_FAULT_NONE;
    if (moves && (queue->type == MPIXQ_QUEUE_CXI || queue->type == MPIXQ_QUEUE_IPC)) {
        return mpixq_error_code(MPIXQ_E_WINDOW_QUEUE);
    }
    mpixq_queue_look(queue);
    if (mpixq_queue_has_failed(queue)) {
        return mpixq_queue_failure(queue, fault_p);
    }
    if (error == MPIXQ_E_CAPTURE) {
        error = moves ? MPIXQ_E_WINDOW_CAPTURE : MPIXQ_E_NONE;
    }
    return mpixq_error_code(error);
}

/* In turn. */
static void submit(struct mpixq_queue *queue, struct mpixq_op *op)
{
    queue->mark++; /* no request is being submitted */
    queue->ticket = queue->stream->ops->submit(queue->stream, op, 1, &queue->turn);
    queue->launches++;
}

static int submit_call(struct mpixq_queue *queue, const struct call *what)
{
    struct mpixq_window *window = window_of(what);
    struct mpixq_op op = {.copy = NULL};
    struct call *call;

    mpixq_turn_take(&queue->turn);
    call = take_call(queue);
    if (call == NULL) {
        mpixq_turn_leave(&queue->turn);
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    *call = *what;
    call->queue = queue;
    if (call->plan != NULL) {
        atomic_fetch_add(&call->plan->enqueued, 1);
    }
    if (window != NULL) {
        atomic_fetch_add(&window->enqueued, 1);
    }
    mpixq_op_call(&op, MPIXQ_OP_CALL, run, call);
    submit(queue, &op);
    mpixq_turn_leave(&queue->turn);
    return MPI_SUCCESS;
}

int mpixq_rma_enqueue_put(struct mpixq_queue *queue, const MPIXQ_Blk *local,
                          const MPIXQ_Blk *remote, struct mpixq_fault *fault_p)
{
    struct call call = {.plan = NULL};
    int rc = mpixq_transfer_check(local, remote, &call.put), ready;

    if (call.put.window != NULL && call.put.window->mapped != NULL) {
        return mpixq_rma_queued_puts(queue, call.put.window, &call.put, 1, fault_p);
    }
    ready = check(queue, call.put.window != NULL, fault_p);
    rc = ready ? ready : rc;
    return rc == MPI_SUCCESS && call.put.window != NULL ? submit_call(queue, &call) : rc;
}

int mpixq_rma_enqueue_plan(struct mpixq_queue *queue, struct mpixq_plan *plan,
                           struct mpixq_fault *fault_p)
{
    struct call call = {.plan = plan};
    int rc = mpixq_rma_plan_check(plan), ready;

    if (rc == MPI_SUCCESS && plan->window != NULL && plan->window->mapped != NULL) {
        return mpixq_rma_queued_puts(queue, plan->window, plan->transfers, plan->n, fault_p);
    }
    ready = check(queue, plan->window != NULL, fault_p);
    rc = ready ? ready : rc;
    return rc == MPI_SUCCESS && plan->window != NULL ? submit_call(queue, &call) : rc;
}

/* May the program enqueue something about the signal just now? An MPI code. */
static int begin_with(struct mpixq_signal *signal, struct mpixq_queue *queue,
                      struct mpixq_rma_waiter **waiter_p, struct mpixq_fault *fault_p)
{
    int rc = check(queue, true, fault_p);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    *waiter_p = mpixq_rma_waiter_of(signal, queue);
    return *waiter_p != NULL ? MPI_SUCCESS : mpixq_error_code(MPIXQ_E_NO_MEMORY);
}

int mpixq_rma_enqueue_wait(struct mpixq_queue *queue, struct mpixq_signal *signal,
                           struct mpixq_fault *fault_p)
{
    struct mpixq_rma_waiter *waiter;
    struct mpixq_op op;
    int rc;

    if (signal->window->mapped != NULL) {
        return mpixq_rma_queued_wait(queue, signal, fault_p);
    }
    rc = begin_with(signal, queue, &waiter, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_turn_take(&queue->turn);
    mpixq_op_wait(&op, MPIXQ_OP_WAIT, waiter, &signal->fired, atomic_load(&signal->armed),
                  &queue->failed);
    op.poll = poll;
    submit(queue, &op);
    mpixq_rma_waiter_note(waiter, queue);
    atomic_fetch_add_explicit(&signal->waits, 1, memory_order_relaxed);
    mpixq_turn_leave(&queue->turn);
    return MPI_SUCCESS;
}

int mpixq_rma_enqueue_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                            struct mpixq_fault *fault_p)
{
    struct call call = {.queue = queue, .signal = signal};
    struct mpixq_rma_waiter *waiter;
    int rc;

    if (signal->window->mapped != NULL) {
        return mpixq_rma_queued_reset(queue, signal, fault_p);
    }
    rc = begin_with(signal, queue, &waiter, fault_p);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    atomic_fetch_add(&signal->armed, 1); /* what is enqueued from here on is about that round */
    rc = submit_call(queue, &call);
    if (rc != MPI_SUCCESS) {
        atomic_fetch_sub(&signal->armed, 1);
        return rc;
    }
    mpixq_turn_take(&queue->turn);
    mpixq_rma_waiter_note(waiter, queue);
    mpixq_turn_leave(&queue->turn);
    return MPI_SUCCESS;
}
