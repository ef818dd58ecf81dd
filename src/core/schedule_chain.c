/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives whose messages NICs chain (chains.h): all rounds are started at once, and a send of a
 * later one waits in the NIC until the receives of the rounds before it have their data. */
#include <stddef.h>

#include "chains.h"
#include "channels.h"
#include "failure.h"
#include "queue.h"
#include "schedule.h"
#include "stream/op.h"
#include "tally.h"
#include "trace_pairs.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/progress.h"

/* Rounds with messages: 0 too if there is something to be done between them or behind. */
static int count_rounds(const struct mpixq_collective *collective)
{
    int n = 0, last = -1;

    for (int i = 0; i < collective->n_steps; i++) {
        const struct mpixq_step *step = &collective->steps[i];

        if (mpixq_step_is_message(step)) {
            n += step->round != last;
            last = step->round;
        } else if (n > 0) {
            return 0;
        }
    }
    return n;
}

/* Where nothing is combined each message is received to a place of its own, which no round before
 * it reads or writes: so all receives may be started with the first. */
static bool may_be_chained(const struct mpixq_collective *collective)
{
    return !collective->by_gpus && collective->args.kind != MPIXQ_ALLREDUCE &&
           count_rounds(collective) > 0;
}

bool mpixq_collective_may_chain(const struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    if (!may_be_chained(collective) || count_rounds(collective) == 1) {
        return false;
    }
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->chains != NULL &&
            mpixq_channel_set_has(&req->channels, mpixq_channels[i]->id)) {
            return true;
        }
    }
    return false;
}

static const char *link_all(struct mpixq_collective *collective)
{
    const struct mpixq_channel *channel = collective->parted.parts[0]->pair.channel;
    struct mpixq_link *links;
    const char *why;
    int n = 0;

    for (int i = 0; i < collective->parted.n_used; i++) {
        collective->chained[i] = &collective->parted.parts[i]->pair;
        if (collective->chained[i]->channel != channel || channel->chains == NULL) {
            return "not all of its messages go by NICs";
        }
    }
    links = mpixq_alloc((size_t)collective->parted.n_used * sizeof *links); /* freed below */
    if (links == NULL) {
        return "no memory";
    }
    for (int i = 0; i < collective->n_steps; i++) {
        if (mpixq_step_is_message(&collective->steps[i])) {
            links[n++] = (struct mpixq_link){.pair = &collective->steps[i].part->pair,
                                             .round = collective->steps[i].round};
        }
    }
    why = channel->chains->link(links, n);
    mpixq_free(links);
    return why;
}

bool mpixq_collective_chain(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    const char *why;

    mpixq_free(collective->chained);
    collective->chained = NULL;
    if (!may_be_chained(collective)) {
        return false;
    }
    collective->chained = mpixq_alloc((size_t)collective->parted.n_used *
                                      sizeof(struct mpixq_pair *)); /* freed with it */
    why = collective->chained != NULL ? link_all(collective) : "no memory";
    if (why == NULL) {
        return true;
    }
    mpixq_debug("collective: the host goes on from round to round: %s", why);
    mpixq_free(collective->chained);
    collective->chained = NULL;
    return false;
}

/* Starts and waits on queues are those of the parts, as if the program had them in an array, where
 * nothing is to be copied before and no graph counts. Else a thread makes all starts at once. */
static bool goes_in_parts(const struct mpixq_pair *pair)
{
    const struct mpixq_collective *collective = pair->end;

    return mpixq_step_is_message(&collective->steps[0]) && pair->staging == NULL &&
           mpixq_tally_of(pair) == NULL;
}

static bool are_complete(const struct mpixq_pair *pair, uint64_t start)
{
    const struct mpixq_parted *parted = pair->end;
    bool all = true;

    for (int i = 0; i < parted->n_used; i++) {
        struct mpixq_request *part = parted->parts[i];

        if (part != NULL && mpixq_pair_done(&part->pair) < start) { /* NULL: let go of */
            (void)part->pair.channel->poll(&part->pair);
            all = all && mpixq_pair_done(&part->pair) >= start;
        }
    }
    return all;
}

static bool is_in_parts(const struct mpixq_pair *pair)
{
    return atomic_load(&((const struct mpixq_collective *)pair->end)->in_parts);
}

/* What has failed by then who asks for all of the queue is told, as with pairs. */
static bool chained_poll(struct mpixq_pair *pair)
{
    uint64_t start = mpixq_pair_executed(pair);

    if (is_in_parts(pair) && mpixq_pair_done(pair) < start && are_complete(pair, start) &&
        mpixq_pair_raise(&pair->done, start) < start) {
        mpixq_trace_completed(pair);
    }
    return mpixq_pair_is_complete(pair) || mpixq_pair_has_failed(pair);
}

void mpixq_collective_look_chained(struct mpixq_pair *pair, bool has_lock)
{
    struct mpixq_pair *failed;

    if (!is_in_parts(pair)) {
        mpixq_collective_go_on(pair, has_lock);
        return;
    }
    (void)chained_poll(pair);
    failed = mpixq_pair_is_in_flight(pair) ? mpixq_schedule_failed_part(pair) : NULL;
    if (failed != NULL) {
        mpixq_parted_fail(pair, failed);
    }
    if (mpixq_pair_has_failed(pair)) {
        mpixq_failure_abandon(pair);
    }
    /* Only by who drives the list: who starts it again lists it once the start counts. */
    if (has_lock && (mpixq_pair_has_failed(pair) || !mpixq_pair_is_in_flight(pair))) {
        mpixq_parted_unlist(pair->end, true);
    }
}

/* The stream has reached starts, and those of the parts. */
static void book(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        const struct mpixq_queue *queue = atomic_load(&pair->queue);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
        } else {
            mpixq_trace_start_executed(pair);
            atomic_fetch_add(&pair->executed, 1);
            mpixq_parted_list(pair->end);
        }
    }
    mpixq_progress_wake();
}

static int start_parts(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    struct mpixq_collective *collective = pair->end;
    uint64_t started = mpixq_pair_started(pair);
    int n = collective->parted.n_used;

    atomic_store(&collective->in_parts, true);
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *part = collective->chained[i];

        atomic_store(&part->queue, queue);
        (void)mpixq_pair_raise(&part->started, started);
    }
    n = collective->chained[0]->channel->start(queue, collective->chained, n, list);
    mpixq_op_call(&list[n], MPIXQ_OP_MOVE, book, pair);
    list[n].gpu.end = NULL;
    list[n].copy = NULL;
    return n + 1;
}

static int chained_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                         struct mpixq_op list[])
{
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        n_ops += queue != NULL && goes_in_parts(pairs[i])
                     ? start_parts(queue, pairs[i], &list[n_ops])
                     : mpixq_channel_collective.start(queue, &pairs[i], 1, &list[n_ops]);
    }
    return n_ops;
}

static int chained_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;
    int n = 0;

    if (!is_in_parts(pair) || mpixq_tally_of(pair) != NULL) { /* it will be in parts no more */
        return mpixq_parted_wait(queue, pair, list);
    }
    for (int i = 0; i < collective->parted.n_used; i++) {
        struct mpixq_pair *part = collective->chained[i];

        n += part->channel->wait(queue, part, &list[n]);
    }
    return n;
}

static const char *what_is_missing(const struct mpixq_pair *pair)
{
    return mpixq_channel_collective.report->what_is_missing(pair);
}

static const struct mpixq_channel_upkeep chained_upkeep = {.has_lost = mpixq_parted_has_lost};
static const struct mpixq_channel_gpus chained_gpus = {.progress_wait = mpixq_parted_progress_wait,
                                                       .recall = mpixq_parted_recall};
static const struct mpixq_channel_report chained_report = {.what_is_missing = what_is_missing};

/* For queues and their counts it is one of cxi, as its parts are. */
const struct mpixq_channel mpixq_channel_collective_chained = {
    .name = "collective",
    .id = MPIXQ_CHANNEL_CXI,
    .through_mpi = true,
    .gpus = &chained_gpus,
    .upkeep = &chained_upkeep,
    .report = &chained_report,
    .graphs = &mpixq_collective_graphs,
    .start = chained_start,
    .wait = chained_wait,
    .poll = chained_poll,
};
