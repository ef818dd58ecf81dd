/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The parts of a partitioned request are started and completed as the host starts others. A thread
 * of the program, of the stream or, for what queues have started, the progress thread goes on with
 * them; so requests whose data GPUs move by themselves are not started on queues, since the
 * progress thread may not call a GPU's library. */
#include <stddef.h>
#include <utlist.h>

#include "channels.h"
#include "failure.h"
#include "partitions.h"
#include "queue.h"
#include "trace_pairs.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

/* Those that queues have started and that are not complete. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_partitions *first;
    atomic_int n; /* written under the lock */
} listed = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_PARTITIONS)};

static void list(struct mpixq_partitions *partitions)
{
    mpixq_lock_acquire(&listed.lock);
    DL_APPEND(listed.first, partitions);
    partitions->is_listed = true;
    atomic_fetch_add(&listed.n, 1);
    mpixq_lock_release(&listed.lock);
    atomic_fetch_add(&mpixq_outstanding, 1);
}

/* The progress thread has the lock when it finds that they are complete. */
static void unlist(struct mpixq_partitions *partitions, bool has_lock)
{
    bool was_listed;

    if (!has_lock) {
        mpixq_lock_acquire(&listed.lock);
    }
    was_listed = partitions->is_listed;
    if (was_listed) {
        DL_DELETE(listed.first, partitions);
        partitions->is_listed = false;
        atomic_fetch_sub(&listed.n, 1);
    }
    if (!has_lock) {
        mpixq_lock_release(&listed.lock);
    }
    if (was_listed) {
        atomic_fetch_sub(&mpixq_outstanding, 1);
    }
}

/* As the host starts a request. */
static void start_part(struct mpixq_request *part)
{
    struct mpixq_op list[MPIXQ_PAIR_OPS];
    struct mpixq_pair *pair = &part->pair;
    int n;

    mpixq_pair_count_start(pair, true);
    n = pair->channel->start(NULL, &pair, 1, list);
    for (int i = 0; i < n; i++) {
        list[i].u.call(&list[i].arg, 1, false);
    }
}

/* Is all of a message ready for this start? The sum is looked at first: it is enough but where some
 * partitions are ahead, ready for a later start already. */
static bool is_ready(const struct mpixq_partitions *partitions, int part, uint64_t start)
{
    int first = part * partitions->of_each, end = first + partitions->of_each;

    if (atomic_load(&partitions->arrived[part]) < (uint64_t)partitions->of_each * start) {
        return false;
    }
    for (int i = first; i < end; i++) {
        if (atomic_load(&partitions->ready[i]) < start) {
            return false;
        }
    }
    return true;
}

/* Whoever sees that a message can go sends it. */
static void send_ready(struct mpixq_partitions *partitions, uint64_t start)
{
    for (int i = 0; i < partitions->n_parts; i++) {
        uint64_t before = start - 1;

        if (atomic_load(&partitions->begun[i]) < start && is_ready(partitions, i, start) &&
            atomic_compare_exchange_strong(&partitions->begun[i], &before, start)) {
            start_part(partitions->parts[i]);
        }
    }
}

static void fail(struct mpixq_pair *pair, struct mpixq_pair *part)
{
    int code = atomic_load(&part->error);

    if (!mpixq_pair_has_failed(pair)) {
        mpixq_failure_of(pair->id, code != MPI_SUCCESS ? code : mpixq_pair_peer_failed(part),
                         "partition");
    }
}

/* Is this part complete for the start? */
static bool look_at(struct mpixq_pair *pair, struct mpixq_request *part, uint64_t start)
{
    if (mpixq_pair_done(&part->pair) >= start) {
        return true;
    }
    if (mpixq_pair_started(&part->pair) >= start) {
        mpixq_channel_attend(&part->pair);
        (void)part->pair.channel->poll(&part->pair);
    }
    if (mpixq_pair_has_failed(&part->pair)) {
        fail(pair, &part->pair);
    }
    return mpixq_pair_done(&part->pair) >= start;
}

static void complete(struct mpixq_partitions *partitions, uint64_t start, bool has_lock)
{
    for (int i = 0; i <= partitions->n_parts; i++) {
        mpixq_channel_report_failures(partitions->parts[i]->pair.channel);
        if (mpixq_pair_has_failed(&partitions->parts[i]->pair)) {
            fail(partitions->pair, &partitions->parts[i]->pair);
            return;
        }
    }
    unlist(partitions, has_lock);
    mpixq_trace_completed(partitions->pair);
    mpixq_pair_raise_done(partitions->pair, start);
}

/* The parts that are under way. One thread at a time; others have nothing to do meanwhile. */
static void look(struct mpixq_partitions *partitions, uint64_t start, bool has_lock)
{
    bool all = true;

    if (atomic_exchange(&partitions->busy, true)) {
        return;
    }
    if (mpixq_pair_done(partitions->pair) < start) {
        for (int i = partitions->n_parts; i >= 0; i--) {
            all = look_at(partitions->pair, partitions->parts[i], start) && all;
        }
        if (all) {
            complete(partitions, start, has_lock);
        }
    }
    atomic_store(&partitions->busy, false);
}

bool mpixq_partitions_is_prepared(struct mpixq_request *req, uint64_t start)
{
    const struct mpixq_partitions *partitions = mpixq_partitions_of(req);

    return mpixq_pair_done(&partitions->parts[partitions->n_parts]->pair) >= start;
}

static void go_on(struct mpixq_pair *pair, bool has_lock)
{
    struct mpixq_partitions *partitions = pair->end;
    uint64_t start = atomic_load(&pair->executed); /* in one order with what is ready */

    if (mpixq_pair_has_failed(pair)) {
        unlist(partitions, has_lock);
        return;
    }
    if (mpixq_pair_done(pair) >= start) {
        return;
    }
    if (mpixq_pair_is_send(pair)) {
        send_ready(partitions, start);
    }
    look(partitions, start, has_lock);
}

void mpixq_partitions_go_on(struct mpixq_pair *pair)
{
    go_on(pair, false);
}

void mpixq_partitions_drive(void)
{
    struct mpixq_partitions *partitions, *next;

    if (atomic_load(&listed.n) == 0 || !mpixq_lock_try(&listed.lock)) {
        return;
    }
    DL_FOREACH_SAFE(listed.first, partitions, next)
    {
        go_on(partitions->pair, true);
    }
    mpixq_lock_release(&listed.lock);
}

/* What the program says, and asks. */

/* The n-th that is named. */
static int named(int first, const int indices[], int i)
{
    return indices != NULL ? indices[i] : first + i;
}

/* Nobody acts on what is claimed. */
static enum mpixq_error claim(struct mpixq_request *req, int partition)
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    uint64_t started = mpixq_pair_started(&req->pair), seen;

    if (partition < 0 || partition >= partitions->n) {
        return MPIXQ_E_ARG_PARTITION;
    }
    seen = atomic_load(&partitions->claimed[partition]);
    do {
        if (seen >= started) {
            return mpixq_pair_is_complete(&req->pair) ? MPIXQ_E_PARTITION_INACTIVE
                                                      : MPIXQ_E_PARTITION_TWICE;
        }
    } while (!atomic_compare_exchange_weak(&partitions->claimed[partition], &seen, seen + 1));
    return MPIXQ_E_NONE;
}

/* All of them, or none. */
static enum mpixq_error claim_all(struct mpixq_request *req, int first, int count,
                                  const int indices[])
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    enum mpixq_error error = MPIXQ_E_NONE;
    int n = 0;

    for (; error == MPIXQ_E_NONE && n < count; n++) {
        error = claim(req, named(first, indices, n));
    }
    for (n -= 2; error != MPIXQ_E_NONE && n >= 0; n--) {
        atomic_fetch_sub(&partitions->claimed[named(first, indices, n)], 1);
    }
    return error;
}

enum mpixq_error mpixq_partitions_ready(struct mpixq_request *req, int first, int count,
                                        const int indices[])
{
    struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    enum mpixq_error error;

    atomic_fetch_add(&partitions->inside, 1);
    error = claim_all(req, first, count, indices);
    for (int i = 0; error == MPIXQ_E_NONE && i < count; i++) {
        int partition = named(first, indices, i);

        atomic_fetch_add(&partitions->ready[partition], 1);
        if (partitions->of_each > 0) {
            atomic_fetch_add(&partitions->arrived[partition / partitions->of_each], 1);
        }
    }
    if (error == MPIXQ_E_NONE && req->pair.channel == &mpixq_channel_partitions) {
        mpixq_partitions_go_on(&req->pair);
    }
    atomic_fetch_sub(&partitions->inside, 1); /* and the request may be gone */
    return error;
}

bool mpixq_partitions_has_arrived(struct mpixq_request *req, int partition, uint64_t start)
{
    const struct mpixq_partitions *partitions = mpixq_partitions_of(req);
    const struct mpixq_pair *part;

    if (mpixq_pair_done(&req->pair) >= start) {
        return true;
    }
    mpixq_partitions_go_on(&req->pair);
    part = &partitions->parts[partition / partitions->of_each]->pair;
    if (mpixq_pair_done(part) < start) {
        return false;
    }
    mpixq_channel_report_failures(part->channel);
    return !mpixq_pair_has_failed(part);
}

/* The channel of the whole. */

static void start_whole(struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_partitions *partitions = pair->end;

    mpixq_trace_start_executed(pair);
    if (queue != NULL) {
        list(partitions);
    }
    for (int i = mpixq_pair_is_send(pair) ? partitions->n_parts : 0; i <= partitions->n_parts;
         i++) {
        start_part(partitions->parts[i]);
    }
    atomic_fetch_add(&pair->executed, 1); /* others go on with it from here */
    mpixq_partitions_go_on(pair);
}

static void run_starts(void *const args[], int n, bool by_gpu)
{
    struct mpixq_queue *queue = atomic_load(&((struct mpixq_pair *)args[0])->queue);

    (void)by_gpu;
    for (int i = 0; i < n; i++) {
        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(args[i]);
        } else {
            start_whole(args[i], queue);
        }
    }
    if (queue != NULL) {
        mpixq_progress_wake();
    }
}

static int partitions_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                            struct mpixq_op ops[])
{
    (void)queue;
    for (int i = 0; i < n; i++) {
        mpixq_op_call(&ops[i], MPIXQ_OP_CALL, run_starts, pairs[i]);
    }
    return n;
}

static void go_on_with(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        mpixq_partitions_go_on(args[i]);
    }
}

static int partitions_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, mpixq_pair_done_word(pair), mpixq_pair_started(pair),
                  &queue->failed);
    op->poll = go_on_with;
    return 1;
}

/* Only tells: it may be called under locks that starts of parts must not be made under. */
static bool partitions_poll(struct mpixq_pair *pair)
{
    return mpixq_pair_is_complete(pair);
}

/* By who frees the request, or has seen it fail, with no lock. */
static void partitions_recall(struct mpixq_pair *pair)
{
    struct mpixq_partitions *partitions = pair->end;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (atomic_load(&partitions->inside) > 0) {
        mpixq_backoff_pause(&backoff);
    }
    unlist(partitions, false);
    for (int i = 0; i <= partitions->n_parts; i++) {
        if (partitions->parts[i] != NULL) { /* not let go of */
            mpixq_channel_recall(&partitions->parts[i]->pair);
        }
    }
}

static const char *partitions_what_is_missing(const struct mpixq_pair *pair)
{
    const struct mpixq_partitions *partitions = pair->end;
    uint64_t start = mpixq_pair_done(pair) + 1;

    if (!mpixq_pair_is_send(pair)) {
        return "partitions have not come: the peer has not started its send, some of them are not "
               "ready there, or they are under way";
    }
    if (mpixq_pair_done(&partitions->parts[partitions->n_parts]->pair) < start) {
        return "the peer has not started its receive";
    }
    for (int i = 0; i < partitions->n_parts; i++) {
        if (!is_ready(partitions, i, start)) {
            return "partitions are not ready: MPIX_Pready was not called for all of them";
        }
    }
    return "all partitions are ready, and some are under way";
}

/* The parts go to the same peer, and some by a network that can tell. */
static bool partitions_has_lost(struct mpixq_pair *pair)
{
    const struct mpixq_partitions *partitions = pair->end;

    for (int i = 0; i <= partitions->n_parts; i++) {
        if (mpixq_channel_has_lost(&partitions->parts[i]->pair)) {
            return true;
        }
    }
    return false;
}

static const struct mpixq_channel_upkeep partitions_upkeep = {.has_lost = partitions_has_lost};
static const struct mpixq_channel_gpus partitions_gpus = {.attend = mpixq_partitions_go_on,
                                                          .recall = partitions_recall};
static const struct mpixq_channel_report partitions_report = {.what_is_missing =
                                                                  partitions_what_is_missing};

/* For queues and their counts it is one of the fallback's, which the host makes as well. */
const struct mpixq_channel mpixq_channel_partitions = {
    .name = "partitions",
    .id = MPIXQ_CHANNEL_FALLBACK,
    .through_mpi = true,
    .gpus = &partitions_gpus,
    .upkeep = &partitions_upkeep,
    .report = &partitions_report,
    .start = partitions_start,
    .wait = partitions_wait,
    .poll = partitions_poll,
};
