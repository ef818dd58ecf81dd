/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_report.c - the table for people and the CSV for programs
 *
 * The columns of the CSV are an interface: scripts and plots read them.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define CSV_HEADER                                                                                 \
    "bench,mode,channel,device,ranks,bytes,median_us,p99_us,ci95_us,ratio,"                        \
    "starts,waits,launches,posts,rings,published_launches,published_posts,host_us,cpu_us\n"

static bool is_root(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

static void print_published(FILE *out, const struct bench_options *opts, int messages)
{
    const char *before = "published implementation (Bridges and others), per iteration:";

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        struct bench_published p = bench_published((enum bench_mode)mode, messages);

        if (opts->use_mode[mode] && p.posts > 0) {
            fprintf(out, "%s %s %d launches, %d posts", before, bench_mode_names[mode], p.launches,
                    p.posts);
            before = ";";
        }
    }
    fprintf(out, "%s", *before == ';' ? "\n" : "");
}

static void print_heading(FILE *out, const struct bench_options *opts, const char *what,
                          int messages)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, ranks, major, minor, patch;

    MPI_Get_library_version(mpi, &length);
    mpi[strcspn(mpi, ",\n")] = '\0'; /* what follows are build details */
    for (char *c = mpi; *c != '\0'; c++) {
        *c = *c == '\t' ? ' ' : *c;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPIXQ_Get_version(&major, &minor, &patch);
    fprintf(out, "%s %d.%d.%d: %s\n", opts->program, major, minor, patch, what);
    fprintf(out, "%s; ranks: %d, cores: %ld, MPI_THREAD_MULTIPLE, trials: up to %d\n", mpi, ranks,
            sysconf(_SC_NPROCESSORS_ONLN), opts->trials);
    bench_print_channel(out, opts);
    if (bench_on_device()) {
        fprintf(out, "device: %s; the modes of MPI copy to and from pinned memory\n",
                bench_device_names[opts->device]);
    }
    fprintf(out, "ci95: half width of the bootstrap interval of the median; ratio: to "
                 "mpi-persistent,\n~ where an interval is wider than a tenth of the time; last "
                 "seven columns: per iteration,\nmean of the ranks; host: of the calls that "
                 "enqueue; cpu: of all threads of a process\n");
    print_published(out, opts, messages);
    if (bench_on_device()) {
        bench_print_steps(out, opts);
    }
    fputc('\n', out);
    fprintf(out, "%9s %-18s %10s %10s %8s %8s  %-8s %6s %6s %8s %6s %6s %8s %8s\n", "bytes", "mode",
            "median us", "p99 us", "ci95 us", "ratio", "channel", "starts", "waits", "launches",
            "posts", "rings", "host us", "cpu us");
}

bool bench_report_open(struct bench_report *report, const struct bench_options *opts,
                       const char *what, int messages)
{
    int error = 0;

    *report =
        (struct bench_report){.verify = opts->verify, .device = bench_device_names[opts->device]};
    if (is_root()) {
        if (opts->csv_path != NULL) {
            report->csv = fopen(opts->csv_path, "w");
            error = report->csv == NULL ? errno : 0;
        } else if (opts->csv) {
            report->csv = stdout;
        }
        report->table = report->csv == stdout ? NULL : stdout;
    }
    MPI_Bcast(&error, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (error != 0) {
        bench_complain(opts, "cannot write %s: %s", opts->csv_path, strerror(error));
        return false;
    }
    if (report->table != NULL) {
        print_heading(report->table, opts, what, messages);
    }
    if (report->csv != NULL) {
        fputs(CSV_HEADER, report->csv);
    }
    return true;
}

/* Did the machine do so much else that the median says little? */
static bool is_uncertain(const struct bench_row *row)
{
    return row->us.ci95 > 0.1 * row->us.median;
}

static void print_table_row(FILE *out, const struct bench_row *row, bool first, bool uncertain)
{
    const struct bench_counts *c = &row->per_iteration;
    char bytes[24] = "", ratio[24] = "-", host[24] = "-";

    if (first) {
        snprintf(bytes, sizeof bytes, "%zu", row->bytes);
    }
    if (!isnan(row->ratio)) {
        snprintf(ratio, sizeof ratio, "%s%.2f", uncertain ? "~" : "", row->ratio);
    }
    if (bench_mode_is_enqueued(row->mode)) {
        snprintf(host, sizeof host, "%.2f", c->host * 1e6);
    }
    fprintf(out,
            "%9s %-18s %10.2f %10.2f %8.2f %8s  %-8s %6.2f %6.2f %8.2f %6.2f %6.2f %8s %8.2f\n",
            bytes, bench_mode_names[row->mode], row->us.median, row->us.p99, row->us.ci95, ratio,
            row->channel, c->starts, c->waits, c->launches, c->posts, c->rings, host, c->cpu * 1e6);
    if (row->errors != 0) {
        fprintf(out, "%9s WRONG DATA: %ld items\n", "", row->errors);
    }
}

static void print_csv_row(FILE *out, const struct bench_row *row, const char *device)
{
    const struct bench_counts *c = &row->per_iteration;
    char ratio[24] = "", published[32] = ",", host[24] = "";

    if (!isnan(row->ratio)) {
        snprintf(ratio, sizeof ratio, "%.4f", row->ratio);
    }
    if (row->published.posts > 0) {
        snprintf(published, sizeof published, "%d,%d", row->published.launches,
                 row->published.posts);
    }
    if (bench_mode_is_enqueued(row->mode)) {
        snprintf(host, sizeof host, "%.4f", c->host * 1e6);
    }
    fprintf(out, "%s,%s,%s,%s,%d,%zu,%.4f,%.4f,%.4f,%s,%.3f,%.3f,%.3f,%.3f,%.3f,%s,%s,%.4f\n",
            row->bench, bench_mode_names[row->mode], row->channel, device, row->ranks, row->bytes,
            row->us.median, row->us.p99, row->us.ci95, ratio, c->starts, c->waits, c->launches,
            c->posts, c->rings, published, host, c->cpu * 1e6);
}

static const struct bench_row *row_of(const struct bench_row rows[], int num, enum bench_mode mode)
{
    for (int i = 0; i < num; i++) {
        if (rows[i].mode == mode) {
            return &rows[i];
        }
    }
    return NULL;
}

/* The fastest form of a baseline, and how the stream modes compare with it. */
static void print_best(FILE *out, const struct bench_row rows[], int num,
                       const struct bench_baseline *by)
{
    const struct bench_row *best = NULL;

    for (int i = 0; i < num; i++) {
        if (bench_mode_is_baseline(rows[i].mode) && bench_baseline(rows[i].mode) == by &&
            !bench_mode_loops(rows[i].mode) &&
            (best == NULL || rows[i].us.median < best->us.median)) {
            best = &rows[i];
        }
    }
    if (best == NULL) {
        return;
    }
    fprintf(out, "%9s best of %s: %s %.2f", "", by->name, bench_mode_names[best->mode],
            best->us.median);
    for (int mode = BENCH_STREAM; mode < BENCH_REQUEST_MODES; mode++) {
        const struct bench_row *row = row_of(rows, num, (enum bench_mode)mode);

        if (row != NULL) {
            fprintf(out, "; %s to it: %.2f", bench_mode_names[mode],
                    row->us.median / best->us.median);
        }
    }
    fputc('\n', out);
}

void bench_report_bandwidth(struct bench_report *report, const struct bench_row rows[], int num)
{
    const struct bench_row *plain = row_of(rows, num, BENCH_PLAIN_COPY);

    if (report->table == NULL) {
        return;
    }
    fprintf(report->table, "%9s GB/s:", "");
    for (int i = 0; i < num; i++) {
        fprintf(report->table, "%s %s %.1f", i == 0 ? "" : ",", bench_mode_names[rows[i].mode],
                (double)rows[i].bytes / rows[i].us.median / 1e3);
        if (plain != NULL) {
            fprintf(report->table, " (%.2f)", plain->us.median / rows[i].us.median);
        }
    }
    fputc('\n', report->table);
}

/* The sizes next to 64 KiB, where both latency and bandwidth count. */
static void conclude(struct bench_report *report, const struct bench_row *row)
{
    struct bench_conclusion *c = &report->conclusion;
    bool is_stream = row->mode == BENCH_STREAM || row->mode == BENCH_STREAM_READY;
    double here = fabs(log((double)row->bytes / 65536));
    double there = c->bytes == 0 ? INFINITY : fabs(log((double)c->bytes / 65536));

    if (is_stream && !isnan(row->ratio) &&
        (here < there || (here == there && row->mode < c->mode))) {
        *c = (struct bench_conclusion){.mode = row->mode, .bytes = row->bytes, .ratio = row->ratio};
    }
}

void bench_report_rows(struct bench_report *report, const struct bench_row rows[], int num)
{
    const struct bench_row *base = row_of(rows, num, BENCH_MPI_PERSISTENT);

    for (int i = 0; i < num; i++) {
        bool uncertain = is_uncertain(&rows[i]);

        report->errors += rows[i].errors;
        report->medians++;
        report->uncertain += uncertain;
        uncertain = uncertain || (base != NULL && is_uncertain(base));
        if (!uncertain) {
            conclude(report, &rows[i]);
        }
        if (report->table != NULL) {
            print_table_row(report->table, &rows[i], i == 0, uncertain);
        }
        if (report->csv != NULL) {
            print_csv_row(report->csv, &rows[i], report->device);
        }
    }
    if (report->table != NULL) {
        print_best(report->table, rows, num, &bench_aware);
        print_best(report->table, rows, num, &bench_peer);
        print_best(report->table, rows, num, &bench_nccl);
        print_best(report->table, rows, num, &bench_nvshmem);
        fflush(report->table); /* a long run shows where it is */
    }
}

/* What it showed, in one line. Times of a machine that is busy show nothing. */
static void print_conclusion(const struct bench_report *report, const struct bench_options *opts)
{
    const struct bench_conclusion *c = &report->conclusion;
    char data[40] = "", times[120] = "";

    if (report->verify) {
        snprintf(data, sizeof data, ": %s", report->errors == 0 ? "data verified" : "DATA WRONG");
    }
    if (3 * report->uncertain > report->medians) {
        snprintf(times, sizeof times,
                 "%s too busy a machine: %d of %d times are uncertain by more than a tenth",
                 report->verify ? ";" : ":", report->uncertain, report->medians);
    } else if (c->bytes > 0) {
        bool kib = report->unit == NULL && c->bytes % 1024 == 0;
        const char *unit = report->unit == NULL ? "bytes" : report->unit;

        snprintf(times, sizeof times, "%s %s takes %.2f of the time of mpi-persistent at %zu %s",
                 report->verify ? ";" : ":", bench_mode_names[c->mode], c->ratio,
                 kib ? c->bytes / 1024 : c->bytes, kib ? "KiB" : unit);
    }
    if (*data != '\0' || *times != '\0') {
        fprintf(report->table, "\n%s%s%s\n", opts->program, data, times);
    }
}

int bench_report_close(struct bench_report *report, const struct bench_options *opts)
{
    int written = 1;

    if (report->table != NULL) {
        print_conclusion(report, opts);
    }
    if (report->csv != NULL) {
        written = report->csv == stdout ? fflush(stdout) == 0 : fclose(report->csv) == 0;
    }
    MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!written) {
        bench_complain(opts, "cannot write all of the CSV");
        return BENCH_EXIT_USAGE;
    }
    if (report->errors != 0) {
        bench_complain(opts, "%ld items had wrong data", report->errors);
        return BENCH_EXIT_WRONG_DATA;
    }
    return BENCH_EXIT_OK;
}
