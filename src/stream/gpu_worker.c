/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is submitted to a stream of a GPU: to its worker first, and then to the GPU. */
#include "gpu_policy.h"
#include "gpu_stream.h"
#include "util/trace.h"

static const struct mpixq_stream_kind *const host = &mpixq_host_stream_kind;

bool mpixq_gpu_stream_is_submitting(void)
{
    return atomic_load(&mpixq_gpu_streams.submitting) > 0;
}

/* The worker's own operations, for which nobody waits but the stream. */

static void await_reached(const struct gpu_stream *stream, uint64_t ticket)
{
    struct mpixq_op there;

    mpixq_op_wait(&there, MPIXQ_OP_WAIT, NULL, stream->words->reached, ticket, stream->failed);
    (void)host->ops->submit(stream->worker, &there, 1, NULL);
}

/* Returns the ticket. */
static uint64_t follow_starts(struct gpu_stream *stream, struct mpixq_op list[], int n)
{
    uint64_t ticket = ++stream->submitted;
    struct mpixq_op executed;

    mpixq_op_store(&executed, &stream->executed, ticket);
    await_reached(stream, ticket);
    (void)host->ops->submit(stream->worker, list, n, NULL);
    (void)host->ops->submit(stream->worker, &executed, 1, NULL);
    return ticket;
}

static void start_some(struct gpu_stream *stream, struct mpixq_op list[], int n)
{
    uint64_t ticket = follow_starts(stream, list, n);

    mpixq_gpu_stream_note_code(stream, mpixq_gpu_submit_starts(&stream->lane, list, n, ticket));
}

/* Any call of the GPU's library may block until the GPU goes on, which may take what another thread
 * is about to do. So that thread can borrow the submission lock, and calls no such function
 * (look). */
static void submit_begin(struct mpixq_submission *submission)
{
    atomic_fetch_add(&mpixq_gpu_streams.submitting, 1);
    mpixq_submission_lend(submission);
}

static void submit_end(struct mpixq_submission *submission)
{
    mpixq_submission_reclaim(submission);
    atomic_fetch_sub(&mpixq_gpu_streams.submitting, 1);
}

/* How many of so many operations are submitted at a time. The worker waits for what is launched
 * when it has all of them, so its stream has to have room for them: also one that was full, whose
 * submitters sleep until half of it is free. */
static int at_a_time(const struct gpu_stream *stream, int n)
{
    enum { OWN = 4 }; /* operations of the worker beside them */
    uint64_t most = host->ops->depth(stream->worker) / 2 - OWN;

    return (uint64_t)n < most ? n : (int)most;
}

/* Which are the GPU's is decided. */
static uint64_t launch_starts(struct gpu_stream *stream, struct mpixq_op list[], int n,
                              struct mpixq_submission *submission)
{
    submit_begin(submission);
    mpixq_gpu_relax(stream->lane.gpu);
    for (int some; n > 0; list += some, n -= some) {
        some = at_a_time(stream, n);
        start_some(stream, list, some);
    }
    mpixq_gpu_restore(stream->lane.gpu);
    submit_end(submission);
    return stream->submitted;
}

static void take_starts(struct gpu_stream *stream, struct mpixq_op list[], int n)
{
    mpixq_gpu_lane_choose_again(&stream->lane);
    mpixq_gpu_stream_set_watches(stream);
    mpixq_gpu_take_starts(&stream->base, list, n);
}

static uint64_t submit_starts(struct gpu_stream *stream, struct mpixq_op list[], int n,
                              struct mpixq_submission *submission)
{
    take_starts(stream, list, n);
    return launch_starts(stream, list, n, submission);
}

static bool is_counted(const struct mpixq_op *op)
{
    return op->kind == MPIXQ_OP_TAKE && op->gpu.end->is_counted;
}

/* The worker waits for the words of a list. But what stands in that of a pair whose starts its GPU
 * counts is known to the GPU alone: the worker waits until the stream has passed such a wait, for
 * which it opens the gate first. Returns whether there is one. */
static bool await_words(struct gpu_stream *stream, struct mpixq_op list[], int n, uint64_t ticket)
{
    struct mpixq_op *first = NULL, last[2];
    int n_counted = 0;

    for (int i = n - 1; i >= 0; i--) {
        first = is_counted(&list[i]) ? &list[i] : first;
        n_counted += is_counted(&list[i]);
    }
    if (n_counted == 0) {
        (void)host->ops->submit(stream->worker, list, n, NULL);
        return false;
    }
    for (int i = 0; n_counted < n && i < n; i++) {
        if (!is_counted(&list[i])) {
            (void)host->ops->submit(stream->worker, &list[i], 1, NULL);
        }
    }
    mpixq_op_store(&last[0], stream->words->gate, ticket);
    mpixq_op_wait(&last[1], MPIXQ_OP_WAIT, first->arg, stream->words->reached, ticket,
                  stream->failed);
    (void)host->ops->submit(stream->worker, &last[0], 1, NULL);
    (void)host->ops->submit(stream->worker, &last[1], 1, NULL);
    return true;
}

/* Returns the ticket. */
static uint64_t follow_waits(struct gpu_stream *stream, struct mpixq_op list[], int n)
{
    uint64_t ticket = ++stream->submitted;
    struct mpixq_op open[2];
    bool is_open;

    mpixq_op_store(&open[0], &stream->executed, ticket);
    mpixq_op_store(&open[1], stream->words->gate, ticket);
    atomic_store(&stream->waits, ticket);
    mpixq_streams_await_resume();
    is_open = await_words(stream, list, n, ticket);
    (void)host->ops->submit(stream->worker, open, is_open ? 1 : 2, NULL);
    return ticket;
}

static void wait_for_some(struct gpu_stream *stream, struct mpixq_op list[], int n)
{
    uint64_t ticket = follow_waits(stream, list, n);

    mpixq_gpu_stream_note_code(stream, mpixq_gpu_submit_waits(&stream->lane, list, n, ticket));
}

/* What its GPU waits for by itself ends with a call, as a start does. */
static void signal_one(struct gpu_stream *stream, const struct mpixq_op *op)
{
    struct mpixq_op start = *op;

    start.kind = MPIXQ_OP_PUT;
    atomic_store(&stream->waits, stream->submitted + 1);
    mpixq_streams_await_resume();
    start_some(stream, &start, 1);
}

/* Likewise. */
static uint64_t launch_waits(struct gpu_stream *stream, struct mpixq_op list[], int n,
                             struct mpixq_submission *submission)
{
    submit_begin(submission);
    mpixq_gpu_relax(stream->lane.gpu);
    if (list->kind == MPIXQ_OP_SIGNAL) {
        signal_one(stream, list);
    } else {
        for (int some; n > 0; list += some, n -= some) {
            some = at_a_time(stream, n);
            wait_for_some(stream, list, some);
        }
    }
    mpixq_gpu_restore(stream->lane.gpu);
    submit_end(submission);
    return stream->submitted;
}

static uint64_t submit_waits(struct gpu_stream *stream, struct mpixq_op list[], int n,
                             struct mpixq_submission *submission)
{
    mpixq_gpu_take_waits(&stream->base, list, n);
    return launch_waits(stream, list, n, submission);
}

/* By one launch, if that can be. */
static uint64_t submit_both(struct gpu_stream *stream, const struct mpixq_both *both,
                            struct mpixq_submission *submission, bool *at_once_p)
{
    int n = both->n_starts > both->n_waits ? both->n_starts : both->n_waits;
    uint64_t started;

    take_starts(stream, both->starts, both->n_starts);
    mpixq_gpu_take_waits(&stream->base, both->waits, both->n_waits);
    *at_once_p = at_a_time(stream, n) == n && mpixq_gpu_can_pass(&stream->lane, both);
    if (!*at_once_p) {
        (void)launch_starts(stream, both->starts, both->n_starts, submission);
        return launch_waits(stream, both->waits, both->n_waits, submission);
    }
    submit_begin(submission);
    mpixq_gpu_relax(stream->lane.gpu);
    started = follow_starts(stream, both->starts, both->n_starts);
    (void)follow_waits(stream, both->waits, both->n_waits);
    mpixq_gpu_stream_note_code(stream,
                               mpixq_gpu_pass(&stream->lane, both, started, stream->submitted));
    mpixq_gpu_restore(stream->lane.gpu);
    submit_end(submission);
    return stream->submitted;
}

uint64_t mpixq_gpu_stream_submit_both(struct mpixq_stream *base, const struct mpixq_both *both,
                                      struct mpixq_submission *submission, bool *at_once_p)
{
    uint64_t begin = mpixq_trace_begin();
    uint64_t ticket = submit_both((struct gpu_stream *)base, both, submission, at_once_p);

    mpixq_trace_span(MPIXQ_TRACE_SUBMITTED, 0, begin, both->n_starts + both->n_waits);
    return ticket;
}

uint64_t mpixq_gpu_stream_submit(struct mpixq_stream *base, struct mpixq_op list[], int n,
                                 struct mpixq_submission *submission)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    uint64_t begin = mpixq_trace_begin();
    uint64_t ticket = mpixq_op_is_wait(list) ? submit_waits(stream, list, n, submission)
                                             : submit_starts(stream, list, n, submission);

    mpixq_trace_span(MPIXQ_TRACE_SUBMITTED, 0, begin, n);
    return ticket;
}
