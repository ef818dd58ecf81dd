/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi.c - mpixq_jacobi: Laplace's equation by Jacobi's method, on a square grid that is cut into
 * stripes of rows, with a norm over all ranks now and then
 *
 * Each step makes every cell the mean of its four neighbours. The first row and the last one are
 * neighbours, as the ranks are in a ring; the border on the left and that on the right stay as they
 * are. What is summed up is the square of what the cells change by. Numbers are of 64 bits.
 *
 * Verification: each rank makes the same steps alone, and compares (jacobi_check.c).
 */
#include "bench_collective.h"
#include "jacobi.h"

#include <stdlib.h>

static bool set_every(void *target, const char *value)
{
    return bench_parse_int(value, 1, JACOBI_MAX_EVERY, &((struct jacobi *)target)->every);
}

/* A run has a norm at least, in whole batches. */
static long min_steps(const struct jacobi *jac)
{
    return (jac->every + BENCH_MAX_BATCH - 1) / BENCH_MAX_BATCH * BENCH_MAX_BATCH;
}

/* Modes that this size leaves out are there for the next one. */
static void measure_side(struct jacobi *jac, const struct bench_options *all, size_t side,
                         struct bench_report *report)
{
    const struct bench_app app = {.bench = "jacobi",
                                  .hops = 1,
                                  .min_iterations = min_steps(jac),
                                  .begin = jacobi_begin,
                                  .run = jacobi_run,
                                  .errors = jacobi_errors,
                                  .bq = &jac->bq};
    struct bench_options opts = *all;
    struct bench_row rows[BENCH_NUM_MODES];
    int num, left = 0;

    jacobi_create(jac, side);
    jacobi_open(jac, &opts);
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        left += opts.use_mode[mode];
    }
    if (left > 0) {
        num = bench_measure(&opts, &app, jac, side, opts.seconds / opts.num_sizes, 0, rows);
        if (report->table != NULL) {
            fprintf(report->table, "grid of %zu x %zu, norm at the end %.9e\n", side, side,
                    jac->norm);
        }
        bench_report_rows(report, rows, num);
    }
    bench_queue_renew(&jac->bq);
    jacobi_close(jac, &opts);
    jacobi_reference_close(jac);
    jacobi_destroy(jac);
}

static int measure_all(struct jacobi *jac, const struct bench_options *opts)
{
    struct bench_report report;
    char what[128];

    snprintf(what, sizeof what, "a step of Jacobi's method, a norm every %ld; bytes: cells a side",
             jac->every);
    if (!bench_report_open(&report, opts, what, 0)) {
        return BENCH_EXIT_USAGE;
    }
    report.unit = "cells a side";
    bench_queue_open(&jac->bq, opts);
    jac->bq.every = jac->every;
    for (int i = 0; i < opts->num_sizes; i++) {
        measure_side(jac, opts, opts->sizes[i], &report);
    }
    bench_queue_close(&jac->bq);
    return bench_report_close(&report, opts);
}

static bool options_fit(const struct jacobi *jac, const struct bench_options *opts)
{
    for (int i = 0; i < opts->num_sizes; i++) {
        if (opts->sizes[i] < 2 * (size_t)jac->ranks || opts->sizes[i] > JACOBI_MAX_SIDE) {
            bench_complain(opts,
                           "--sizes: %zu rows are fewer than 2 for each of %d ranks, or over %d",
                           opts->sizes[i], jac->ranks, JACOBI_MAX_SIDE);
            return false;
        }
    }
    if (opts->use_mode[BENCH_NVSHMEM] && !bench_nvshmem_has_sum()) {
        bench_complain(opts, "mode nvshmem cannot be used: there is no "
                             "nvshmemx_double_sum_reduce_on_stream");
        return false;
    }
    return true;
}

/* Of the baselines there are those that have sums, and what an MPI without persistent collectives
 * leaves of the others. */
static void choose_modes(const struct jacobi *jac, struct bench_options *opts,
                         struct bench_usage *usage)
{
    usage->lacking = BENCH_PIPELINED;
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        usage->lacking |= BENCH_BIT(mode);
    }
    for (int mode = BENCH_NCCL; mode <= BENCH_NVSHMEM; mode++) {
        usage->lacking &= ~BENCH_BIT(mode);
    }
    usage->lacking &= ~BENCH_BIT(BENCH_NVSHMEM_FUSED);
    if (jac->ranks > BENCH_JACOBI_RANKS) {
        usage->lacking |= BENCH_BIT(BENCH_FUSED) | BENCH_BIT(BENCH_FUSED_GRAPH);
    }
    bench_leave_collectives(opts, usage, BENCH_HOST, "its own modes are");
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"norm-every", "N", "a norm over all ranks every N steps (default 1)", set_every}};
    static struct jacobi jac = {.every = 1};
    static struct bench_options opts = {.program = "mpixq_jacobi",
                                        .seconds = 10,
                                        .trials = 30,
                                        .use_mode = BENCH_USUAL_MODES,
                                        .verify = true};
    struct bench_usage usage = {.summary = "Jacobi's method on a grid that is divided by rows.",
                                .sizes_help = "cells on a side of the grid of all ranks",
                                .extra = extra,
                                .num_extra = 1,
                                .target = &jac,
                                .peers = jac.peers,
                                .num_peers = JACOBI_DIRECTIONS};
    int provided, status;

    bench_parse_size_list("64,256", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &jac.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &jac.ranks);
    jac.peers[JACOBI_UP] = (jac.rank + jac.ranks - 1) % jac.ranks;
    jac.peers[JACOBI_DOWN] = (jac.rank + 1) % jac.ranks;
    choose_modes(&jac, &opts, &usage);
    if (bench_parse_options(&opts, &usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (options_fit(&jac, &opts)) {
            status = measure_all(&jac, &opts);
        }
        bench_baselines_close(&opts);
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
