/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives of one or two rounds whose buffers are in memory of a GPU. What starts and waits for
 * one starts and waits for its parts, in the same list of operations, whatever channels serve them;
 * in the best case GPUs move all data, and no thread has a part in it. Behind the waits the GPU
 * combines what has come, as the last operation of the list. The second round follows in the same
 * wait: what starts it does so only if there was something to combine.
 *
 * The parts count starts as the whole does. The host follows them, to know how far the whole is and
 * whether one has failed: the progress thread, for what was started by calls; for graphs, who looks
 * at all pairs that graphs have. */
#include <stddef.h>

#include "channels.h"
#include "collective_gpus.h"
#include "failure.h"
#include "queue.h"
#include "schedule.h"
#include "stream/op.h"
#include "tally.h"
#include "trace_pairs.h"
#include "util/progress.h"

/* The end of a part whose waits say whether there is something to combine, and whose word graphs
 * look at: the first one that GPUs move, or that they count. NULL: the host makes all starts, or
 * lets the NIC make them. */
static struct mpixq_gpu_end *find_end(const struct mpixq_collective *collective)
{
    struct mpixq_tally *tally = NULL;

    for (int i = 0; i < collective->n_first; i++) {
        struct mpixq_pair *part = &collective->parted.parts[i]->pair;

        if (part->channel->gpus != NULL && part->channel->gpus->end != NULL) {
            return part->channel->gpus->end(part);
        }
        tally = tally != NULL ? tally : mpixq_tally_of(part);
    }
    return tally != NULL ? &tally->gpu : NULL;
}

static void set_end(struct mpixq_collective *collective)
{
    struct mpixq_gpu_end *end = find_end(collective);

    if (end != NULL) {
        end->go = collective->made.address;
        collective->combine.closed = &end->move.own->closed;
    }
    if (end != NULL || collective->takes_nics) {
        collective->combine.go = collective->made.address; /* its first word */
    }
}

/* How far it is. */

static struct mpixq_pair *part_of(const struct mpixq_parted *parted, int i)
{
    return parted->parts[i] != NULL ? &parted->parts[i]->pair : NULL; /* NULL: let go of */
}

/* The first n parts. */
static bool are_first_complete(const struct mpixq_pair *pair, uint64_t start, int n)
{
    const struct mpixq_parted *parted = pair->end;
    bool all = true;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *part = part_of(parted, i);

        if (part != NULL && mpixq_pair_done(part) < start) {
            (void)part->channel->poll(part);
            all = all && mpixq_pair_done(part) >= start;
        }
    }
    return all;
}

static bool are_complete(const struct mpixq_pair *pair, uint64_t start)
{
    return are_first_complete(pair, start, ((const struct mpixq_parted *)pair->end)->n_used);
}

/* What the host has started is combined by a call of the program, which may call a GPU's library;
 * in a stream, its own operation does that. */
static bool is_combined_by_call(const struct mpixq_pair *pair)
{
    const struct mpixq_collective *collective = pair->end;

    return collective->combines && mpixq_pair_is_by_host(pair);
}

static void finish(struct mpixq_pair *pair, uint64_t start)
{
    if (mpixq_pair_raise(&pair->done, start) < start) {
        mpixq_trace_completed(pair);
    }
}

static bool gpus_poll(struct mpixq_pair *pair)
{
    uint64_t start = mpixq_pair_executed(pair);

    if (mpixq_pair_done(pair) < start && !is_combined_by_call(pair) && are_complete(pair, start)) {
        finish(pair, start);
    }
    return mpixq_pair_is_complete(pair) || mpixq_pair_has_failed(pair);
}

void mpixq_collective_look_gpus(struct mpixq_pair *pair, bool has_lock)
{
    struct mpixq_pair *failed;

    (void)gpus_poll(pair);
    failed = mpixq_pair_is_in_flight(pair) && !are_complete(pair, mpixq_pair_executed(pair))
                 ? mpixq_schedule_failed_part(pair)
                 : NULL;
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

/* Starts. */

static void count_executed(struct mpixq_pair *pair)
{
    mpixq_trace_start_executed(pair);
    atomic_fetch_add(&pair->executed, 1);
    mpixq_parted_list(pair->end);
}

/* A GPU starts the second round only where this word of it is not 0; NULL: in any case. */
static void set_after(const struct mpixq_collective *collective, const void *word)
{
    for (int i = collective->n_first; i < collective->parted.n_used; i++) {
        struct mpixq_pair *part = part_of(&collective->parted, i);
        struct mpixq_tally *tally = part != NULL ? mpixq_tally_of(part) : NULL;

        if (part != NULL && part->channel->gpus != NULL && part->channel->gpus->end != NULL) {
            part->channel->gpus->end(part)->move.after = word;
        }
        if (tally != NULL) {
            tally->gpu.move.after = word;
        }
    }
}

/* Calls of one function. */
struct calls {
    struct mpixq_op first;
    void *args[32];
    int n;
};

static void make_calls(struct calls *calls)
{
    if (calls->n > 0) {
        calls->first.u.call(calls->args, calls->n, false);
    }
    calls->n = 0;
}

static void add_call(struct calls *calls, const struct mpixq_op *op)
{
    enum { TOGETHER = sizeof calls->args / sizeof calls->args[0] };

    if (calls->n == TOGETHER || op->u.call != calls->first.u.call) {
        make_calls(calls);
    }
    calls->first = *op;
    calls->args[calls->n++] = op->arg;
}

/* Starts that the host makes, of parts of one channel in as few launches as it takes. */
static void start_parts(struct mpixq_parted *parted, int from, int to)
{
    struct mpixq_op list[MPIXQ_PAIR_OPS];
    struct calls calls = {.n = 0};

    for (int i = from; i < to; i++) {
        struct mpixq_pair *part = part_of(parted, i);
        int n_ops = 0;

        if (part != NULL) {
            atomic_store(&part->queue, NULL);
            mpixq_pair_count_start(part, true);
            n_ops = part->channel->start(NULL, &part, 1, list);
        }
        for (int k = 0; k < n_ops; k++) {
            add_call(&calls, &list[k]);
        }
    }
    make_calls(&calls);
}

static void start_by_host(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        struct mpixq_collective *collective = pair->end;

        atomic_store(&collective->combined_at, 0);
        start_parts(&collective->parted, 0, collective->n_first);
        if (mpixq_schedule_failed_part(pair) == NULL) {
            count_executed(pair);
        } else { /* who has started it is told at once */
            mpixq_parted_fail(pair, mpixq_schedule_failed_part(pair));
            mpixq_failure_abandon(pair);
        }
    }
    mpixq_progress_wake();
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
        } else if (atomic_load(&pair->counted) != NULL) {
            mpixq_trace_start_executed(pair);
            (void)mpixq_schedule_refresh(pair);
        } else {
            count_executed(pair);
        }
    }
}

/* A start that is captured counts for none of them. */
static int start_some(struct mpixq_queue *queue, struct mpixq_pair *pair, int from, int to,
                      struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;
    uint64_t started = mpixq_pair_started(pair);
    int n = 0;

    for (int i = from; i < to; i++) {
        struct mpixq_pair *part = part_of(&collective->parted, i);

        /* In a capture it is that of the graphs. */
        atomic_store(&part->queue, atomic_load(&pair->queue) == queue ? queue : NULL);
        (void)mpixq_pair_raise(&part->started, started);
        n += part->channel->start(queue, &part, 1, &list[n]);
    }
    return n;
}

static int start_one(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;
    int n = start_some(queue, pair, 0, collective->n_first, list);

    mpixq_op_call(&list[n], MPIXQ_OP_MOVE, book, pair);
    list[n].gpu.end = NULL;
    list[n].copy = NULL;
    return n + 1;
}

static int gpus_then_start(struct mpixq_queue *queue, struct mpixq_pair *pair,
                           struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;

    /* The word may never be set if no end of the first round does that: a GPU may reach the buffers
     * of the second round only. Doorbells need none: once the queue has failed none is rung. */
    set_after(collective, collective->combine.closed != NULL ? collective->combine.go : NULL);
    return start_some(queue, pair, collective->n_first, collective->parted.n_used, list);
}

static int gpus_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                      struct mpixq_op list[])
{
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        if (queue != NULL) {
            n_ops += start_one(queue, pairs[i], &list[n_ops]);
        } else {
            mpixq_op_call(&list[n_ops++], MPIXQ_OP_CALL, start_by_host, pairs[i]);
        }
    }
    return n_ops;
}

/* Waits. */

static int wait_some(struct mpixq_queue *queue, struct mpixq_pair *pair, int from, int to,
                     struct mpixq_op list[])
{
    int n = 0;

    for (int i = from; i < to; i++) {
        struct mpixq_pair *part = part_of(pair->end, i);

        n += part->channel->wait(queue, part, &list[n]);
        if (part->channel->of_gpus) { /* there are no copies of the part */
            list[n - 1].arg = pair;   /* which the program has started, and waits for */
        }
    }
    return n;
}

static int gpus_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[])
{
    struct mpixq_collective *collective = pair->end;
    int n = wait_some(queue, pair, 0, collective->n_first, list);

    if (collective->combines) {
        if (collective->combine.closed == NULL) {
            set_end(collective);
        }
        mpixq_op_combine(&list[n++], pair, &collective->combine, mpixq_pair_done_word(pair),
                         &queue->halted);
    }
    return n;
}

static int gpus_then_wait(struct mpixq_queue *queue, struct mpixq_pair *pair,
                          struct mpixq_op list[])
{
    const struct mpixq_collective *collective = pair->end;

    return wait_some(queue, pair, collective->n_first, collective->parted.n_used, list);
}

static uint64_t execute(struct mpixq_pair *pair, struct mpixq_op *op)
{
    struct mpixq_pair *part = mpixq_collective_executor(pair);

    return part != NULL ? mpixq_channel_by_id(MPIXQ_CHANNEL_IPC)->gpus->execute(part, op) : 0;
}

static bool has_executed(const struct mpixq_pair *pair, uint64_t ticket)
{
    const struct mpixq_pair *part = mpixq_collective_executor(pair);

    return part != NULL && mpixq_channel_by_id(MPIXQ_CHANNEL_IPC)->gpus->has_executed(part, ticket);
}

/* What has been combined: a second round follows, or there is none. */
static void go_on_by_call(struct mpixq_pair *pair, uint64_t start)
{
    struct mpixq_collective *collective = pair->end;
    int n = collective->parted.n_used;

    if (collective->n_first == n) {
        finish(pair, start);
    } else {
        set_after(collective, NULL);
        start_parts(&collective->parted, collective->n_first, n);
        atomic_store(&collective->combined_at, MPIXQ_SECOND_ROUND);
    }
}

/* A start by the host whose parts of the first round are complete. By one thread. */
static void combine_by_call(struct mpixq_pair *pair, uint64_t start)
{
    struct mpixq_collective *collective = pair->end;
    struct mpixq_combine combine = collective->combine;
    uint64_t ticket = atomic_load(&collective->combined_at);
    struct mpixq_op op;

    if (ticket == MPIXQ_SECOND_ROUND) {
        if (are_complete(pair, start)) {
            finish(pair, start);
        }
        return;
    }
    if (ticket != 0) {
        if (has_executed(pair, ticket)) {
            go_on_by_call(pair, start);
        }
        return;
    }
    combine.go = NULL; /* there need not have been a wait of a GPU */
    mpixq_op_combine(&op, NULL, &combine, NULL, NULL);
    ticket = execute(pair, &op);
    atomic_store(&collective->combined_at, ticket);
    if (ticket == 0) {
        mpixq_failure_of(pair->id, mpixq_error_code(MPIXQ_E_GPU), "collective");
    }
}

static void gpus_progress_wait(struct mpixq_pair *pair)
{
    struct mpixq_collective *collective = pair->end;
    struct mpixq_parted *parted = &collective->parted;
    uint64_t start = mpixq_pair_executed(pair);

    for (int i = 0; mpixq_pair_done(pair) < start && i < parted->n_used; i++) {
        struct mpixq_pair *part = part_of(parted, i);

        if (part != NULL && mpixq_pair_done(part) < start && mpixq_pair_started(part) >= start) {
            mpixq_channel_progress_wait(part);
        }
    }
    if (mpixq_pair_done(pair) < start && is_combined_by_call(pair) &&
        !mpixq_pair_has_failed(pair) && are_first_complete(pair, start, collective->n_first) &&
        !atomic_exchange(&parted->busy, true)) {
        if (mpixq_pair_done(pair) < start) { /* else another thread may have started the next one */
            combine_by_call(pair, start);
        }
        atomic_store(&parted->busy, false);
    }
    mpixq_collective_look_gpus(pair, false);
}

/* Where the waits of its parts were given up, nobody knows what has been combined. */
static bool gpus_is_broken(struct mpixq_pair *pair)
{
    const struct mpixq_collective *collective = pair->end;
    bool is_broken = collective->combines;
    struct mpixq_pair *part;

    for (int i = 0; (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        is_broken = is_broken || mpixq_channel_is_broken(part);
    }
    return is_broken;
}

static const char *gpus_what_is_missing(const struct mpixq_pair *pair)
{
    return mpixq_channel_collective.report->what_is_missing(pair);
}

/* Of NICs that is not known before a start completes. */
static void both_report_failures(void)
{
    mpixq_channel_report_failures(mpixq_channel_by_id(MPIXQ_CHANNEL_CXI));
}

static const struct mpixq_channel_upkeep gpus_upkeep = {.has_lost = mpixq_parted_has_lost};
static const struct mpixq_channel_upkeep both_upkeep = {.report_failures = both_report_failures,
                                                        .has_lost = mpixq_parted_has_lost};
static const struct mpixq_channel_queues gpus_queues = {.is_broken = gpus_is_broken,
                                                        .then_start = gpus_then_start,
                                                        .then_wait = gpus_then_wait,
                                                        .steps = &mpixq_schedule_part_steps};
static const struct mpixq_channel_gpus gpus_gpus = {.progress_wait = gpus_progress_wait,
                                                    .recall = mpixq_parted_recall};
static const struct mpixq_channel_report gpus_report = {.what_is_missing = gpus_what_is_missing};

#define CHANNEL(of_id, of_upkeep)                                                                  \
    {                                                                                              \
        .name = "collective", .id = (of_id), .through_mpi = true, .gpus = &gpus_gpus,              \
        .queues = &gpus_queues, .upkeep = &(of_upkeep), .report = &gpus_report,                    \
        .graphs = &mpixq_schedule_graphs, .start = gpus_start, .wait = gpus_wait,                  \
        .poll = gpus_poll,                                                                         \
    }

/* For queues and their counts it is one of ipc, as its parts are if GPUs reach each other; or of
 * cxi, if NICs bring something. */
const struct mpixq_channel mpixq_channel_collective_gpus = CHANNEL(MPIXQ_CHANNEL_IPC, gpus_upkeep);
const struct mpixq_channel mpixq_channel_collective_both = CHANNEL(MPIXQ_CHANNEL_CXI, both_upkeep);
