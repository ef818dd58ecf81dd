/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_run.c - calibration and alternating trials
 *
 * A trial is a number of iterations from a barrier to the end of the slowest rank. The time of
 * a single iteration is never taken: in the stream modes the host does not see where one ends.
 */
#include "bench_queue.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIN_TRIALS 5
#define MAX_ITERATIONS 1000000
/* Share of the time that goes into warm-up and the choice of the number of iterations. */
#define CALIBRATION_SHARE 0.15
/* Runs of up to this many iterations are tried even if they take longer than they should. */
#define ALWAYS_TRIED 16
/* Length of the untimed run before each trial, in parts of the trial. */
#define WARM_UP_PART 4

struct run {
    const struct bench_options *opts;
    const struct bench_app *app;
    void *ctx;
    double *seconds[BENCH_NUM_MODES]; /* of each trial */
    struct bench_counts counts[BENCH_NUM_MODES];
    long errors[BENCH_NUM_MODES];
    double cpu; /* seconds of it that all runs took so far */
    long iterations;
    int trials;
};

const struct bench_mpi *bench_mpi(enum bench_mode mode)
{
    static const struct bench_mpi plain = {PMPI_Recv_init,   PMPI_Send_init, PMPI_Start,
                                           PMPI_Startall,    PMPI_Wait,      PMPI_Waitall,
                                           PMPI_Request_free};
    static const struct bench_mpi ours = {MPI_Recv_init,   MPI_Send_init, MPI_Start,
                                          MPI_Startall,    MPI_Wait,      MPI_Waitall,
                                          MPI_Request_free};
    static const struct bench_mpi ready = {MPI_Recv_init,   MPI_Rsend_init, MPI_Start,
                                           MPI_Startall,    MPI_Wait,       MPI_Waitall,
                                           MPI_Request_free};

    return bench_mode_is_ready(mode) ? &ready : bench_mode_is_matched(mode) ? &ours : &plain;
}

void *bench_alloc(size_t bytes)
{
    void *memory;
    size_t page = 4096;

    bytes = (bytes + page) / page * page; /* never 0 */
    memory = aligned_alloc(page, bytes);
    if (memory == NULL) {
        fprintf(stderr, "benchmark: cannot allocate %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
    return memset(memory, 0, bytes);
}

/* All threads of the process. */
static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double timed_run(struct run *run, enum bench_mode mode, long iterations)
{
    double elapsed, slowest, before;

    run->app->begin(run->ctx, mode);
    MPI_Barrier(MPI_COMM_WORLD);
    before = cpu_seconds();
    elapsed = run->app->run(run->ctx, mode, iterations);
    run->cpu += cpu_seconds() - before;
    /* Every rank must see the same time, since decisions follow from it. */
    MPI_Allreduce(&elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* Seconds of one iteration when nothing disturbs it: the best of runs of growing length, which also
 * warm up. Two of each length, since one alone may be interrupted for as long as is allowed. */
static double iteration_seconds(struct run *run, enum bench_mode mode, double allowed)
{
    double spent = 0, best = INFINITY, shortest = 0;
    long iterations = 1;

    while (iterations < MAX_ITERATIONS && shortest < allowed / 8 &&
           (spent < 2 * allowed || iterations <= ALWAYS_TRIED)) {
        double first = timed_run(run, mode, iterations);
        double second = timed_run(run, mode, iterations);

        shortest = fmin(first, second);
        spent += first + second;
        best = fmin(best, shortest / (double)iterations);
        iterations *= 2;
    }
    return best;
}

static bool any_graph(const struct bench_options *opts)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && bench_mode_is_graph((enum bench_mode)mode)) {
            return true;
        }
    }
    return false;
}

/* All modes get the same number of iterations, set by the slowest of them: equal work, and what is
 * fixed per trial weighs the same everywhere. */
static void choose_iterations(struct run *run, double seconds, int num_modes)
{
    double slowest = 0, trial;
    long least;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (run->opts->use_mode[mode]) {
            slowest = fmax(slowest, iteration_seconds(run, (enum bench_mode)mode,
                                                      CALIBRATION_SHARE * seconds / num_modes));
        }
    }
    if (run->iterations > 0) {
        return; /* was only a warm-up */
    }
    trial = (1 - CALIBRATION_SHARE) * seconds / (num_modes * run->opts->trials);
    trial *= WARM_UP_PART / (WARM_UP_PART + 1.0);
    run->iterations = (long)fmin(trial / fmax(slowest, 1e-9), MAX_ITERATIONS);
    /* A batch has a beginning and an end, which weigh little only if it is long. */
    least = bench_on_device() && run->app->min_iterations < BENCH_MAX_BATCH
                ? BENCH_MAX_BATCH
                : run->app->min_iterations;
    if (run->iterations < least) {
        run->iterations = least;
    }
    /* Whole batches, so that a graph is launched again and again and none is made of a rest. */
    if (any_graph(run->opts)) {
        run->iterations -= run->iterations % BENCH_MAX_BATCH;
    }
}

static void add_difference(struct bench_counts *sum, const struct bench_counts *before,
                           const struct bench_counts *after)
{
    sum->starts += after->starts - before->starts;
    sum->waits += after->waits - before->waits;
    sum->launches += after->launches - before->launches;
    sum->posts += after->posts - before->posts;
    sum->rings += after->rings - before->rings;
    sum->host += after->host - before->host;
    sum->cpu += after->cpu - before->cpu;
}

/* A mode that follows another finds its threads asleep, and the scheduler takes some milliseconds
 * until it has them on cores of their own. That belongs to the change of modes and not to either
 * of them, so it happens in an untimed run. */
static void run_trial(struct run *run, enum bench_mode mode)
{
    struct bench_counts before, after;

    timed_run(run, mode, run->iterations / WARM_UP_PART + 1);
    bench_queue_counts(run->app->bq, mode, &before);
    before.cpu = run->cpu;
    run->seconds[mode][run->trials] = timed_run(run, mode, run->iterations);
    bench_queue_counts(run->app->bq, mode, &after);
    after.cpu = run->cpu;
    add_difference(&run->counts[mode], &before, &after);
    if (run->opts->verify) {
        run->errors[mode] += run->app->errors(run->ctx, mode, run->iterations);
    }
}

/* Put the modes in random order, the same on every rank. */
static void shuffle(enum bench_mode order[BENCH_NUM_MODES], uint64_t *state)
{
    for (unsigned i = BENCH_NUM_MODES - 1; i > 0; i--) {
        unsigned other = (unsigned)(bench_random(state) % (i + 1));
        enum bench_mode swapped = order[i];

        order[i] = order[other];
        order[other] = swapped;
    }
}

/* In each round every mode has one trial; the order varies, so that none always follows the same
 * one. */
static void run_trials(struct run *run, double deadline)
{
    enum bench_mode order[BENCH_NUM_MODES];
    uint64_t state = 1;
    int more = 1;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        order[mode] = (enum bench_mode)mode;
    }

    while (run->trials < run->opts->trials && more) {
        shuffle(order, &state);
        for (int k = 0; k < BENCH_NUM_MODES; k++) {
            if (run->opts->use_mode[order[k]]) {
                run_trial(run, order[k]);
            }
        }
        run->trials++;
        more = run->trials < MIN_TRIALS || MPI_Wtime() < deadline;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* Mean over the ranks of what one iteration took. */
static struct bench_counts mean_counts(const struct run *run, enum bench_mode mode, int ranks)
{
    struct bench_counts sum;
    double per = 1.0 / ((double)run->iterations * run->trials * ranks);

    MPI_Allreduce(&run->counts[mode], &sum, (int)(sizeof sum / sizeof(double)), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    return (struct bench_counts){sum.starts * per, sum.waits * per, sum.launches * per,
                                 sum.posts * per,  sum.rings * per, sum.host * per,
                                 sum.cpu * per};
}

static void fill_row(const struct run *run, enum bench_mode mode, struct bench_row *row)
{
    double scale = 1e6 / ((double)run->iterations * run->app->hops);
    struct bench_summary s = bench_summarise(run->seconds[mode], run->trials);

    row->bench = run->app->bench;
    row->mode = mode;
    row->us = (struct bench_summary){s.median * scale, s.p99 * scale, s.ci95 * scale};
    row->iterations = run->iterations;
    row->trials = run->trials;
    MPI_Comm_size(MPI_COMM_WORLD, &row->ranks);
    row->per_iteration = mean_counts(run, mode, row->ranks);
    row->published = bench_published(mode, run->app->messages);
    bench_queue_channel(run->app->bq, mode, row->channel);
    MPI_Allreduce(&run->errors[mode], &row->errors, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

static int fill_rows(const struct run *run, size_t bytes, struct bench_row rows[])
{
    double base = NAN;
    int num = 0;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (!run->opts->use_mode[mode]) {
            continue;
        }
        rows[num].bytes = bytes;
        fill_row(run, (enum bench_mode)mode, &rows[num]);
        if (mode == BENCH_MPI_PERSISTENT) {
            base = rows[num].us.median;
        }
        num++;
    }
    for (int i = 0; i < num; i++) {
        rows[i].ratio = rows[i].us.median / base;
    }
    return num;
}

int bench_measure(const struct bench_options *opts, const struct bench_app *app, void *ctx,
                  size_t bytes, double seconds, long fixed_iterations,
                  struct bench_row rows[BENCH_NUM_MODES])
{
    struct run run = {.opts = opts, .app = app, .ctx = ctx, .iterations = fixed_iterations};
    double deadline = MPI_Wtime() + seconds;
    int num_modes = 0, num;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        num_modes += opts->use_mode[mode];
        run.seconds[mode] = bench_alloc((size_t)opts->trials * sizeof(double));
    }
    choose_iterations(&run, seconds, num_modes);
    run_trials(&run, deadline);
    num = fill_rows(&run, bytes, rows);
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        free(run.seconds[mode]);
    }
    return num;
}

void bench_mpi_pack(const struct bench_work *work, void *arg, void *staging, const void *memory,
                    size_t bytes)
{
    if (bench_on_device()) {
        work->launch(arg);
        bench_device_copy(staging, memory, bytes);
        bench_device_synchronize();
    } else {
        work->call(arg);
    }
}

void bench_mpi_unpack(const struct bench_work *work, void *arg, void *memory, const void *staging,
                      size_t bytes)
{
    if (bench_on_device()) {
        bench_device_copy(memory, staging, bytes);
        work->launch(arg);
    } else {
        work->call(arg);
    }
}
