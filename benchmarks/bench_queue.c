/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_queue.c - the queue of the stream modes, and what the library counted on it
 */
#include "bench_queue.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(BENCH_GRAPH % 2 == 0,
               "a graph ends with the set of buffers that it did not begin with");
_Static_assert(BENCH_MAX_BATCH == 2 * BENCH_GRAPH,
               "a batch is a graph that is timed behind one that is not");

static void get_value(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int flag;

    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    if (!flag) {
        fprintf(stderr, "benchmark: MPIX_Queue_get_info does not tell %s\n", key);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}

static double get_count(MPI_Info info, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];

    get_value(info, key, value);
    return strtod(value, NULL);
}

static long read_depth(const struct bench_queue *bq)
{
    MPI_Info info;
    double depth;

    MPIX_Queue_get_info(bq->queue, &info);
    depth = get_count(info, "mpixq_stream_depth");
    MPI_Info_free(&info);
    return (long)depth;
}

/* A launch on a device waits when so many operations are queued, and nobody tells how many; then
 * the gate would never be opened. Of an iteration there are at most BENCH_MAX_BATCH: it has two
 * kernels of the benchmark, and what a start and a wait of any number of requests take, with
 * copies, which are four. */
enum { DEVICE_DEPTH = 256, LOOP_BATCH = 1000 };

int bench_queue_on_device(MPIX_Queue *queue_p)
{
    void *stream = bench_device_stream();
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", bench_device_kind());
    rc = MPIX_Queue_init_info(queue_p, MPIX_QUEUE_AUTO, &stream, info);
    MPI_Info_free(&info);
    return rc;
}

static void open_on_device(struct bench_queue *bq)
{
    bench_queue_on_device(&bq->queue);
}

static void open_on_host(struct bench_queue *bq)
{
    MPIX_Host_stream_create(&bq->stream);
    MPIX_Queue_init(&bq->queue, MPIX_QUEUE_AUTO, &bq->stream);
}

void bench_queue_open(struct bench_queue *bq, const struct bench_options *opts)
{
    bool enqueued = false, stream = false;

    *bq = (struct bench_queue){
        .stream = MPIX_HOST_STREAM_NULL, .queue = MPIX_QUEUE_NULL, .comm = MPI_COMM_NULL};
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        stream |= opts->use_mode[mode] && bench_mode_is_queued((enum bench_mode)mode);
        enqueued |= opts->use_mode[mode] && bench_mode_is_enqueued((enum bench_mode)mode);
    }
    if (stream) {
        (bench_on_device() ? open_on_device : open_on_host)(bq);
        bq->depth = read_depth(bq);
    }
    if (enqueued) {
        MPI_Comm_dup(MPI_COMM_WORLD, &bq->comm);
        bq->along = opts->along;
        bq->each = opts->each;
        sem_init(&bq->open, 0, 0);
    }
}

void bench_queue_renew(struct bench_queue *bq)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        bq->ran[mode] = false;
    }
    for (int i = 0; i < bq->num_graphs; i++) {
        bench_graph_free(bq->graphs[i].graph);
    }
    free(bq->graphs);
    bq->graphs = NULL;
    bq->num_graphs = 0;
}

void bench_queue_close(struct bench_queue *bq)
{
    if (bq->queue != MPIX_QUEUE_NULL) {
        MPIX_Queue_free(&bq->queue);
        if (bq->stream != MPIX_HOST_STREAM_NULL) {
            MPIX_Host_stream_destroy(&bq->stream);
        }
    }
    if (bq->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&bq->comm);
        sem_destroy(&bq->open);
    }
}

static long batch_of(struct bench_queue *bq, enum bench_mode mode, int operations)
{
    /* Room for the gate, the end, and what an app does once per batch. */
    long depth = bench_mode_is_queued(mode) ? bq->depth : DEVICE_DEPTH;
    long iterations = (depth - 8) / operations / 2 * 2;

    if (bench_mode_loops(mode)) {
        return LOOP_BATCH; /* has no operations but one */
    }
    if (bench_on_device() && (bench_mode_is_graph(mode) || iterations > BENCH_MAX_BATCH)) {
        iterations = BENCH_MAX_BATCH;
    }
    if (iterations >= 2) {
        return iterations;
    }
    bq->along = true; /* nothing can be enqueued ahead on a stream this short */
    return 2;
}

/* Runs on the stream. It sleeps until the host has enqueued everything, then meets the other
 * ranks. */
static void gate(void *arg)
{
    struct bench_queue *bq = arg;

    while (sem_wait(&bq->open) != 0) {
    }
    MPI_Barrier(bq->comm);
    bq->began = MPI_Wtime();
}

static void end(void *arg)
{
    struct bench_queue *bq = arg;

    bq->ended = MPI_Wtime();
}

void bench_queue_work(const struct bench_queue *bq, const struct bench_work *work, void *arg)
{
    if (bench_on_device()) {
        work->launch(arg);
    } else {
        MPIX_Host_stream_launch(bq->stream, work->call, arg);
    }
}

void bench_link_work(const struct bench_queue *bq, enum bench_mode mode,
                     const struct bench_work *work, void *arg)
{
    if (bench_on_device() || bench_mode_is_enqueued(mode)) {
        bench_queue_work(bq, work, arg);
    } else {
        work->call(arg);
    }
}

static void launch(const struct bench_queue *bq, void (*fn)(void *), void *arg)
{
    if (bench_on_device()) {
        bench_device_call(fn, arg);
    } else {
        MPIX_Host_stream_launch(bq->stream, fn, arg);
    }
}

static void hold(struct bench_queue *bq, bool along)
{
    launch(bq, gate, bq);
    if (along) {
        sem_post(&bq->open);
    }
}

static void synchronize(const struct bench_queue *bq)
{
    if (bench_on_device()) {
        bench_device_synchronize();
    } else {
        MPIX_Host_stream_synchronize(bq->stream);
    }
}

void bench_queue_step(const struct bench_queue *bq)
{
    if (bq->each && !bq->captures) {
        synchronize(bq);
    }
}

void bench_queue_wait(struct bench_queue *bq)
{
    synchronize(bq);
    if (bq->queue != MPIX_QUEUE_NULL) {
        MPIX_Queue_wait(bq->queue); /* tells whether all went well */
    }
}

static double release(struct bench_queue *bq, bool along)
{
    if (bench_on_device()) {
        bench_device_mark(BENCH_MARK_END);
    } else {
        launch(bq, end, bq);
    }
    if (!along) {
        sem_post(&bq->open);
    }
    bench_queue_wait(bq);
    return bench_on_device() ? bench_device_marked() : bq->ended - bq->began;
}

/* The graph of so many iterations from the position on; NULL: there is none yet. */
static void *find_graph(const struct bench_queue *bq, enum bench_mode mode, long iterations)
{
    long phase = bq->every > 0 ? bq->position % bq->every : 0;

    for (int i = 0; i < bq->num_graphs; i++) {
        const struct bench_kept_graph *kept = &bq->graphs[i];

        if (kept->mode == mode && kept->iterations == iterations && kept->phase == phase) {
            return kept->graph;
        }
    }
    return NULL;
}

/* When it is first needed. Nothing is held meanwhile. */
static void make_graph(struct bench_queue *bq, enum bench_mode mode, long iterations,
                       bench_enqueue *enqueue, void *ctx)
{
    struct bench_counts before = bq->own;
    struct bench_kept_graph *kept;

    if (find_graph(bq, mode, iterations) != NULL) {
        return;
    }
    kept = realloc(bq->graphs, (size_t)(bq->num_graphs + 1) * sizeof *kept);
    bench_need("keep a graph", kept == NULL);
    bq->graphs = kept;
    kept += bq->num_graphs++;
    kept->mode = mode;
    kept->iterations = iterations;
    kept->phase = bq->every > 0 ? bq->position % bq->every : 0;
    bq->captures = true;
    bench_graph_begin();
    enqueue(ctx, mode, iterations);
    kept->graph = bench_graph_end();
    bq->captures = false;
    bq->own = before;
}

static long graph_of(long iterations)
{
    return iterations < BENCH_GRAPH ? iterations : BENCH_GRAPH;
}

/* Those that so many iterations take, as launch_graphs launches them: one as often as it fits, and
 * one of the rest. */
static void make_graphs(struct bench_queue *bq, enum bench_mode mode, long iterations,
                        bench_enqueue *enqueue, void *ctx)
{
    for (long n; iterations > 0; iterations -= n) {
        n = graph_of(iterations);
        make_graph(bq, mode, n, enqueue, ctx);
        bq->position += n;
    }
}

static void launch_graphs(struct bench_queue *bq, enum bench_mode mode, long iterations)
{
    for (long n; iterations > 0; iterations -= n) {
        double before = MPI_Wtime();

        n = graph_of(iterations);
        bench_graph_launch(find_graph(bq, mode, n));
        bq->position += n;
        bench_calls_end(bq, before);
        bq->own.launches += 1;
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(bq);
        }
    }
}

/* Put iterations on the stream, of which there may be none. */
static void put(struct bench_queue *bq, enum bench_mode mode, long iterations,
                bench_enqueue *enqueue, void *ctx)
{
    if (bench_mode_is_graph(mode)) {
        launch_graphs(bq, mode, iterations);
    } else if (iterations > 0) {
        enqueue(ctx, mode, iterations);
        bq->position += iterations;
    }
}

/* How many come first on a device and are not timed, so that the ranks run in step and nothing is
 * counted that the gate leaves behind; the others stand for them. */
static long untimed(enum bench_mode mode, long iterations)
{
    if (!bench_on_device() || iterations < 4) {
        return 0;
    }
    /* The whole graph, where that leaves as much: no other one is needed then. */
    return bench_mode_is_graph(mode) && iterations >= 2 * BENCH_GRAPH ? BENCH_GRAPH : 2;
}

static double run_batch(struct bench_queue *bq, enum bench_mode mode, long iterations,
                        bench_enqueue *enqueue, void *ctx)
{
    /* What a library does when it is used first may wait for the stream. */
    bool along = bq->along || (bench_mode_is_baseline(mode) && !bq->ran[mode]);
    long first = untimed(mode, iterations), timed = iterations - first, position = bq->position;
    double seconds;

    if (bench_mode_is_graph(mode)) {
        make_graphs(bq, mode, first, enqueue, ctx);
        make_graphs(bq, mode, timed, enqueue, ctx);
        bq->position = position;
    }
    bq->ran[mode] = true;
    hold(bq, along);
    put(bq, mode, first, enqueue, ctx);
    if (bench_on_device()) {
        bench_device_mark(BENCH_MARK_BEGIN);
    }
    put(bq, mode, timed, enqueue, ctx);
    seconds = release(bq, along);
    return seconds * (double)iterations / (double)timed;
}

double bench_queue_run(struct bench_queue *bq, enum bench_mode mode, long iterations,
                       int operations, bench_enqueue *enqueue, void *ctx)
{
    long batch = batch_of(bq, mode, operations), n;
    double seconds = 0;

    bq->position = 0;
    for (; iterations > 0; iterations -= n) {
        n = iterations < batch ? iterations : batch;
        seconds += run_batch(bq, mode, n, enqueue, ctx);
    }
    return seconds;
}

void bench_queue_counts(const struct bench_queue *bq, enum bench_mode mode,
                        struct bench_counts *counts)
{
    MPI_Info info;

    *counts = bq->own;
    /* The queue counts what is enqueued, and nothing of it when a graph or a kernel is launched. */
    if (!bench_mode_is_queued(mode) || bench_mode_is_graph(mode) || mode == BENCH_FUSED ||
        bench_mode_loops(mode)) {
        return;
    }
    MPIX_Queue_get_info(bq->queue, &info);
    if (bench_mode_is_stream(mode)) {
        counts->starts = get_count(info, "mpixq_starts");
        counts->waits = get_count(info, "mpixq_waits");
    }
    counts->launches = get_count(info, "mpixq_launches");
    counts->posts = get_count(info, "mpixq_posts");
    counts->rings = get_count(info, "mpixq_rings");
    MPI_Info_free(&info);
}

/* The column names one channel. Messages to the own rank are not what is measured, so "self" gives
 * way to another; several others are joined by '+', since a comma would end the column. */
void bench_queue_name_channels(MPIX_Queue queue, char name[BENCH_CHANNEL_LEN])
{
    char value[MPI_MAX_INFO_VAL + 1], *save = NULL;
    MPI_Info info;

    MPIX_Queue_get_info(queue, &info);
    get_value(info, "mpixq_channels", value);
    MPI_Info_free(&info);
    name[0] = '\0';
    for (char *part = strtok_r(value, ", ", &save); part != NULL;
         part = strtok_r(NULL, ", ", &save)) {
        size_t used = strlen(name);

        if (strcmp(part, "self") != 0) {
            snprintf(name + used, BENCH_CHANNEL_LEN - used, "%s%s", used == 0 ? "" : "+", part);
        }
    }
    if (name[0] == '\0') {
        snprintf(name, BENCH_CHANNEL_LEN, "self");
    }
}

/* Of what graphs and kernels start the queue tells nothing, see above. */
void bench_queue_channel(const struct bench_queue *bq, enum bench_mode mode,
                         char name[BENCH_CHANNEL_LEN])
{
    if (bench_mode_is_stream(mode) && !bench_mode_is_graph(mode) && mode != BENCH_FUSED) {
        bench_queue_name_channels(bq->queue, name);
        return;
    }
    snprintf(name, BENCH_CHANNEL_LEN, "%s",
             bench_mode_is_baseline(mode) ? bench_baseline(mode)->name
             : bench_mode_is_stream(mode) ? bench_graph_channel(mode)
             : mode == BENCH_HOST         ? "matched"
                                          : "mpi");
}
