/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "graphs_made.h"

#include <stddef.h>
#include <utlist.h>

#include "channel.h"
#include "failure.h"
#include "queue.h"
#include "tally.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

enum {
    BUSY_MS = 1,       /* between two looks of the progress thread while starts are made, */
    IDLE_MS = 10,      /* and when there was none */
    IDLE_LOOKS = 100,  /* in so many looks */
    TOLD_AT_A_TIME = 8 /* failures that are told in a look */
};

/* What a graph holds. It knows nothing but this, and may outlive MPI. */
struct graph {
    uint64_t capture;
    const struct mpixq_stream_kind *kind;
    int n, room;
    struct mpixq_counted **of;
    struct mpixq_branches branches;
    bool is_over; /* MPI_Finalize has let go of its pairs */
    struct graph *next;
};

struct mpixq_graphs_made mpixq_graphs_made = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GRAPHS)};

/* The words of the channel, from which its GPU counts. */
static enum mpixq_error make_words(struct mpixq_counted *counted, struct mpixq_queue *queue)
{
    const struct mpixq_channel_graphs *graphs = counted->pair->channel->graphs;
    const _Atomic uint64_t *told;

    if (graphs->go_on != NULL) {
        counted->tally = mpixq_tally_create(counted->pair, queue); /* freed in forget */
        if (counted->tally == NULL) {
            return MPIXQ_E_NO_MEMORY;
        }
        told = mpixq_tally_mirror(counted->tally);
        counted->mirror[0] = counted->mirror[2] = &told[0];
        counted->mirror[1] = &told[1];
        return MPIXQ_E_NONE;
    }
    graphs->begin(counted->pair);
    if (graphs->mirror != NULL) {
        graphs->mirror(counted->pair, counted->mirror);
    }
    return MPIXQ_E_NONE;
}

static enum mpixq_error counted_new(struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_counted *counted = mpixq_alloc(sizeof *counted); /* freed in forget */
    enum mpixq_error error;

    if (counted == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    counted->pair = pair;
    error = make_words(counted, queue);
    if (error != MPIXQ_E_NONE) {
        mpixq_free(counted);
        return error;
    }
    atomic_store(&pair->counted, counted);
    if (counted->tally != NULL) {
        mpixq_tally_drive_from_now_on(counted->tally);
    }
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_APPEND(mpixq_graphs_made.counted, counted);
    atomic_store(&mpixq_graphs_made.idle, 0);
    mpixq_lock_release(&mpixq_graphs_made.lock);
    atomic_fetch_add(&mpixq_graphs_made.n_counted, 1);
    mpixq_progress_wake();
    return MPIXQ_E_NONE;
}

enum mpixq_error mpixq_graphs_count(struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_counted *counted = atomic_load(&pair->counted);
    enum mpixq_error error = counted == NULL ? counted_new(pair, queue) : MPIXQ_E_NONE;

    if (error != MPIXQ_E_NONE) {
        return error;
    }
    counted = atomic_load(&pair->counted);
    if (counted->tally != NULL && !mpixq_tally_suits(counted->tally, queue->stream)) {
        return MPIXQ_E_GRAPH_GPU;
    }
    return MPIXQ_E_NONE;
}

void mpixq_graphs_go_to(const struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_counted *counted = atomic_load(&pair->counted);

    atomic_store(&counted->queue, queue);
}

/* Graphs. Under the lock. */

static struct graph *find_graph(const struct mpixq_stream_kind *kind, uint64_t capture)
{
    struct graph *graph;

    LL_FOREACH(mpixq_graphs_made.graphs, graph)
    {
        if (graph->capture == capture && graph->kind == kind) {
            break;
        }
    }
    return graph;
}

static bool holds(const struct graph *graph, const struct mpixq_counted *counted)
{
    /* What a call captures again stands near the end, more often than not. */
    for (int i = graph->n - 1; i >= 0; i--) {
        if (graph->of[i] == counted) {
            return true;
        }
    }
    return false;
}

static bool make_room(struct graph *graph, int n)
{
    int room = graph->room > 0 ? graph->room : 16;
    void *of;

    while (room - graph->n < n) {
        room *= 2;
    }
    if (room == graph->room) {
        return true;
    }
    of = mpixq_realloc(graph->of, (size_t)room * sizeof(*graph->of));
    if (of != NULL) {
        graph->of = of;
        graph->room = room;
    }
    return of != NULL;
}

static bool add_pairs(struct graph *graph, struct mpixq_pair *const pairs[], int n)
{
    if (!make_room(graph, n)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        struct mpixq_counted *counted = atomic_load(&pairs[i]->counted);

        if (!holds(graph, counted)) {
            graph->of[graph->n++] = counted;
            counted->n_graphs++;
        }
    }
    return true;
}

static void graph_free(struct graph *graph)
{
    mpixq_free(graph->branches.of);
    mpixq_free(graph->of);
    mpixq_free(graph);
}

/* By a thread of the GPU's library, at any time, also after MPI_Finalize: the graph and all that
 * was made of it are gone. What its pairs have left is given up by who looks for such next. */
static void graph_is_gone(void *arg)
{
    struct graph *graph = arg;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    if (!graph->is_over) {
        LL_DELETE(mpixq_graphs_made.graphs, graph);
        for (int i = 0; i < graph->n; i++) {
            graph->of[i]->n_graphs--;
        }
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    graph_free(graph);
}

/* Not under the lock, which the GPU's library may be about to take. A capture is of one thread at a
 * time, so no other one is about to do so. */
static int graph_new(struct mpixq_queue *queue, uint64_t capture)
{
    struct graph *graph = mpixq_alloc(sizeof *graph); /* freed in graph_is_gone */
    int rc;

    if (graph == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    graph->capture = capture;
    graph->kind = queue->stream->kind;
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    LL_PREPEND(mpixq_graphs_made.graphs, graph);
    mpixq_lock_release(&mpixq_graphs_made.lock);
    rc = graph->kind->ops->graphs->keep(queue->stream, graph_is_gone, graph, &queue->submission);
    if (rc != MPI_SUCCESS) {
        graph_is_gone(graph);
    }
    return rc;
}

int mpixq_graphs_hold(struct mpixq_queue *queue, uint64_t capture, struct mpixq_pair *const pairs[],
                      int n)
{
    const struct mpixq_stream_kind *kind = queue->stream->kind;
    bool is_known, added = false;
    struct graph *graph;
    int rc;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    is_known = find_graph(kind, capture) != NULL;
    mpixq_lock_release(&mpixq_graphs_made.lock);
    rc = is_known ? MPI_SUCCESS : graph_new(queue, capture);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    graph = find_graph(kind, capture);
    added = graph != NULL && add_pairs(graph, pairs, n);
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return mpixq_error_code(added ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY);
}

struct mpixq_branches *mpixq_graphs_branches(const struct mpixq_queue *queue)
{
    struct graph *graph;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    graph = find_graph(queue->stream->kind, queue->capture);
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return graph != NULL ? &graph->branches : NULL;
}

bool mpixq_graphs_have(const struct mpixq_pair *pair)
{
    const struct mpixq_counted *counted = atomic_load(&pair->counted);

    return counted != NULL && atomic_load(&counted->n_graphs) > 0;
}

/* Looking. */

/* A failure of a pair, for whoever is to be told without the lock. */
struct told {
    uint64_t id;
    int code;
    bool is_error; /* of a start, in its words */
    bool halts;    /* its waits are to end */
};

/* A request that was freed has no peer any more that could be told. Any other error counts as
 * reported once it was told: who looks meanwhile tells it too, and not before it has may a wait for
 * the queue say that there was none. */
static int take_error(struct mpixq_counted *counted, enum mpixq_error error)
{
    struct mpixq_queue *queue = atomic_load(&counted->queue);

    if (error == MPIXQ_E_NONE || counted->is_reported) {
        return MPI_SUCCESS;
    }
    if (error != MPIXQ_E_REPLAY_FREED) {
        return mpixq_error_code(error);
    }
    counted->is_reported = true;
    if (queue != NULL) {
        mpixq_queue_fail(queue, counted->pair, mpixq_error_code(error), "replayed start");
    }
    return MPI_SUCCESS;
}

/* The channel of a tally executes a start after its GPU has made it. */
static bool is_under_way(const struct mpixq_counted *counted)
{
    return counted->tally != NULL ? mpixq_tally_is_under_way(counted->tally)
                                  : mpixq_pair_is_in_flight(counted->pair);
}

/* Why a start that is under way will not complete, or MPI_SUCCESS: what a queue's graphs have
 * started goes with the queue, as what its calls have started does. */
static int find_failure(const struct mpixq_counted *counted)
{
    struct mpixq_pair *pair = counted->pair;
    const struct mpixq_queue *queue = mpixq_graphs_queue(pair);
    int code = MPI_SUCCESS;

    if (!is_under_way(counted)) {
        return MPI_SUCCESS;
    }
    if (mpixq_pair_has_failed(pair)) {
        code = atomic_load(&pair->error);
        return code != MPI_SUCCESS ? code : mpixq_pair_peer_failed(pair);
    }
    return queue != NULL ? atomic_load(&queue->failed) : MPI_SUCCESS;
}

/* Under the lock. Is there a failure that is to be told? Waits for a pair end only if it fails,
 * since it stays halted: an idle one may be started again, on another queue. They end after it was
 * told, so that whoever has waited for them hears of it from the queue. */
static bool look_at(struct mpixq_counted *counted, struct told *told_p)
{
    struct mpixq_pair *pair = counted->pair;
    uint64_t before = mpixq_pair_started(pair);
    int code = take_error(counted, pair->channel->graphs->refresh(pair));
    int failure = find_failure(counted);

    *told_p = (struct told){.id = pair->id, .code = code, .is_error = code != MPI_SUCCESS};
    if (mpixq_pair_started(pair) != before) {
        atomic_store(&mpixq_graphs_made.idle, 0);
    }
    if (failure != MPI_SUCCESS && !counted->is_halted) {
        counted->is_halted = true;
        told_p->halts = true;
        told_p->code = code != MPI_SUCCESS ? code : failure;
    }
    return told_p->code != MPI_SUCCESS;
}

/* Of many pairs few are under way, and all others cost a look at the words of each. */
static bool is_still_at_rest(const struct mpixq_counted *counted)
{
    bool is_at_rest = counted->is_at_rest;

    for (int i = 0; is_at_rest && i < MPIXQ_MIRROR_WORDS; i++) {
        is_at_rest = atomic_load(counted->mirror[i]) == counted->seen[i];
    }
    return is_at_rest;
}

/* The words are read first: a start that is made meanwhile changes them after that. */
static bool look_at_all_of(struct mpixq_counted *counted, struct told *told_p)
{
    bool has_mirror = counted->mirror[0] != NULL;
    bool tells;

    for (int i = 0; has_mirror && i < MPIXQ_MIRROR_WORDS; i++) {
        counted->seen[i] = atomic_load(counted->mirror[i]);
    }
    tells = look_at(counted, told_p);
    counted->is_at_rest = has_mirror && !is_under_way(counted) && !told_p->is_error;
    return tells;
}

/* Of two starts of a request one may be of a queue, and the other of a replay, whose wait ends
 * now. */
static void tell_captured(const struct mpixq_counted *counted, int code)
{
    struct mpixq_queue *queue = atomic_load(&counted->queue);

    if (queue != NULL && queue != atomic_load(&counted->pair->queue)) {
        mpixq_queue_fail(queue, counted->pair, code, "replayed start");
    }
}

static void tell(const struct told *told)
{
    struct mpixq_counted *counted;

    mpixq_failure_of(told->id, told->code, "replayed start");
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        if (counted->pair->id == told->id) {
            counted->is_reported = counted->is_reported || told->is_error;
            if (told->is_error) {
                tell_captured(counted, told->code);
            }
            if (told->halts) {
                counted->pair->channel->graphs->halt(counted->pair);
            }
        }
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
}

void mpixq_graphs_set_looker(mpixq_graphs_looker *looker)
{
    atomic_store(&mpixq_graphs_made.looker, looker);
}

void mpixq_graphs_look(void)
{
    mpixq_graphs_looker *looker = atomic_load(&mpixq_graphs_made.looker);
    struct told told[TOLD_AT_A_TIME];
    struct mpixq_counted *counted;
    int n = 0;

    if (looker != NULL) {
        looker();
    }
    if (atomic_load(&mpixq_graphs_made.n_counted) == 0) {
        return;
    }
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    atomic_fetch_add(&mpixq_graphs_made.idle, 1);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        if (!is_still_at_rest(counted) && n < TOLD_AT_A_TIME) {
            n += look_at_all_of(counted, &told[n]);
        }
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    for (int i = 0; i < n; i++) {
        tell(&told[i]);
    }
}

long mpixq_graphs_sleep_ms(void)
{
    if (atomic_load(&mpixq_graphs_made.n_counted) == 0) {
        return -1;
    }
    return atomic_load(&mpixq_graphs_made.idle) > IDLE_LOOKS ? IDLE_MS : BUSY_MS;
}

void mpixq_graphs_refresh_slow(struct mpixq_pair *pair)
{
    (void)pair->channel->graphs->refresh(pair);
}

bool mpixq_graphs_have_started_slow(struct mpixq_pair *pair)
{
    mpixq_graphs_refresh_slow(pair);
    return is_under_way(atomic_load(&pair->counted)) && !mpixq_pair_has_failed(pair);
}

bool mpixq_graphs_any_wait(void)
{
    struct mpixq_counted *counted;

    if (atomic_load(&mpixq_graphs_made.n_counted) == 0) {
        return false;
    }
    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        if (!counted->is_halted && !is_still_at_rest(counted) &&
            mpixq_graphs_have_started(counted->pair)) {
            break;
        }
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
    return counted != NULL;
}

/* The end. */

void mpixq_graphs_forget(struct mpixq_pair *pair)
{
    struct mpixq_counted *counted = atomic_load(&pair->counted);

    if (counted != NULL) {
        mpixq_lock_acquire(&mpixq_graphs_made.lock);
        DL_DELETE(mpixq_graphs_made.counted, counted);
        mpixq_lock_release(&mpixq_graphs_made.lock);
        atomic_fetch_sub(&mpixq_graphs_made.n_counted, 1);
        atomic_store(&pair->counted, NULL);
        if (counted->tally != NULL) {
            mpixq_tally_free(counted->tally);
        }
        mpixq_free(counted);
    }
}

void mpixq_graphs_close(void)
{
    struct mpixq_counted *counted;
    struct graph *graph;

    mpixq_lock_acquire(&mpixq_graphs_made.lock);
    DL_FOREACH(mpixq_graphs_made.counted, counted)
    {
        counted->is_halted = true;
        counted->pair->channel->graphs->halt(counted->pair);
        if (counted->tally != NULL) {
            mpixq_tally_shut(counted->tally);
        }
        counted->n_graphs = counted->n_handles = 0;
    }
    while ((graph = mpixq_graphs_made.graphs) != NULL) {
        LL_DELETE(mpixq_graphs_made.graphs, graph);
        graph->is_over = true; /* freed when it is gone */
    }
    mpixq_lock_release(&mpixq_graphs_made.lock);
}
