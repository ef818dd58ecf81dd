/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, plans and signals in the order of a queue. For windows in memory of the host: calls of a
 * function of the host, and waits for the count of rounds of a signal that are over, which whoever
 * waits drives; in graphs: replays.c. For other windows: queued.c.
 *
 * Which round a wait is for is known when it is enqueued, but not if graphs reset the signal too:
 * then the stream finds out when it gets there. */
#include <utlist.h>

#include "ahead.h"
#include "bells.h"
#include "put.h"
#include "queue/queues.h"
#include "queued.h"
#include "replays.h"
#include "rma.h"
#include "util/alloc.h"
#include "util/progress.h"
#include "waiters.h"
#include "watch.h"
#include "window.h"

/* What a stream is to do when it gets there. ASK: find the round of a wait with this number. */
enum what { PUT, PLAN, RESET, ASK };
struct call {
    enum what what;
    struct call *next;
    struct mpixq_queue *queue;
    struct mpixq_plan *plan;
    struct mpixq_rma_waiter *waiter; /* of a RESET, or to ASK */
    uint64_t number;
    struct mpixq_transfer put;
    struct mpixq_rma_ahead ahead; /* of a PUT or a PLAN */
};

/* Those of a queue, which are used again: nothing is allocated unless more are under way than ever
 * before. */
struct mpixq_rma_calls {
    struct call *spare;          /* under the submission lock */
    _Atomic(struct call *) back; /* from streams; taken all at once */
    struct chunk {
        struct chunk *next;
        struct call calls[32];
    } * chunks;
};

/* Under the submission lock. */
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

/* Under the submission lock. NULL: there is no memory. */
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

/* Likewise. Are there so many to take? An MPI code. */
static int have_calls(struct mpixq_queue *queue, int n)
{
    struct call *taken = NULL, *call = NULL;

    for (; n > 0 && (call = take_call(queue)) != NULL; n--) {
        LL_PREPEND(taken, call);
    }
    while (taken != NULL) {
        call = taken;
        taken = call->next;
        LL_PREPEND(queue->calls->spare, call);
    }
    return mpixq_error_code(n == 0 ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY);
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
    return call->what == PUT ? call->put.window : call->what == PLAN ? call->plan->window : NULL;
}

static int ask(const struct call *call)
{
    struct mpixq_rma_waiter *waiter = call->waiter;

    atomic_store(&waiter->round, atomic_load(&waiter->signal->rounds));
    atomic_store(&waiter->begun, call->number); /* in this order: whoever polls finds its round */
    return MPI_SUCCESS;
}

static int make(struct call *call)
{
    switch (call->what) {
    case PUT:
        return mpixq_rma_start(&call->put, 1, MPIXQ_CALL_QUEUED);
    case PLAN:
        return mpixq_rma_start(call->plan->transfers, call->plan->n, MPIXQ_CALL_QUEUED);
    case RESET:
        return mpixq_rma_signal_set(call->waiter->signal, true);
    default:
        return ask(call);
    }
}

/* The stream has come to it. */
static void let_go(struct mpixq_window *window, struct mpixq_plan *plan)
{
    if (plan != NULL) {
        atomic_fetch_sub(&plan->enqueued, 1);
    }
    if (window != NULL) {
        atomic_fetch_sub(&window->enqueued, 1);
    }
}

static struct mpixq_plan *plan_of(const struct call *call)
{
    return call->what == PLAN ? call->plan : NULL;
}

/* It was made, or dropped. */
static void end(struct call *call)
{
    if (call->what == RESET) {
        atomic_fetch_add(&call->waiter->made, 1);
    }
    let_go(window_of(call), plan_of(call));
    give_back(call);
}

static void forget(struct mpixq_rma_ahead *ahead)
{
    give_back((struct call *)((char *)ahead - offsetof(struct call, ahead)));
}

/* What is held needs no more than that. The call may be another's afterwards. */
static bool ring(struct call *call, bool has_failed)
{
    struct mpixq_window *window = window_of(call);
    struct mpixq_plan *plan = plan_of(call);
    struct mpixq_queue *queue = call->queue;
    uint64_t rings;

    if (window == NULL || call->ahead.window == NULL ||
        !mpixq_rma_ahead_ring(&call->ahead, has_failed, &rings)) {
        return false;
    }
    atomic_fetch_add_explicit(&queue->posts, !has_failed, memory_order_relaxed);
    atomic_fetch_add_explicit(&queue->rings, rings, memory_order_relaxed);
    let_go(window, plan);
    return true;
}

/* False: it is to be made. It may have been held until now: then it is rung for, as a GPU has done
 * by itself, and as what is dropped would stay with the NIC. */
static bool settle(struct call *call, bool has_failed)
{
    struct mpixq_window *window = window_of(call) != NULL ? call->ahead.window : NULL;
    bool rang = false;

    if (window != NULL) {
        mpixq_lock_acquire(&window->lock);
        rang = ring(call, has_failed);
        if (!rang) {
            mpixq_rma_ahead_settle(&call->ahead, has_failed);
        }
        mpixq_lock_release(&window->lock);
    }
    return rang;
}

/* Of a queue that has failed nothing is started any more. */
static void run(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct call *call = args[i];
        bool has_failed = mpixq_queue_has_failed(call->queue);

        if (ring(call, has_failed) || settle(call, has_failed)) {
            continue;
        }
        if (!has_failed) {
            mpixq_queue_fail_alone(call->queue, make(call));
            atomic_fetch_add_explicit(&call->queue->posts, window_of(call) != NULL,
                                      memory_order_relaxed);
        } else if (call->what == RESET) {
            atomic_fetch_sub(&call->waiter->signal->armed, 1);
        }
        end(call);
    }
}

/* For streams: the windows of the signals that they wait for go on; and if a signal cannot come any
 * more, the queue fails. */
static void poll(void *const args[], int n)
{
    struct mpixq_window *last = NULL;

    for (int i = 0; i < n; i++) {
        struct mpixq_rma_waiter *waiter = args[i];
        bool complete;

        if (waiter->signal->window != last) {
            last = waiter->signal->window;
            mpixq_rma_progress(last);
        }
        mpixq_rma_watch_signal(waiter->signal, waiter->queue);
        mpixq_queue_fail_alone(waiter->queue, mpixq_rma_signal_look(waiter->signal, &complete));
        mpixq_queue_fail_alone(waiter->queue, mpixq_rma_waiter_lacks(waiter));
        mpixq_rma_waiter_look(waiter);
    }
}

/* May the program enqueue something of a window just now, and is that captured? An MPI code. What
 * moves nothing, as it goes to MPI_PROC_NULL, needs no way of the queue's, and no place in a
 * graph. */
static int check(struct mpixq_queue *queue, bool moves, bool *captured_p,
                 struct mpixq_fault *fault_p)
{
    enum mpixq_error error = (enum mpixq_error)queue->stream->ops->admits(queue->stream);

    *fault_p = MPIXQ_FAULT_NONE;
    *captured_p = error == MPIXQ_E_CAPTURE;
    if (moves && (queue->type == MPIXQ_QUEUE_CXI || queue->type == MPIXQ_QUEUE_IPC)) {
        return mpixq_error_code(MPIXQ_E_WINDOW_QUEUE);
    }
    mpixq_queue_look(queue);
    if (mpixq_queue_has_failed(queue)) {
        return mpixq_queue_failure(queue, fault_p);
    }
    return mpixq_error_code(*captured_p ? MPIXQ_E_NONE : error);
}

/* Under the submission lock. */
static void submit(struct mpixq_queue *queue, struct mpixq_op list[], int n)
{
    queue->mark++; /* no request is being submitted */
    queue->ticket = queue->stream->ops->submit(queue->stream, list, n, &queue->submission);
    queue->launches++;
}

/* Likewise. */
static void log_ahead(struct call *call, struct mpixq_window *window)
{
    call->ahead.bells = NULL;
    call->ahead.window = mpixq_rma_ahead_may(window) ? window : NULL;
    call->ahead.queue = call->queue;
    call->ahead.forget = forget;
    if (call->ahead.window != NULL && call->what == PUT) {
        mpixq_rma_ahead_log(&call->ahead, &call->put, 1);
    } else if (call->ahead.window != NULL) {
        mpixq_rma_ahead_log(&call->ahead, call->plan->transfers, call->plan->n);
    }
}

/* Likewise. A GPU rings by itself, if it is logged so, and the stream's thread comes behind. */
static void submit_ops(struct mpixq_queue *queue, struct call *call)
{
    struct mpixq_op list[MPIXQ_AHEAD_PARTS + 1];
    int n = 0;

    if (window_of(call) != NULL && call->ahead.bells != NULL) {
        n = mpixq_rma_bells_fill(&call->ahead, list);
    }
    list[n] = (struct mpixq_op){.copy = NULL};
    mpixq_op_call(&list[n], MPIXQ_OP_CALL, run, call);
    submit(queue, list, n + 1);
}

/* Under the submission lock. */
static int submit_call(struct mpixq_queue *queue, const struct call *what)
{
    struct mpixq_window *window = window_of(what);
    struct call *call = take_call(queue);

    if (call == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    *call = *what;
    call->queue = queue;
    if (call->what == PLAN) {
        atomic_fetch_add(&call->plan->enqueued, 1);
    }
    if (window != NULL) {
        atomic_fetch_add(&window->enqueued, 1);
        log_ahead(call, window);
    }
    submit_ops(queue, call);
    return MPI_SUCCESS;
}

static int enqueue_call(struct mpixq_queue *queue, const struct call *what)
{
    int rc;

    mpixq_submission_lock(&queue->submission);
    rc = submit_call(queue, what);
    mpixq_submission_unlock(&queue->submission);
    return rc;
}

int mpixq_rma_enqueue_put(struct mpixq_queue *queue, const MPIXQ_Blk *local,
                          const MPIXQ_Blk *remote, struct mpixq_fault *fault_p)
{
    struct call call = {.what = PUT};
    int rc = mpixq_transfer_check(local, remote, &call.put), ready;
    struct mpixq_window *window = call.put.window;
    bool captured;

    if (window != NULL && window->mapped != NULL) {
        return mpixq_rma_queued_puts(queue, window, &call.put, 1, fault_p);
    }
    ready = check(queue, window != NULL, &captured, fault_p);
    rc = ready ? ready : rc;
    if (rc != MPI_SUCCESS || window == NULL) {
        return rc;
    }
    return captured ? mpixq_rma_capture_puts(queue, window, &call.put, 1)
                    : enqueue_call(queue, &call);
}

int mpixq_rma_enqueue_plan(struct mpixq_queue *queue, struct mpixq_plan *plan,
                           struct mpixq_fault *fault_p)
{
    struct call call = {.what = PLAN, .plan = plan};
    int rc = mpixq_rma_plan_check(plan), ready;
    bool captured;

    if (rc == MPI_SUCCESS && plan->window != NULL && plan->window->mapped != NULL) {
        return mpixq_rma_queued_puts(queue, plan->window, plan->transfers, plan->n, fault_p);
    }
    ready = check(queue, plan->window != NULL, &captured, fault_p);
    rc = ready ? ready : rc;
    if (rc != MPI_SUCCESS || plan->window == NULL) {
        return rc;
    }
    return captured ? mpixq_rma_capture_puts(queue, plan->window, plan->transfers, plan->n)
                    : enqueue_call(queue, &call);
}

/* Under the submission lock. */
static void submit_wait(struct mpixq_rma_waiter *waiter, const _Atomic uint64_t *word,
                        uint64_t value, mpixq_op_poll_fn *polls)
{
    struct mpixq_op op;

    mpixq_op_wait(&op, MPIXQ_OP_WAIT, waiter, word, value, &waiter->queue->halted);
    op.poll = polls;
    submit(waiter->queue, &op, 1);
}

/* Likewise. */
static int submit_signal_wait(struct mpixq_signal *signal, struct mpixq_rma_waiter *waiter)
{
    struct call call = {.what = ASK, .waiter = waiter, .number = waiter->asked + 1};
    uint64_t round = atomic_load(&signal->armed);
    int rc = MPI_SUCCESS;

    if (!atomic_load(&signal->had_graphs)) {
        mpixq_rma_waiter_await(waiter, round);
        submit_wait(waiter, &signal->fired, round, poll);
    } else {
        rc = submit_call(waiter->queue, &call);
        if (rc == MPI_SUCCESS) {
            submit_wait(waiter, &waiter->ended, ++waiter->asked, poll);
        }
    }
    atomic_fetch_add_explicit(&signal->waits, rc == MPI_SUCCESS, memory_order_relaxed);
    return rc;
}

/* Under the submission lock. What is enqueued from here on is about that round. A GPU waits until
 * the worker, which follows it, has made the reset: whatever comes next, of a queue or a graph or
 * of the program, may put to the signal, or tell a peer to. */
static int submit_reset(struct mpixq_signal *signal, struct mpixq_rma_waiter *waiter)
{
    struct call call = {.what = RESET, .waiter = waiter};
    int rc;

    atomic_fetch_add(&signal->armed, 1);
    rc = submit_call(waiter->queue, &call);
    if (rc != MPI_SUCCESS) {
        atomic_fetch_sub(&signal->armed, 1);
        return rc;
    }
    waiter->resets++;
    if (waiter->queue->stream->ops->graphs != NULL) {
        submit_wait(waiter, &waiter->made, waiter->resets, NULL);
    }
    return MPI_SUCCESS;
}

/* Likewise. There are calls for both, or nothing is submitted. */
static int submit_wait_reset(struct mpixq_signal *signal, struct mpixq_rma_waiter *waiter)
{
    int rc = have_calls(waiter->queue, 2);

    rc = rc ? rc : submit_signal_wait(signal, waiter);
    return rc ? rc : submit_reset(signal, waiter);
}

/* What is enqueued about a signal: of a window in memory of GPUs; of another, captured or not. */
struct about {
    int (*queued)(struct mpixq_queue *queue, struct mpixq_signal *signal,
                  struct mpixq_fault *fault_p);
    int (*capture)(struct mpixq_queue *queue, struct mpixq_signal *signal);
    int (*submit)(struct mpixq_signal *signal, struct mpixq_rma_waiter *waiter);
};

static int enqueue_about(struct mpixq_queue *queue, struct mpixq_signal *signal,
                         const struct about *what, struct mpixq_fault *fault_p)
{
    struct mpixq_rma_waiter *waiter;
    bool captured;
    int rc;

    if (signal->window->mapped != NULL) {
        return what->queued(queue, signal, fault_p);
    }
    rc = check(queue, true, &captured, fault_p);
    if (rc == MPI_SUCCESS && captured) {
        return what->capture(queue, signal);
    }
    waiter = rc ? NULL : mpixq_rma_waiter_of(signal, queue);
    if (waiter == NULL) {
        return rc ? rc : mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    mpixq_submission_lock(&queue->submission);
    rc = what->submit(signal, waiter);
    if (rc == MPI_SUCCESS) {
        mpixq_rma_waiter_note(waiter, queue);
    }
    mpixq_submission_unlock(&queue->submission);
    return rc;
}

int mpixq_rma_enqueue_wait(struct mpixq_queue *queue, struct mpixq_signal *signal,
                           struct mpixq_fault *fault_p)
{
    static const struct about wait = {mpixq_rma_queued_wait, mpixq_rma_capture_wait,
                                      submit_signal_wait};

    return enqueue_about(queue, signal, &wait, fault_p);
}

int mpixq_rma_enqueue_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                            struct mpixq_fault *fault_p)
{
    static const struct about reset = {mpixq_rma_queued_reset, mpixq_rma_capture_reset,
                                       submit_reset};

    return enqueue_about(queue, signal, &reset, fault_p);
}

int mpixq_rma_enqueue_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                                 struct mpixq_fault *fault_p)
{
    static const struct about both = {mpixq_rma_queued_wait_reset, mpixq_rma_capture_wait_reset,
                                      submit_wait_reset};

    return enqueue_about(queue, signal, &both, fault_p);
}
