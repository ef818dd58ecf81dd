/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A collective that is started. The progress thread goes on with each, also where the host has
 * started it: others may wait for what this process does in a later round, while the thread that
 * started it is blocked elsewhere. */
#include <stddef.h>
#include <stdio.h>

#include "channels.h"
#include "failure.h"
#include "queue.h"
#include "schedule.h"
#include "stream/op.h"
#include "tally.h"
#include "trace_pairs.h"
#include "util/backoff.h"

/* The first step of a later round than that of the step at first. In a chain all messages are of
 * one round, the last. */
static int end_of_round(const struct mpixq_collective *collective)
{
    int past = collective->first;

    if (collective->chained != NULL && past < collective->n_steps &&
        mpixq_step_is_message(&collective->steps[past])) {
        return collective->n_steps;
    }
    while (past < collective->n_steps && collective->steps[past].round == collective->round) {
        past++;
    }
    return past;
}

/* Receives first: what is sent at once finds them. */
static void start_messages(struct mpixq_collective *collective, int past)
{
    for (int i = collective->first; i < past; i++) {
        if (mpixq_step_is_message(&collective->steps[i])) {
            atomic_store(&collective->steps[i].part->pair.queue, NULL);
            mpixq_parted_start(collective->steps[i].part);
        }
    }
    collective->has_begun = true;
}

static bool are_complete(struct mpixq_collective *collective, int past, uint64_t start)
{
    bool all = true;

    for (int i = collective->first; i < past; i++) {
        if (mpixq_step_is_message(&collective->steps[i])) {
            all = mpixq_parted_look_at(collective->parted.pair, collective->steps[i].part, start) &&
                  all;
        }
    }
    return all;
}

/* What the data of the round is for. False: that has failed. */
static bool do_steps(struct mpixq_collective *collective, int past)
{
    for (int i = collective->first; i < past; i++) {
        const struct mpixq_step *step = &collective->steps[i];
        int rc = mpixq_step_is_message(step) ? MPI_SUCCESS : mpixq_schedule_do(collective, step);

        if (rc != MPI_SUCCESS) {
            mpixq_failure_of(collective->parted.pair->id, rc, "collective");
            return false;
        }
    }
    return true;
}

static void complete(struct mpixq_collective *collective, uint64_t start, bool has_lock)
{
    struct mpixq_pair *pair = collective->parted.pair;
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    if (tally != NULL) {
        mpixq_tally_completes(tally, start);
    }
    mpixq_parted_complete(&collective->parted, start, has_lock);
    if (tally != NULL && mpixq_pair_done(pair) >= start) {
        mpixq_tally_completed(tally);
    }
}

/* Go on by a round, if that can be done at once. */
static bool advance(struct mpixq_collective *collective, uint64_t start, bool has_lock)
{
    int past;

    if (collective->round == collective->n_rounds) {
        complete(collective, start, has_lock);
        return false;
    }
    past = end_of_round(collective);
    if (!collective->has_begun) {
        start_messages(collective, past);
    }
    if (!are_complete(collective, past, start) || !do_steps(collective, past)) {
        return false;
    }
    collective->has_begun = false;
    collective->first = past;
    atomic_store(&collective->round,
                 past < collective->n_steps ? collective->steps[past].round : collective->n_rounds);
    return true;
}

void mpixq_collective_go_on(struct mpixq_pair *pair, bool has_lock)
{
    struct mpixq_collective *collective = pair->end;
    struct mpixq_parted *parted = &collective->parted;
    uint64_t start = mpixq_pair_executed(pair);

    if (mpixq_pair_done(pair) >= start || atomic_exchange(&parted->busy, true)) {
        return;
    }
    while (!mpixq_pair_has_failed(pair) && mpixq_pair_done(pair) < start &&
           advance(collective, start, has_lock)) {
    }
    if (mpixq_pair_has_failed(pair)) {
        mpixq_failure_abandon(pair);
        mpixq_parted_unlist(parted, has_lock);
    }
    atomic_store(&parted->busy, false);
}

/* Nobody else looks at it, or by who is busy with it. */
static void begin(struct mpixq_pair *pair)
{
    struct mpixq_collective *collective = pair->end;

    mpixq_trace_start_executed(pair);
    atomic_store(&collective->in_parts, false);
    atomic_store(&collective->round, 0);
    collective->first = 0;
    collective->has_begun = false;
    mpixq_parted_list(&collective->parted);
    atomic_fetch_add(&pair->executed, 1); /* others go on with it from here */
}

/* What was started in parts before the first capture is done when somebody has looked. */
static bool is_active(struct mpixq_pair *pair)
{
    (void)pair->channel->poll(pair);
    return mpixq_pair_executed(pair) > mpixq_pair_done(pair);
}

/* A start by a thread of what graphs or kernels start as well. */
static void start_counted(struct mpixq_pair *pair, struct mpixq_tally *tally,
                          struct mpixq_queue *queue)
{
    struct mpixq_parted *parted = pair->end;
    struct mpixq_backoff backoff;
    bool was_active;

    mpixq_backoff_begin(&backoff);
    while (atomic_exchange(&parted->busy, true)) {
        mpixq_backoff_pause(&backoff);
    }
    was_active = is_active(pair) || mpixq_tally_is_under_way(tally);
    if (!was_active) {
        mpixq_tally_begin(tally, queue);
        begin(pair);
    }
    atomic_store(&parted->busy, false);
    if (was_active) {
        mpixq_failure_abandon(pair);
        mpixq_queue_fail(mpixq_graphs_queue(pair), pair, mpixq_error_code(MPIXQ_E_REPLAY_ACTIVE),
                         "start");
    }
}

static void start_whole(struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    if (tally != NULL && !mpixq_tally_is_older(tally)) {
        start_counted(pair, tally, queue);
    } else {
        begin(pair);
    }
    mpixq_collective_go_on(pair, false);
}

/* What a graph or a kernel has counted is started. */
static enum mpixq_tally_next start_next(struct mpixq_pair *pair, struct mpixq_tally *tally)
{
    struct mpixq_parted *parted = pair->end;
    enum mpixq_tally_next next = MPIXQ_TALLY_NONE;

    if (atomic_exchange(&parted->busy, true)) {
        return MPIXQ_TALLY_NONE;
    }
    if (!is_active(pair)) {
        next = mpixq_tally_next(tally);
    }
    if (next == MPIXQ_TALLY_START) {
        begin(pair);
    }
    atomic_store(&parted->busy, false);
    return next;
}

static void follow_graphs(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    mpixq_parted_progress_wait(pair); /* which leaves alone what was started in parts */
    switch (start_next(pair, tally)) {
    case MPIXQ_TALLY_NONE:
        break;
    case MPIXQ_TALLY_START:
        mpixq_collective_go_on(pair, false);
        break;
    case MPIXQ_TALLY_DROP:
        mpixq_failure_abandon(pair);
        mpixq_tally_dropped(tally);
        break;
    }
}

static void run_starts(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    mpixq_parted_run(args, n, start_whole);
}

static int collective_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                            struct mpixq_op ops[])
{
    for (int i = 0; i < n; i++) {
        struct mpixq_tally *tally = queue != NULL ? mpixq_tally_of(pairs[i]) : NULL;

        if (tally == NULL || !mpixq_tally_start(tally, queue, &ops[i])) {
            mpixq_op_call(&ops[i], MPIXQ_OP_CALL, run_starts, pairs[i]);
        }
    }
    return n;
}

static const char *name_message(struct mpixq_collective *collective, const struct mpixq_step *step)
{
    (void)snprintf(collective->missing, sizeof collective->missing,
                   "round %d of %d: rank %d of its communicator has not %s", step->round + 1,
                   collective->n_rounds, step->peer,
                   step->kind == MPIXQ_STEP_SEND ? "received the message of this process"
                                                 : "sent its message");
    return collective->missing;
}

/* The first message that is not complete. Of what GPUs move the host does not know the round. */
static const char *collective_what_is_missing(const struct mpixq_pair *pair)
{
    struct mpixq_collective *collective = pair->end;
    uint64_t start = mpixq_pair_done(pair) + 1;
    int round = atomic_load(&collective->round);

    for (int i = 0; i < collective->n_steps; i++) {
        const struct mpixq_step *step = &collective->steps[i];

        if ((collective->by_gpus || collective->chained != NULL || step->round == round) &&
            mpixq_step_is_message(step) && mpixq_pair_done(&step->part->pair) < start) {
            return name_message(collective, step);
        }
    }
    return "its last messages are under way";
}

static const struct mpixq_channel_upkeep collective_upkeep = {.has_lost = mpixq_parted_has_lost};
static const struct mpixq_channel_gpus collective_gpus = {
    .progress_wait = mpixq_parted_progress_wait, .recall = mpixq_parted_recall};
static const struct mpixq_channel_report collective_report = {.what_is_missing =
                                                                  collective_what_is_missing};

const struct mpixq_channel_graphs mpixq_collective_graphs = {.go_on = follow_graphs,
                                                             .refresh = mpixq_tally_refresh,
                                                             .halt = mpixq_tally_halt,
                                                             .close = mpixq_tally_close,
                                                             .describe = mpixq_tally_describe};

/* For queues and their counts it is one of the fallback's, which the host makes as well. */
const struct mpixq_channel mpixq_channel_collective = {
    .name = "collective",
    .id = MPIXQ_CHANNEL_FALLBACK,
    .through_mpi = true,
    .gpus = &collective_gpus,
    .upkeep = &collective_upkeep,
    .report = &collective_report,
    .graphs = &mpixq_collective_graphs,
    .start = collective_start,
    .wait = mpixq_parted_wait,
    .poll = mpixq_parted_poll,
};
