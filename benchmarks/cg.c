/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg.c - mpixq_cg: conjugate gradients, with a halo exchange and two reductions in an iteration, or
 * one in the pipelined form
 *
 * A matrix is divided by rows, as many for each rank as come out even or one more. Solves follow
 * each other: each begins at x = 0 and ends when the host sees that the residual is small enough,
 * at which it looks every so many iterations, or after as many as are allowed. A trial is a number
 * of iterations, of as many solves as it takes, so that all modes have the same work.
 *
 * Verification: after a trial rank 0 makes as many iterations alone, and compares (cg_check.c).
 */
#include "bench_collective.h"
#include "cg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct program {
    struct bench_options opts;
    const char *path; /* NULL: generated matrices */
    long stencil;
    struct matrix read; /* from the file, on every rank */
    struct cg cg;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool set_matrix(void *target, const char *value)
{
    ((struct program *)target)->path = value;
    return *value != '\0';
}

static bool set_stencil(void *target, const char *value)
{
    struct program *prog = target;

    return bench_parse_int(value, 5, 7, &prog->stencil) && prog->stencil != 6;
}

static bool set_every(void *target, const char *value)
{
    return bench_parse_int(value, 1, CG_MAX_EVERY, &((struct program *)target)->cg.every);
}

static bool set_iterations(void *target, const char *value)
{
    return bench_parse_int(value, 1, CG_MAX_ITERATIONS, &((struct program *)target)->cg.limit);
}

static bool set_tolerance(void *target, const char *value)
{
    double *tolerance = &((struct program *)target)->cg.tolerance;
    char *end;

    *tolerance = strtod(value, &end);
    return end != value && *end == '\0' && *tolerance >= 0 && *tolerance < 1;
}

/* ---- The matrix ------------------------------------------------------------------------------ */

static bool read_file(struct program *prog)
{
    char message[MATRIX_TEXT];
    FILE *file = fopen(prog->path, "r");
    bool valid;

    if (file == NULL) {
        bench_complain(&prog->opts, "--matrix: cannot open %s: %s", prog->path, strerror(errno));
        return false;
    }
    valid = matrix_read(file, prog->path, &prog->read, message);
    fclose(file);
    if (!valid) {
        bench_complain(&prog->opts, "--matrix: %s", message);
    }
    return valid;
}

/* Of the matrix that rank 0 has, to all. */
static void share(struct program *prog, size_t side, size_t entries)
{
    struct matrix *m = &prog->read;

    if (prog->cg.rank != 0) {
        *m = (struct matrix){.side = side, .rows = side};
        m->begin = bench_alloc((side + 1) * sizeof *m->begin);
        m->columns = bench_alloc(entries * sizeof *m->columns);
        m->values = bench_alloc(entries * sizeof *m->values);
    }
    MPI_Bcast(m->begin, (int)(side + 1), MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    MPI_Bcast(m->columns, (int)entries, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    MPI_Bcast(m->values, (int)entries, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Rank 0 reads, and tries whether it can be solved. Collective. */
static bool load_matrix(struct program *prog)
{
    struct cg *cg = &prog->cg;
    unsigned long sizes[2] = {0};
    long iteration = 0;

    if (cg->rank == 0 && read_file(prog)) {
        cg_reference_open(cg, &prog->read);
        if (cg_reference_solve(cg, &iteration)) {
            sizes[0] = prog->read.side;
            sizes[1] = prog->read.begin[prog->read.rows];
        } else {
            bench_complain(&prog->opts,
                           "--matrix: %s: the matrix is not positive definite, as iteration %ld "
                           "of a solve shows",
                           prog->path, iteration);
        }
        cg_reference_close(cg);
    }
    MPI_Bcast(sizes, 2, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    if (sizes[0] == 0) {
        matrix_free(&prog->read);
        return false;
    }
    share(prog, sizes[0], sizes[1]);
    return true;
}

static void *copy_part(const void *from, size_t bytes)
{
    return memcpy(bench_alloc(bytes), from, bytes);
}

/* Rows of what was read. */
static struct matrix cut(const struct matrix *read, size_t first, size_t rows)
{
    size_t begin = read->begin[first], entries = read->begin[first + rows] - begin;
    struct matrix m = {.side = read->side, .first = first, .rows = rows};

    m.begin = copy_part(read->begin + first, (rows + 1) * sizeof *m.begin);
    m.columns = copy_part(read->columns + begin, entries * sizeof *m.columns);
    m.values = copy_part(read->values + begin, entries * sizeof *m.values);
    for (size_t row = 0; row <= rows; row++) {
        m.begin[row] -= begin;
    }
    return m;
}

/* Some rows, of the file or of a generated one. */
static struct matrix take_rows(const struct program *prog, size_t side, size_t first, size_t rows)
{
    struct matrix m;

    if (prog->path != NULL) {
        return cut(&prog->read, first, rows);
    }
    matrix_poisson(&m, side, (int)prog->stencil, first, rows);
    return m;
}

/* ---- One after the other --------------------------------------------------------------------- */

static void measure_system(struct program *prog, size_t side, double seconds,
                           struct bench_report *report)
{
    struct cg *cg = &prog->cg;
    const struct bench_app app = {.bench = "cg",
                                  .hops = 1,
                                  .min_iterations = cg->every,
                                  .begin = cg_begin,
                                  .run = cg_run,
                                  .errors = cg_errors,
                                  .bq = &cg->bq};
    struct bench_row measured[BENCH_NUM_MODES];
    size_t first = cg_first(side, cg->rank, cg->ranks);
    struct matrix whole = {0};
    int num;

    cg->mine = take_rows(prog, side, first, cg_first(side, cg->rank + 1, cg->ranks) - first);
    if (prog->opts.verify && cg->rank == 0) {
        whole = take_rows(prog, side, 0, side);
        cg_reference_open(cg, &whole);
    }
    cg_divide(cg);
    cg_create(cg);
    cg_open(cg, &prog->opts);
    num = bench_measure(&prog->opts, &app, cg, cg_first(side, 1, cg->ranks), seconds, 0, measured);
    if (report->table != NULL) {
        fprintf(report->table, "matrix of %zu rows, %ld iterations in a trial\n", side,
                measured[0].iterations);
    }
    bench_report_rows(report, measured, num);
    cg_close(cg, &prog->opts);
    cg_destroy(cg);
    cg_unite(cg);
    cg_reference_close(cg);
    memset(cg->finished, 0, sizeof cg->finished);
    matrix_free(&whole);
    matrix_free(&cg->mine);
}

static bool options_fit(const struct program *prog)
{
    const struct bench_options *opts = &prog->opts;

    for (int i = 0; prog->path == NULL && i < opts->num_sizes; i++) {
        if (opts->sizes[i] > MATRIX_MAX_SIDE / (size_t)prog->cg.ranks) {
            bench_complain(opts, "--sizes: %zu rows for each of %d ranks are more than 2^30",
                           opts->sizes[i], prog->cg.ranks);
            return false;
        }
    }
    return true;
}

static int measure_all(struct program *prog)
{
    struct bench_report report;
    struct cg *cg = &prog->cg;
    int num = prog->path != NULL ? 1 : prog->opts.num_sizes;

    if (!bench_report_open(&report, &prog->opts,
                           "conjugate gradients, time of an iteration; bytes: rows of a rank", 0)) {
        return BENCH_EXIT_USAGE;
    }
    report.unit = "rows";
    bench_queue_open(&cg->bq, &prog->opts);
    for (int i = 0; i < num; i++) {
        size_t side =
            prog->path != NULL ? prog->read.side : prog->opts.sizes[i] * (size_t)cg->ranks;

        measure_system(prog, side, prog->opts.seconds / num, &report);
    }
    bench_queue_close(&cg->bq);
    return bench_report_close(&report, &prog->opts);
}

static int run_program(struct program *prog, int provided)
{
    int status;

    if (provided < MPI_THREAD_MULTIPLE) {
        bench_complain(&prog->opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        return BENCH_EXIT_USAGE;
    }
    if (!options_fit(prog) || (prog->path != NULL && !load_matrix(prog))) {
        return BENCH_EXIT_USAGE;
    }
    status = measure_all(prog);
    matrix_free(&prog->read);
    return status;
}

/* Of the modes only those of requests are there, and what an MPI without persistent collectives
 * leaves of them. */
static void choose_modes(struct bench_options *opts, struct bench_usage *usage)
{
    usage->lacking = BENCH_BIT(BENCH_FUSED) | BENCH_BIT(BENCH_FUSED_GRAPH);
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        usage->lacking |= BENCH_BIT(mode);
    }
    for (int mode = 0; mode <= BENCH_STREAM_READY; mode++) {
        opts->use_mode[mode] = true;
    }
    opts->use_mode[BENCH_STREAM_PIPELINED] = true;
    bench_leave_collectives(opts, usage, BENCH_HOST, "its own modes are");
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"matrix", "FILE", "one matrix in Matrix Market format, instead of --sizes", set_matrix},
        {"stencil", "N", "of generated matrices: 5 (default), or 7 in three dimensions",
         set_stencil},
        {"every", "N", "the host looks at the residual every N iterations (default 20)", set_every},
        {"iterations", "N", "a solve ends after so many (default 500),", set_iterations},
        {"tolerance", "R", "or with a residual of R times the right side (default 1e-8)",
         set_tolerance}};
    static struct program prog = {
        .opts = {.program = "mpixq_cg", .seconds = 10, .trials = 30, .verify = true},
        .stencil = 5,
        .cg = {.every = 20, .limit = 500, .tolerance = 1e-8}};
    struct bench_usage usage = {.summary =
                                    "Conjugate gradients on a matrix that is divided by rows.",
                                .sizes_help = "rows for each rank, of Poisson problems",
                                .extra = extra,
                                .num_extra = 5,
                                .target = &prog,
                                .peers = prog.cg.peers,
                                .num_peers = 2};
    int provided, status;

    bench_parse_size_list("512,4K,32K", prog.opts.sizes, &prog.opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &prog.cg.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &prog.cg.ranks);
    prog.cg.peers[0] = (prog.cg.rank + 1) % prog.cg.ranks;
    prog.cg.peers[1] = (prog.cg.rank + prog.cg.ranks - 1) % prog.cg.ranks;
    choose_modes(&prog.opts, &usage);
    if (bench_parse_options(&prog.opts, &usage, argc, argv, &status)) {
        status = run_program(&prog, provided);
        bench_baselines_close(&prog.opts);
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
