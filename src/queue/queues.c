/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The life of queues, and what the host waits for. */
#include "queues.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "comm/comm.h"
#include "core/channels.h"
#include "core/failure.h"
#include "core/graphs.h"
#include "core/lost.h"
#include "core/schedule.h"
#include "core/stats.h"
#include "match/match.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/patience.h"
#include "util/trace.h"

enum { LIVE = 0x6d717571 };

/* Every queue ever made, linked by next_spare: a handle that the user has freed can still be looked
 * at. The lock, a leaf, guards the list. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_queue *all;
    uint64_t n;                   /* ever made */
    _Atomic uint64_t last_number; /* of a life of one; without the lock */
    atomic_bool said_late;        /* likewise: the warning of mpixq_queues_say_late */
} queues = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_QUEUES)};

void mpixq_queues_say_late(const struct mpixq_queue *queue, const struct mpixq_request *req)
{
    if (!atomic_exchange(&queues.said_late, true)) {
        mpixq_warn(
            "queue %llu is of type MPIX_QUEUE_FALLBACK, and starts pairs of channel %s: they "
            "were matched before; MPIXQ_CHANNELS or MPIX_Matchall_info choose channels",
            (unsigned long long)queue->number, req->pair.channel->name);
    }
}

bool mpixq_queue_is_live(const struct mpixq_queue *queue)
{
    return queue != NULL && atomic_load_explicit(&queue->magic, memory_order_acquire) == LIVE;
}

void mpixq_queues_each(void (*visit)(struct mpixq_queue *queue, void *arg), void *arg)
{
    struct mpixq_queue *first, *queue;

    mpixq_lock_acquire(&queues.lock);
    first = queues.all;
    mpixq_lock_release(&queues.lock);
    /* Links stay as they are. */
    LL_FOREACH2(first, queue, next_spare)
    {
        if (mpixq_queue_is_live(queue)) {
            enum mpixq_submission_state was = mpixq_submission_borrow(&queue->submission);

            if (mpixq_queue_is_live(queue)) {
                visit(queue, arg);
            }
            mpixq_submission_return(&queue->submission, was);
        }
    }
}

/* A queue that was freed, or a new one. */
static struct mpixq_queue *queue_new(void)
{
    struct mpixq_queue *queue;

    mpixq_lock_acquire(&queues.lock);
    LL_FOREACH2(queues.all, queue, next_spare)
    {
        if (atomic_load(&queue->magic) == 0) {
            atomic_store(&queue->magic, 1); /* taken, not live yet */
            break;
        }
    }
    if (queue == NULL) {
        queue = mpixq_alloc(sizeof *queue); /* kept until the process ends */
        if (queue != NULL) {
            mpixq_lock_init(&queue->fail_lock, MPIXQ_RANK_QUEUE_FAIL);
            atomic_init(&queue->magic, 1);
            queue->mark = ++queues.n << 44;
            LL_PREPEND2(queues.all, queue, next_spare);
        }
    }
    mpixq_lock_release(&queues.lock);
    return queue;
}

static void queue_reset(struct mpixq_queue *queue)
{
    queue->members = NULL;
    queue->started = NULL;
    queue->ticket = 0;
    queue->starts = queue->waits = queue->launches = 0;
    memset(queue->by_channel, 0, sizeof queue->by_channel);
    atomic_store(&queue->posts, 0);
    atomic_store(&queue->rings, 0);
    atomic_store(&queue->stalls, 0);
    atomic_store(&queue->told, false);
    atomic_store(&queue->failed, MPI_SUCCESS);
    atomic_store(&queue->halted, MPI_SUCCESS);
    atomic_store(&queue->is_freed, false);
    queue->failed_comm = NULL;
    queue->failed_at = MPIXQ_FAULT_NONE;
    queue->number = atomic_fetch_add(&queues.last_number, 1) + 1;
}

/* Which kind of stream is meant: as said, else as recognised. Without an address, a host stream of
 * the queue's own; so a null handle, which may be left of a host stream that was destroyed, is none
 * of those. */
static enum mpixq_error choose_kind(const char *name, void *const *address,
                                    const struct mpixq_stream_kind **kind_p)
{
    const struct mpixq_stream_kind *kind = &mpixq_host_stream_kind;
    bool several = false;

    if (name != NULL) {
        kind = mpixq_stream_kind(name);
        if (kind == NULL) {
            return MPIXQ_E_ARG_INFO_TYPE;
        }
    } else if (address != NULL) {
        kind = mpixq_stream_recognise(*address, &several);
    }
    if (several) {
        return MPIXQ_E_SEVERAL_GPUS;
    }
    if (address != NULL && *address == NULL && (kind == NULL || !kind->ops->copies)) {
        return MPIXQ_E_NULL_STREAM;
    }
    if (kind == NULL ||
        (!kind->ops->copies && address != NULL && !kind->ops->is_live(kind, *address))) {
        return MPIXQ_E_ARG_STREAM_ADDRESS;
    }
    *kind_p = kind;
    return MPIXQ_E_NONE;
}

/* The stream of a new queue: MPI_SUCCESS, or an error. */
static int open_stream(struct mpixq_queue *queue, const struct mpixq_stream_kind *kind,
                       void *const *address)
{
    void *handle = address != NULL ? *address : NULL;
    struct mpixq_refusal refusal = {0};
    char text[256]; /* as much as Open MPI keeps of an error */

    queue->owns_stream = handle == NULL && !kind->ops->copies;
    queue->stream = kind->ops->open(kind, handle, &queue->failed, &refusal);
    if (queue->stream != NULL) {
        return MPI_SUCCESS;
    }
    if (refusal.why == NULL) {
        return mpixq_error_code((enum mpixq_error)refusal.error);
    }
    (void)snprintf(text, sizeof text, "argument stream_address, of kind %s: %.180s", kind->name,
                   refusal.why);
    return mpixq_error_cause((enum mpixq_error)refusal.error, NULL, text);
}

int mpixq_queue_create(MPIXQ_Queue_type type, const char *name, void *const *address,
                       struct mpixq_queue **queue_p)
{
    const struct mpixq_stream_kind *kind = NULL;
    enum mpixq_error why = choose_kind(name, address, &kind);
    struct mpixq_queue *queue;
    int rc = why != MPIXQ_E_NONE ? mpixq_error_code(why) : mpixq_queue_type_check(type, kind->ops);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    queue = queue_new();
    if (queue == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    queue_reset(queue);
    queue->type = type;
    rc = open_stream(queue, kind, address);
    if (queue->stream == NULL) {
        atomic_store(&queue->magic, 0);
        return rc;
    }
    why = mpixq_channels_attach(queue);
    if (why != MPIXQ_E_NONE) {
        kind->ops->close(queue->stream);
        atomic_store(&queue->magic, 0);
        return why == MPIXQ_E_CXI ? mpixq_queue_type_unusable() : mpixq_error_code(why);
    }
    if (queue->stream->rings || queue->stream->watches) {
        mpixq_channels_expose(kind);
    }
    mpixq_streams_look_again();
    mpixq_lost_look();
    atomic_store(&queue->magic, LIVE);
    if (mpixq_env.info) {
        mpixq_queue_print(queue);
    }
    *queue_p = queue;
    return MPI_SUCCESS;
}

/* Whoever completes starts may write to a word of its own: poll makes done follow it. */
static bool is_complete(struct mpixq_request *req)
{
    if (!mpixq_pair_is_complete(&req->pair)) {
        (void)req->pair.channel->poll(&req->pair);
    }
    return mpixq_pair_is_complete(&req->pair);
}

/* A program may know from its stream that a GPU is there; then a thread of ours is about to be, but
 * what a failed queue has left need not end. */
static bool follows_soon(struct mpixq_queue *queue, uint64_t ticket)
{
    enum { PATIENCE_NS = 500000000 };
    const struct mpixq_stream_ops *ops = queue->stream->ops;
    struct mpixq_patience patience;
    struct mpixq_backoff backoff;

    mpixq_patience_begin(&patience, mpixq_now_ns(), PATIENCE_NS);
    mpixq_backoff_begin(&backoff);
    while (!ops->passed(queue->stream, ticket)) {
        if (mpixq_queue_has_failed(queue) && !mpixq_patience_goes_on(&patience, mpixq_now_ns())) {
            return false;
        }
        mpixq_match_advance();
        mpixq_backoff_pause(&backoff);
    }
    return true;
}

static bool has_passed(struct mpixq_queue *queue, uint64_t ticket)
{
    const struct mpixq_stream_ops *ops = queue->stream->ops;

    return ops->passed(queue->stream, ticket) ||
           (ops->is_ahead(queue->stream, ticket) && follows_soon(queue, ticket));
}

/* The stream has passed the last operation of the request. Of a pair whose starts its GPU counts
 * there may have been others since, by a graph. */
static bool has_ended_well(const struct mpixq_queue *queue, struct mpixq_request *req)
{
    if (atomic_load(&req->pair.counted) != NULL) {
        (void)is_complete(req);
        return !mpixq_queue_has_failed(queue) && !mpixq_pair_has_failed(&req->pair);
    }
    return is_complete(req) &&
           !(mpixq_queue_has_failed(queue) && mpixq_channel_is_broken(&req->pair));
}

/* Take a request from the queue, whose submission lock is held; the stream has passed its last
 * operation. */
static void detach(struct mpixq_queue *queue, struct mpixq_request *req)
{
    bool complete = has_ended_well(queue, req);
    bool waiting = mpixq_request_state(req) == MPIXQ_WAITING;

    if (!waiting) {
        DL_DELETE2(queue->started, &req->pair, prev_started, next_started);
    }
    DL_DELETE2(queue->members, req, prev_member, next_member);
    mpixq_collective_leave(&req->pair);
    atomic_store(&req->pair.queue, NULL);
    (void)mpixq_request_step(req, complete && waiting ? MPIXQ_DONE : MPIXQ_FAIL);
    if (!complete) {
        mpixq_failure_abandon(&req->pair);
    }
}

/* A queue whose submission lock is lent submits, and what it submits has no ticket yet. */
static bool is_being_submitted(const struct mpixq_queue *queue, const struct mpixq_request *req,
                               enum mpixq_submission_state was)
{
    return was == MPIXQ_SUBMISSION_LENT && req->mark == queue->mark;
}

void mpixq_queue_settle(struct mpixq_request *req)
{
    struct mpixq_queue *queue = atomic_load(&req->pair.queue);
    enum mpixq_submission_state was;
    bool waiting;

    if (queue == NULL) {
        return;
    }
    was = mpixq_submission_borrow(&queue->submission);
    waiting = mpixq_request_state(req) == MPIXQ_WAITING;
    if (atomic_load(&req->pair.queue) == queue && (waiting || mpixq_queue_has_failed(queue)) &&
        !is_being_submitted(queue, req, was) &&
        has_passed(queue, waiting ? req->ticket : queue->ticket)) {
        detach(queue, req);
    }
    mpixq_submission_return(&queue->submission, was);
}

void mpixq_queue_part_told(struct mpixq_queue *queue)
{
    enum mpixq_submission_state was = mpixq_submission_borrow(&queue->submission);
    struct mpixq_request *req, *next;

    atomic_store(&queue->told, false); /* before the pairs are looked at, which fail before it */
    DL_FOREACH_SAFE2(queue->members, req, next, next_member)
    {
        if (!mpixq_pair_has_failed(&req->pair)) {
            continue;
        }
        if (mpixq_request_state(req) == MPIXQ_WAITING && !is_being_submitted(queue, req, was) &&
            has_passed(queue, req->ticket)) {
            detach(queue, req);
        } else {
            atomic_store(&queue->told, true);
        }
    }
    mpixq_submission_return(&queue->submission, was);
}

static void retire(struct mpixq_queue *queue)
{
    struct mpixq_request *req, *next;

    DL_FOREACH_SAFE2(queue->members, req, next, next_member)
    {
        detach(queue, req);
    }
    mpixq_graphs_leave(queue);
    /* Nobody who found the queue through a request may still be about to fail it. */
    mpixq_match_fence();
    mpixq_channels_detach(queue);
    mpixq_stats_queue(queue);
    queue->stream->ops->close(queue->stream);
    mpixq_comm_put(queue->failed_comm);
    queue->failed_comm = NULL;
    atomic_store(&queue->magic, 0);
}

int mpixq_queue_destroy(struct mpixq_queue *queue)
{
    const struct mpixq_stream_ops *ops = queue->stream->ops;
    enum mpixq_error why = MPIXQ_E_NONE;
    bool failed;

    mpixq_submission_lock(&queue->submission);
    (void)ops->passed(queue->stream, queue->ticket); /* which sees whether it is broken */
    mpixq_queue_look(queue);
    failed = mpixq_queue_has_failed(queue); /* which may change at any time */
    if (failed) {
        atomic_store(&queue->is_freed, true);
        queue->mark++; /* nothing is being submitted */
        mpixq_submission_lend(&queue->submission);
        ops->synchronize(queue->stream, queue->ticket, NULL); /* its waits drain */
        mpixq_submission_reclaim(&queue->submission);
    }
    if (!failed) {
        why = (enum mpixq_error)ops->may_wait(queue->stream);
        if (why == MPIXQ_E_NONE && (queue->started != NULL || !has_passed(queue, queue->ticket))) {
            why = MPIXQ_E_QUEUE_BUSY;
        }
    }
    if (why == MPIXQ_E_NONE) {
        retire(queue);
    }
    mpixq_submission_unlock(&queue->submission);
    return mpixq_error_code(why);
}

/* Drive pairs that no wait was enqueued for. NULL if all have completed, else the completion
 * word of the first that has not. Under the submission lock. */
static const _Atomic uint64_t *drive_started(struct mpixq_queue *queue)
{
    const _Atomic uint64_t *first = NULL;
    struct mpixq_pair *pair;

    DL_FOREACH2(queue->started, pair, next_started)
    {
        if (!pair->channel->poll(pair) && first == NULL) {
            first = mpixq_pair_done_word(pair);
        }
    }
    if (first == NULL) {
        mpixq_channels_report_failures(queue->by_channel);
    }
    return first;
}

static uint64_t last_ticket(struct mpixq_queue *queue)
{
    enum mpixq_submission_state was = mpixq_submission_borrow(&queue->submission);
    uint64_t ticket = queue->ticket;

    mpixq_submission_return(&queue->submission, was);
    return ticket;
}

/* Has the queue failed, or is everything that it has started complete, but for what it waits for
 * with *ticket_p, the last? What is being submitted is not. */
static bool is_driven(struct mpixq_queue *queue, uint64_t *ticket_p)
{
    enum mpixq_submission_state was = mpixq_submission_borrow(&queue->submission);
    const _Atomic uint64_t *word = drive_started(queue);

    *ticket_p = queue->ticket;
    mpixq_submission_return(&queue->submission, was);
    atomic_store_explicit(&queue->host_waits_for, word, memory_order_release);
    return (word == NULL && was == MPIXQ_SUBMISSION_FREE) || mpixq_queue_has_failed(queue);
}

int mpixq_queue_wait(struct mpixq_queue *queue, struct mpixq_fault *fault_p)
{
    const struct mpixq_stream_ops *ops = queue->stream->ops;
    uint64_t ticket = last_ticket(queue), begin = mpixq_trace_begin();
    struct mpixq_backoff backoff;
    enum mpixq_error why = (enum mpixq_error)ops->may_wait(queue->stream);

    if (why != MPIXQ_E_NONE && !mpixq_queue_has_failed(queue)) {
        *fault_p = MPIXQ_FAULT_NONE;
        return mpixq_error_code(why);
    }
    /* Not for the stream once the queue has failed: another queue's wait may stand before. */
    ops->synchronize(queue->stream, ticket, &queue->failed);
    mpixq_queue_look(queue);
    mpixq_backoff_begin(&backoff);
    while (!is_driven(queue, &ticket)) {
        mpixq_match_advance();
        mpixq_backoff_pause(&backoff);
    }
    atomic_store_explicit(&queue->host_waits_for, NULL, memory_order_release);
    /* Another thread may have enqueued the wait for what was only started when this call began. */
    ops->synchronize(queue->stream, ticket, &queue->failed);
    mpixq_graphs_look();
    mpixq_trace_span(MPIXQ_TRACE_SYNCHRONIZED, queue->number, begin, 1);
    return mpixq_queue_failure(queue, fault_p);
}

/* What another thread submits just now counts as enqueued, and is not complete. */
int mpixq_queue_test(struct mpixq_queue *queue, int *flag, struct mpixq_fault *fault_p)
{
    enum mpixq_submission_state was = mpixq_submission_borrow(&queue->submission);
    bool idle = was == MPIXQ_SUBMISSION_FREE && has_passed(queue, queue->ticket) &&
                drive_started(queue) == NULL;
    int code;

    mpixq_submission_return(&queue->submission, was);
    mpixq_graphs_look();
    mpixq_queue_look(queue);
    code = mpixq_queue_failure(queue, fault_p);
    if (code == MPI_SUCCESS) {
        *flag = idle;
    }
    return code;
}

int mpixq_queues_close(void)
{
    struct mpixq_queue *queue;
    int n = 0;

    /* All of them before the first is waited for: they may share a stream. */
    LL_FOREACH2(queues.all, queue, next_spare)
    {
        if (mpixq_queue_is_live(queue)) {
            mpixq_queue_set_failed(queue, MPI_ERR_OTHER); /* its waits drain */
        }
    }
    mpixq_graphs_look(); /* likewise */
    LL_FOREACH2(queues.all, queue, next_spare)
    {
        if (mpixq_queue_is_live(queue)) {
            n++;
            (void)mpixq_queue_destroy(queue);
        }
    }
    return n;
}
