/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A partitioned request that is started: its messages go as soon as they are ready. */
#include <stddef.h>

#include "channels.h"
#include "failure.h"
#include "partitions.h"
#include "queue.h"
#include "trace_pairs.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

/* Is all of a message ready for this start? The sum is looked at first: it is enough but where some
 * partitions are ahead, ready for a later start already. */
static bool is_ready(const struct mpixq_partitions *partitions, int part, uint64_t start)
{
    int first = part * partitions->of_each, past = first + partitions->of_each;

    if (atomic_load(&partitions->arrived[part]) < (uint64_t)partitions->of_each * start) {
        return false;
    }
    for (int i = first; i < past; i++) {
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
            mpixq_parted_start(partitions->parted.parts[i]);
        }
    }
}

/* The parts that are under way. One thread at a time; others have nothing to do meanwhile. */
static void look(struct mpixq_partitions *partitions, uint64_t start, bool has_lock)
{
    struct mpixq_parted *parted = &partitions->parted;
    bool all = true;

    if (atomic_exchange(&parted->busy, true)) {
        return;
    }
    if (mpixq_pair_done(parted->pair) < start) {
        for (int i = partitions->n_parts; i >= 0; i--) {
            all = mpixq_parted_look_at(parted->pair, parted->parts[i], start) && all;
        }
        if (all) {
            mpixq_parted_complete(parted, start, has_lock);
        }
    }
    atomic_store(&parted->busy, false);
}

bool mpixq_partitions_is_prepared(struct mpixq_request *req, uint64_t start)
{
    const struct mpixq_partitions *partitions = mpixq_partitions_of(req);

    return mpixq_pair_done(&partitions->parted.parts[partitions->n_parts]->pair) >= start;
}

void mpixq_partitions_go_on_with(struct mpixq_pair *pair, bool has_lock)
{
    struct mpixq_partitions *partitions = pair->end;
    uint64_t start = atomic_load(&pair->executed); /* in one order with what is ready */

    if (mpixq_pair_has_failed(pair)) {
        mpixq_parted_unlist(&partitions->parted, has_lock);
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
    mpixq_partitions_go_on_with(pair, false);
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
    part = &partitions->parted.parts[partition / partitions->of_each]->pair;
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
        mpixq_parted_list(&partitions->parted);
    }
    for (int i = mpixq_pair_is_send(pair) ? partitions->n_parts : 0; i <= partitions->n_parts;
         i++) {
        mpixq_parted_start(partitions->parted.parts[i]);
    }
    atomic_fetch_add(&pair->executed, 1); /* others go on with it from here */
    mpixq_partitions_go_on(pair);
}

static void run_starts(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    mpixq_parted_run(args, n, start_whole);
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

/* By who frees the request, or has seen it fail, with no lock. */
static void partitions_recall(struct mpixq_pair *pair)
{
    struct mpixq_partitions *partitions = pair->end;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (atomic_load(&partitions->inside) > 0) {
        mpixq_backoff_pause(&backoff);
    }
    mpixq_parted_recall(pair);
}

static const char *partitions_what_is_missing(const struct mpixq_pair *pair)
{
    const struct mpixq_partitions *partitions = pair->end;
    uint64_t start = mpixq_pair_done(pair) + 1;

    if (!mpixq_pair_is_send(pair)) {
        return "partitions have not come: the peer has not started its send, some of them are not "
               "ready there, or they are under way";
    }
    if (mpixq_pair_done(&partitions->parted.parts[partitions->n_parts]->pair) < start) {
        return "the peer has not started its receive";
    }
    for (int i = 0; i < partitions->n_parts; i++) {
        if (!is_ready(partitions, i, start)) {
            return "partitions are not ready: MPIX_Pready was not called for all of them";
        }
    }
    return "all partitions are ready, and some are under way";
}

static const struct mpixq_channel_upkeep partitions_upkeep = {.has_lost = mpixq_parted_has_lost};
static const struct mpixq_channel_gpus partitions_gpus = {.progress_wait = mpixq_partitions_go_on,
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
    .wait = mpixq_parted_wait,
    .poll = mpixq_parted_poll,
};
