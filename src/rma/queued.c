/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "queued.h"

#include "core/graphs.h"
#include "mapped.h"
#include "queue/queues.h"
#include "util/alloc.h"
#include "util/progress.h"
#include "waiters.h"

/* ---- Lanes ---- */

static unsigned number_of(const struct mpixq_rma_lane *lane)
{
    return (unsigned)(lane - atomic_load(&lane->window->lanes));
}

static struct mpixq_rma_lane *find(const struct mpixq_window *window,
                                   const struct mpixq_queue *queue)
{
    struct mpixq_rma_lane *lanes = atomic_load(&window->lanes);

    for (int i = 0; lanes != NULL && i < MPIXQ_MAPPED_LANES; i++) {
        if (atomic_load(&lanes[i].queue_number) == queue->number) {
            return &lanes[i];
        }
    }
    return NULL;
}

/* Its queue was freed. */
static bool is_over(const struct mpixq_rma_lane *lane)
{
    struct mpixq_queue *queue = atomic_load(&lane->queue);

    return !mpixq_queue_is_live(queue) || queue->number != atomic_load(&lane->queue_number);
}

/* Under the lock of the window. NULL: all are taken, or there is no memory. */
static struct mpixq_rma_lane *reserve(struct mpixq_window *window, struct mpixq_queue *queue)
{
    struct mpixq_rma_lane *lanes = atomic_load(&window->lanes);

    if (lanes == NULL) {
        lanes = mpixq_alloc(MPIXQ_MAPPED_LANES * sizeof *lanes); /* kept with the window's memory */
        for (int i = 0; lanes != NULL && i < MPIXQ_MAPPED_LANES; i++) {
            lanes[i].window = window;
        }
        atomic_store(&window->lanes, lanes);
    }
    for (int i = 0; lanes != NULL && i < MPIXQ_MAPPED_LANES; i++) {
        struct mpixq_rma_lane *lane = &lanes[i];

        if (atomic_load(&lane->queue) == NULL ||
            (is_over(lane) && atomic_load(&lane->graphs) == 0)) {
            atomic_store(&lane->queue, queue);
            atomic_store(&lane->ticket, 0);
            atomic_store(&lane->held, 0);
            mpixq_mapped_lane_begin(window->mapped, (unsigned)i);
            atomic_store(&lane->queue_number, queue->number);
            return lane;
        }
    }
    return NULL;
}

static int lane_of(struct mpixq_window *window, struct mpixq_queue *queue,
                   struct mpixq_rma_lane **lane_p)
{
    *lane_p = find(window, queue);
    if (*lane_p == NULL) {
        mpixq_lock_acquire(&window->lock);
        *lane_p = find(window, queue);
        *lane_p = *lane_p != NULL ? *lane_p : reserve(window, queue);
        mpixq_lock_release(&window->lock);
    }
    return *lane_p != NULL
               ? MPI_SUCCESS
               : mpixq_error_code(atomic_load(&window->lanes) == NULL ? MPIXQ_E_NO_MEMORY
                                                                      : MPIXQ_E_WINDOW_LANES);
}

/* Why a kernel of the queue has failed, or MPI_SUCCESS. */
static int failure_of(const struct mpixq_rma_lane *lane)
{
    struct mpixq_window *window = lane->window;
    struct mpixq_mapped_fault fault;

    if (!mpixq_mapped_find_fault(window->mapped, number_of(lane), &fault)) {
        return MPI_SUCCESS;
    }
    return fault.kind == MPIXQ_MAPPED_WINDOW_FAILED
               ? atomic_load(&window->failed)
               : mpixq_rma_signal_not_zero(window, fault.index, (int64_t)fault.found);
}

/* By streams, after the kernel. */
static void called(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        const struct mpixq_rma_lane *lane = args[i];

        if (!mpixq_queue_has_failed(lane->queue)) {
            mpixq_queue_fail_alone(lane->queue, failure_of(lane));
        }
    }
}

/* A failure that was found under the lock of the window, for a queue, whose submission lock comes
 * before. */
struct told {
    struct mpixq_queue *queue;
    uint64_t number;
    int code;
};

/* It stays there: who looks meanwhile finds it too, so that no wait for the queue says before it is
 * told that there was none. */
static int find_failures(struct mpixq_window *window, struct told told[MPIXQ_MAPPED_LANES])
{
    struct mpixq_rma_lane *lanes = atomic_load(&window->lanes);
    int n = 0;

    mpixq_lock_acquire(&window->lock);
    for (int i = 0; i < MPIXQ_MAPPED_LANES && mpixq_rma_object_is_live(window, MPIXQ_RMA_WINDOW);
         i++) {
        struct mpixq_queue *queue = atomic_load(&lanes[i].queue);

        if (queue != NULL && !is_over(&lanes[i]) && !mpixq_queue_has_failed(queue)) {
            told[n] = (struct told){.queue = queue,
                                    .number = atomic_load(&lanes[i].queue_number),
                                    .code = failure_of(&lanes[i])};
            n += told[n].code != MPI_SUCCESS;
        }
    }
    mpixq_lock_release(&window->lock);
    return n;
}

void mpixq_rma_queued_look(struct mpixq_window *window)
{
    struct told told[MPIXQ_MAPPED_LANES];
    int n = atomic_load(&window->had_graphs) ? find_failures(window, told) : 0;

    for (int i = 0; i < n; i++) {
        mpixq_rma_fail_queue(told[i].queue, told[i].number, told[i].code);
    }
}

bool mpixq_rma_queued_is_busy(struct mpixq_window *window)
{
    struct mpixq_rma_lane *lanes = atomic_load(&window->lanes);

    for (int i = 0; lanes != NULL && i < MPIXQ_MAPPED_LANES; i++) {
        struct mpixq_queue *queue = atomic_load(&lanes[i].queue);

        if (queue != NULL && mpixq_rma_is_under_way(queue, atomic_load(&lanes[i].queue_number),
                                                    atomic_load(&lanes[i].ticket))) {
            return true;
        }
    }
    return mpixq_rma_graphs_have(&window->graphs);
}

/* ---- Enqueueing ---- */

/* May the program enqueue something for the window just now, and is that captured? */
static int check(struct mpixq_queue *queue, const struct mpixq_window *window, bool *captured_p,
                 struct mpixq_fault *fault_p)
{
    const struct mpixq_stream *stream = queue->stream;
    enum mpixq_error error = (enum mpixq_error)stream->ops->admits(stream);

    *fault_p = MPIXQ_FAULT_NONE;
    *captured_p = error == MPIXQ_E_CAPTURE;
    if (!mpixq_mapped_suits(window->mapped, stream)) {
        return mpixq_error_code(MPIXQ_E_WINDOW_ENQUEUE);
    }
    if (queue->type == MPIXQ_QUEUE_CXI) {
        return mpixq_error_code(MPIXQ_E_WINDOW_QUEUE);
    }
    mpixq_queue_look(queue);
    if (mpixq_queue_has_failed(queue)) {
        return mpixq_queue_failure(queue, fault_p);
    }
    if (error != MPIXQ_E_NONE && !*captured_p) {
        return mpixq_error_code(error);
    }
    if (!stream->ops->graphs->has_kernels(stream)) {
        return mpixq_error_code(MPIXQ_E_WINDOW_VALUES);
    }
    return atomic_load(&window->failed);
}

/* What a graph has, until it and all that was made of it is gone. It may outlive MPI, as the memory
 * of windows and signals does. */
struct hold {
    atomic_long *graphs[3];
};

static void graph_is_gone(void *arg)
{
    struct hold *hold = arg;

    for (int i = 0; i < 3; i++) {
        if (hold->graphs[i] != NULL) {
            atomic_fetch_sub(hold->graphs[i], 1);
        }
    }
    mpixq_free(hold);
}

/* What the graph has not had before, once for each: the GPU's library gives each such object of a
 * graph up by itself. Under the submission lock. */
static int hold(struct mpixq_queue *queue, struct mpixq_rma_lane *lane, struct mpixq_signal *signal)
{
    bool has_lane = atomic_load(&lane->held) == queue->capture;
    bool has_signal = signal == NULL || atomic_load(&signal->held) == queue->capture;
    struct hold *hold;
    int rc;

    if (has_lane && has_signal) {
        return MPI_SUCCESS;
    }
    hold = mpixq_alloc(sizeof *hold); /* freed in graph_is_gone */
    if (hold == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    hold->graphs[0] = has_lane ? NULL : &lane->window->graphs;
    hold->graphs[1] = has_lane ? NULL : &lane->graphs;
    hold->graphs[2] = has_signal ? NULL : &signal->graphs;
    atomic_store(&lane->window->had_graphs, true);
    for (int i = 0; i < 3; i++) {
        if (hold->graphs[i] != NULL) {
            atomic_fetch_add(hold->graphs[i], 1);
        }
    }
    rc = queue->stream->ops->graphs->keep(queue->stream, graph_is_gone, hold, &queue->submission);
    if (rc != MPI_SUCCESS) {
        graph_is_gone(hold);
        return rc;
    }
    atomic_store(&lane->held, queue->capture);
    if (signal != NULL) {
        atomic_store(&signal->held, queue->capture);
    }
    return MPI_SUCCESS;
}

/* Put it into the graph: a branch of it is a start, or a wait that comes after all starts. */
static int capture(struct mpixq_queue *queue, struct mpixq_rma_lane *lane,
                   struct mpixq_signal *signal, struct mpixq_op *op)
{
    const struct mpixq_stream_graphs *graphs = queue->stream->ops->graphs;
    struct mpixq_branches *branches;
    uint64_t id = 0;
    int rc = graphs->capture(queue->stream, &id);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_submission_lock(&queue->submission);
    queue->capture = id;
    rc = mpixq_graphs_hold(queue, id, NULL, 0);
    rc = rc ? rc : hold(queue, lane, signal);
    branches = rc == MPI_SUCCESS ? mpixq_graphs_branches(queue) : NULL;
    if (branches != NULL) {
        rc = graphs->submit(queue->stream, op, 1, branches, &queue->submission);
    } else if (rc == MPI_SUCCESS) {
        rc = mpixq_error_code(MPIXQ_E_CAPTURE);
    }
    mpixq_submission_unlock(&queue->submission);
    mpixq_progress_wake(); /* who looks whether it fails */
    return rc;
}

static int enqueue(struct mpixq_queue *queue, struct mpixq_rma_lane *lane,
                   struct mpixq_signal *signal, struct mpixq_op *op)
{
    struct mpixq_rma_waiter *waiter = NULL;

    if (signal != NULL) {
        waiter = mpixq_rma_waiter_of(signal, queue);
        if (waiter == NULL) {
            return mpixq_error_code(MPIXQ_E_NO_MEMORY);
        }
    }
    mpixq_submission_lock(&queue->submission);
    queue->mark++; /* no request is being submitted */
    queue->ticket = queue->stream->ops->submit(queue->stream, op, 1, &queue->submission);
    queue->launches++;
    atomic_store(&lane->ticket, queue->ticket);
    if (waiter != NULL) {
        mpixq_rma_waiter_note(waiter, queue);
    }
    mpixq_submission_unlock(&queue->submission);
    return MPI_SUCCESS;
}

static int launch(struct mpixq_queue *queue, struct mpixq_rma_lane *lane,
                  struct mpixq_signal *signal, bool captured, const struct mpixq_launch *what)
{
    struct mpixq_op op;

    mpixq_op_call(&op, what->kind == MPIXQ_LAUNCH_AWAIT ? MPIXQ_OP_SIGNAL : MPIXQ_OP_PUT, called,
                  lane);
    op.copy = NULL;
    op.gpu.launch = what;
    *what->behind = mpixq_mapped_behind(lane->window->mapped, number_of(lane), queue->number);
    return captured ? capture(queue, lane, signal, &op) : enqueue(queue, lane, signal, &op);
}

static int launch_puts(struct mpixq_queue *queue, struct mpixq_rma_lane *lane, bool captured,
                       struct mpixq_puts *all)
{
    struct mpixq_launch what = {.kind = MPIXQ_LAUNCH_PUTS,
                                .threads = MPIXQ_BLOCK_OF_MOVES,
                                .parameters = all,
                                .behind = &all->behind};
    int rc;

    mpixq_mapped_fill(lane->window->mapped, all);
    what.blocks = all->blocks;
    rc = launch(queue, lane, NULL, captured, &what);
    if (rc == MPI_SUCCESS && !captured) { /* of how often a graph makes them the host is not told */
        mpixq_rma_mapped_count(lane->window, MPIXQ_CALL_QUEUED, all);
    }
    return rc;
}

/* All are good, or nothing is enqueued. */
static int check_puts(const struct mpixq_transfer transfers[], int n)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (transfers[i].window != NULL) {
            rc = mpixq_rma_mapped_check(&transfers[i]);
        }
    }
    return rc;
}

int mpixq_rma_queued_puts(struct mpixq_queue *queue, struct mpixq_window *window,
                          const struct mpixq_transfer transfers[], int n,
                          struct mpixq_fault *fault_p)
{
    struct mpixq_rma_lane *lane;
    struct mpixq_puts all;
    bool captured;
    int rc = check(queue, window, &captured, fault_p);

    rc = rc ? rc : check_puts(transfers, n);
    rc = rc ? rc : lane_of(window, queue, &lane);
    all.n = 0;
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (transfers[i].window != NULL) {
            rc = mpixq_rma_mapped_describe(&transfers[i], &all.put[all.n++]);
        }
        if (rc == MPI_SUCCESS && (all.n == MPIXQ_PUTS || (all.n > 0 && i == n - 1))) {
            rc = launch_puts(queue, lane, captured, &all);
            all.n = 0;
        }
    }
    return rc;
}

static struct mpixq_mapped_words *own(const struct mpixq_signal *signal)
{
    return mpixq_mapped_signal(signal->window->mapped, signal->window->rank, signal->index);
}

/* A kernel of one thread about a signal of this process. */
static int launch_one(struct mpixq_queue *queue, struct mpixq_signal *signal,
                      struct mpixq_launch what, bool resets, struct mpixq_fault *fault_p)
{
    struct mpixq_rma_lane *lane;
    bool captured;
    int rc = check(queue, signal->window, &captured, fault_p);

    rc = rc ? rc : lane_of(signal->window, queue, &lane);
    what.blocks = what.threads = 1;
    rc = rc ? rc : launch(queue, lane, signal, captured, &what);
    if (rc == MPI_SUCCESS && !captured) { /* nor here */
        atomic_fetch_add(&signal->waits, what.kind == MPIXQ_LAUNCH_AWAIT);
        atomic_fetch_add(&signal->rounds, resets);
    }
    return rc;
}

/* And then, if resets, set it again. */
static int launch_await(struct mpixq_queue *queue, struct mpixq_signal *signal, bool resets,
                        struct mpixq_fault *fault_p)
{
    struct mpixq_await one = {.signal = own(signal),
                              .index = signal->index,
                              .events = resets ? (uint64_t)signal->num_event : 0,
                              .failed = mpixq_mapped_failed(signal->window->mapped)};
    struct mpixq_launch what = {
        .kind = MPIXQ_LAUNCH_AWAIT, .parameters = &one, .behind = &one.behind};

    return launch_one(queue, signal, what, resets, fault_p);
}

int mpixq_rma_queued_wait(struct mpixq_queue *queue, struct mpixq_signal *signal,
                          struct mpixq_fault *fault_p)
{
    return launch_await(queue, signal, false, fault_p);
}

int mpixq_rma_queued_wait_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                                struct mpixq_fault *fault_p)
{
    return launch_await(queue, signal, true, fault_p);
}

int mpixq_rma_queued_reset(struct mpixq_queue *queue, struct mpixq_signal *signal,
                           struct mpixq_fault *fault_p)
{
    struct mpixq_set one = {
        .signal = own(signal), .index = signal->index, .events = (uint64_t)signal->num_event};
    struct mpixq_launch what = {
        .kind = MPIXQ_LAUNCH_SET, .parameters = &one, .behind = &one.behind};

    return launch_one(queue, signal, what, true, fault_p);
}
