/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transpose.c - mpixq_transpose: a distributed matrix transposed by all ranks, as an FFT needs it
 *
 * Each rank has some rows of a matrix of complex numbers, as many as come out even or one more.
 * An iteration transposes it, and the next one transposes it back; every rank sends a block to each
 * rank, itself included. The blocks are of unequal size, and of none where ranks outnumber rows.
 *
 * Verification. Pack adds 1 to every element. After a trial each rank computes what its matrix was
 * before the last iteration, has MPI_Alltoallv transpose that, and compares element by element.
 */
#include "transpose.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 65536

struct program {
    struct bench_options opts;
    struct transpose tr;
    size_t rows, cols; /* 0: sizes rule */
};

static bool set_matrix(void *target, const char *value)
{
    struct program *prog = target;
    char rows[32];
    size_t length = strcspn(value, "x");

    if (length >= sizeof rows || value[length] != 'x') {
        return false;
    }
    memcpy(rows, value, length);
    rows[length] = '\0';
    return bench_parse_size(rows, &prog->rows) && bench_parse_size(value + length + 1, &prog->cols);
}

/* What rank 0 sends in an iteration, on the average of both ways. */
static size_t sent_bytes(const struct transpose *tr)
{
    unsigned long long bytes = 0;

    for (int number = 0; number < WAYS; number++) {
        bytes += transpose_elements(tr->ways[number].sends, tr->ranks) * sizeof(struct element);
    }
    bytes /= WAYS;
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    return (size_t)bytes;
}

static void measure_matrix(struct program *prog, size_t rows, size_t cols, double seconds,
                           struct bench_report *report)
{
    struct transpose *tr = &prog->tr;
    const struct bench_app app = {.bench = "transpose",
                                  .hops = 1,
                                  .messages = tr->ranks,
                                  .min_iterations = 2,
                                  .begin = transpose_begin,
                                  .run = transpose_run,
                                  .errors = transpose_errors,
                                  .bq = &tr->bq};
    struct bench_row measured[BENCH_NUM_MODES];
    int num;

    tr->rows = rows;
    tr->cols = cols;
    transpose_create(tr);
    transpose_open(tr, &prog->opts);
    num = bench_measure(&prog->opts, &app, tr, sent_bytes(tr), seconds, 0, measured);
    if (report->table != NULL) {
        fprintf(report->table, "matrix of %zu x %zu elements of 16 bytes\n", rows, cols);
    }
    bench_report_rows(report, measured, num);
    transpose_close(tr, &prog->opts);
    transpose_destroy(tr);
}

/* Counts of MPI are of type int. */
static bool fits(const struct bench_options *opts, size_t rows, size_t cols)
{
    if (rows > MAX_SIDE || cols > MAX_SIDE || rows * cols > INT_MAX) {
        bench_complain(opts, "matrix %zu x %zu is too large: at most %d a side, 2^31 - 1 elements",
                       rows, cols, MAX_SIDE);
        return false;
    }
    return true;
}

static bool options_fit(const struct program *prog)
{
    const struct bench_options *opts = &prog->opts;

    if (bench_on_device()) {
        bench_complain(opts, "--device: matrices are in memory of the host only");
        return false;
    }
    if (prog->tr.ranks > BENCH_MAX_PARTS) {
        bench_complain(opts, "at most %d ranks", BENCH_MAX_PARTS);
        return false;
    }
    for (int i = 0; prog->rows == 0 && i < opts->num_sizes; i++) {
        if (!fits(opts, opts->sizes[i], opts->sizes[i])) {
            return false;
        }
    }
    return fits(opts, prog->rows, prog->cols);
}

static int measure_all(struct program *prog)
{
    struct bench_report report;
    int num = prog->rows != 0 ? 1 : prog->opts.num_sizes;

    if (!bench_report_open(&report, &prog->opts, "transposition of a matrix, time of one",
                           prog->tr.ranks)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&prog->tr.bq, &prog->opts);
    for (int i = 0; i < num; i++) {
        size_t side = prog->opts.sizes[i];

        measure_matrix(prog, prog->rows != 0 ? prog->rows : side,
                       prog->rows != 0 ? prog->cols : side, prog->opts.seconds / num, &report);
    }
    bench_queue_close(&prog->tr.bq);
    return bench_report_close(&report, &prog->opts);
}

static void find_place(struct transpose *tr, struct bench_usage *usage)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &tr->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &tr->ranks);
    tr->peers = bench_alloc((size_t)tr->ranks * sizeof *tr->peers);
    for (int rank = 0; rank < tr->ranks; rank++) {
        tr->peers[rank] = rank;
    }
    usage->peers = tr->peers;
    usage->num_peers = tr->ranks;
}

/* All that need a device. */
static uint64_t lacking(void)
{
    uint64_t modes = BENCH_PIPELINED;

    for (int mode = BENCH_STREAM_GRAPH; mode < BENCH_PUT_MODES; mode++) {
        modes |= BENCH_BIT(mode);
    }
    return modes | BENCH_BARE | BENCH_BIT(BENCH_STREAM_PUT_GRAPH) | BENCH_BIT(BENCH_DEVICE_PUT);
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"matrix", "RxC", "one matrix of so many rows and columns, instead of --sizes",
         set_matrix}};
    static struct program prog = {.opts = {.program = "mpixq_transpose",
                                           .seconds = 10,
                                           .trials = 30,
                                           .use_mode = BENCH_USUAL_MODES,
                                           .verify = true}};
    struct bench_usage usage = {.summary =
                                    "A distributed matrix, transposed there and back by all ranks.",
                                .sizes_help = "sides of square matrices",
                                .extra = extra,
                                .num_extra = 1,
                                .target = &prog,
                                .lacking = lacking()};
    int provided, status;

    bench_parse_size_list("32,256,1K", prog.opts.sizes, &prog.opts.num_sizes);
    prog.opts.use_mode[BENCH_HOST_PUT] = prog.opts.use_mode[BENCH_STREAM_PUT] = true;
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    find_place(&prog.tr, &usage);
    if (bench_parse_options(&prog.opts, &usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&prog.opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (options_fit(&prog)) {
            status = measure_all(&prog);
        }
        bench_baselines_close(&prog.opts);
        bench_device_close();
    }
    free(prog.tr.peers);
    MPI_Finalize();
    return status;
}
