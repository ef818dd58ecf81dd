/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench.h - what the benchmarks share: options, trials, statistics, tables
 *
 * A benchmark describes itself in a struct bench_app and calls bench_measure once per size. All
 * modes are measured in one process at one thread level, and the trials of the modes alternate, so
 * that whatever else the machine does falls on all of them alike.
 *
 * MPI errors need no handling here: the default error handler ends the program with a text.
 */
#ifndef MPIXQ_BENCH_H
#define MPIXQ_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mpix_queue.h>

#include "bench_baseline.h"
#include "bench_device.h"
#include "bench_fabric.h"
#include "bench_graph.h"

/* MPICH spells MPI_STATUSES_IGNORE as address 1, which gcc takes for an array without elements. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#define BENCH_MAX_SIZES 64
#define BENCH_MAX_TRIALS 10000
#define BENCH_CHANNEL_LEN 64

/* Exit codes; every rank exits with the same one, because launchers combine unequal codes. */
enum { BENCH_EXIT_OK = 0, BENCH_EXIT_WRONG_DATA = 1, BENCH_EXIT_USAGE = 2 };

#define BENCH_BIT(mode) (UINT64_C(1) << (mode))
#define BENCH_PIPELINED                                                                            \
    (BENCH_BIT(BENCH_MPI_PIPELINED) | BENCH_BIT(BENCH_STREAM_PIPELINED) |                          \
     BENCH_BIT(BENCH_STREAM_PIPELINED_GRAPH))

/* Of a ping-pong with --bare. */
#define BENCH_BARE                                                                                 \
    (BENCH_BIT(BENCH_PLAIN_COPY) | BENCH_BIT(BENCH_ONE_KERNEL) | BENCH_BIT(BENCH_DEVICE_LOOP) |    \
     BENCH_BIT(BENCH_NVSHMEM_LOOP) | BENCH_BIT(BENCH_PUT_LOOP))

/* For use_mode: what all programs measure unless told otherwise. */
#define BENCH_USUAL_MODES                                                                          \
    {                                                                                              \
        [BENCH_MPI_BLOCKING] = true, [BENCH_MPI_PERSISTENT] = true, [BENCH_HOST] = true,           \
        [BENCH_STREAM] = true, [BENCH_STREAM_READY] = true                                         \
    }

extern const char *const bench_mode_names[BENCH_NUM_MODES];

static inline bool bench_mode_is_stream(enum bench_mode mode)
{
    return mode >= BENCH_STREAM && mode < BENCH_REQUEST_MODES;
}

static inline bool bench_mode_is_ready(enum bench_mode mode)
{
    return mode == BENCH_STREAM_READY || mode == BENCH_STREAM_READY_GRAPH;
}

/* Starts and waits are in a kernel of the benchmark. */
static inline bool bench_mode_is_fused(enum bench_mode mode)
{
    return mode == BENCH_FUSED || mode == BENCH_FUSED_GRAPH;
}

static inline bool bench_mode_is_matched(enum bench_mode mode)
{
    return mode == BENCH_HOST || bench_mode_is_stream(mode);
}

/* The MPI functions of a mode. Those of the modes of plain MPI are called past the library, which
 * looks at every request of a program that has matched any: what it is compared with must not pay
 * for that. */
struct bench_mpi {
    int (*recv_init)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*send_init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*start)(MPI_Request *);
    int (*startall)(int, MPI_Request[]);
    int (*wait)(MPI_Request *, MPI_Status *);
    int (*waitall)(int, MPI_Request[], MPI_Status[]);
    int (*request_free)(MPI_Request *);
};

const struct bench_mpi *bench_mpi(enum bench_mode mode);

/* Running totals of one rank; the columns of the same names are differences of them. */
struct bench_counts {
    double starts;   /* requests started */
    double waits;    /* requests waited for */
    double launches; /* operations that the library submitted to the stream */
    double posts;    /* operations handed to MPI or a NIC */
    double rings;    /* words or counters written to trigger communication */
    double host;     /* seconds that the calls took which enqueue starts and waits */
    double cpu;      /* seconds of CPU time that all threads of the process took */
};

/* ---- Options (bench_options.c) --------------------------------------------------------------- */

struct bench_options {
    const char *program;
    size_t sizes[BENCH_MAX_SIZES];
    int num_sizes;
    double seconds; /* for all sizes and modes together */
    int trials;
    bool use_mode[BENCH_NUM_MODES];
    bool if_there[BENCH_NUM_MODES]; /* was not named by itself: may be left out */
    enum bench_channel channel;
    enum bench_fabric fabric;
    enum bench_device device;
    const char *nvshmem;  /* file with kernels; NULL: none */
    bool csv;             /* write CSV, to stdout unless csv_path is set */
    const char *csv_path; /* then the table goes to stdout as well */
    bool verify;
    bool along;  /* enqueue while the clock runs, rather than before, */
    bool sleeps; /* the host does, while it waits for the device */
    bool each;   /* and wait for each iteration before the next */
};

/* An option that only one program has. */
struct bench_extra_option {
    const char *name;
    const char *value; /* what its argument is called in the help text; NULL: it has none */
    const char *help;
    bool (*set)(void *target, const char *value); /* false: not a valid value */
};

struct bench_usage {
    const char *summary;    /* what the program does */
    const char *sizes_help; /* what a size is */
    const struct bench_extra_option *extra;
    int num_extra;
    void *target;     /* passed to set */
    uint64_t lacking; /* BENCH_BIT of each mode that the program does not have */
    /* Whom this rank sends to, and receives as much from, in MPI_COMM_WORLD. */
    const int *peers;
    int num_peers;
};

/* Parse a size: a number with an optional suffix K, M or G (powers of 1024). */
bool bench_parse_size(const char *text, size_t *size_p);
bool bench_parse_size_list(const char *text, size_t sizes[], int *num_p);

/* Parse a whole number in [low, high]. */
bool bench_parse_int(const char *text, long low, long high, long *value_p);

/* Parse the command line over the defaults in *opts. Returns false if the program is to end with
 * *exit_p: after --help, or after a mistake, which rank 0 has then explained. Call after MPI_Init,
 * on every rank. */
bool bench_parse_options(struct bench_options *opts, const struct bench_usage *usage, int argc,
                         char *argv[], int *exit_p);

/* ---- Statistics (bench_stats.c) -------------------------------------------------------------- */

struct bench_summary {
    double median;
    double p99;  /* nearest rank: with less than 100 trials the largest */
    double ci95; /* half of the width of the 95 % bootstrap interval of the median */
};

/* Pseudo-random numbers from a state that must not be 0. */
uint32_t bench_random(uint64_t *state);

struct bench_summary bench_summarise(const double values[], int num);

/* ---- Trials (bench_run.c) -------------------------------------------------------------------- */

struct bench_queue;

/* What a benchmark does in one mode. run gives the seconds that count. */
struct bench_app {
    const char *bench;   /* column bench */
    double hops;         /* the time of an iteration is divided by this */
    int messages;        /* that a rank sends and receives in an iteration */
    long min_iterations; /* on a device BENCH_MAX_BATCH (bench_queue.h), if that is more */
    void (*begin)(void *ctx, enum bench_mode mode); /* put the data in its first state */
    double (*run)(void *ctx, enum bench_mode mode, long iterations);
    long (*errors)(void *ctx, enum bench_mode mode, long iterations); /* wrong items after run */
    const struct bench_queue *bq;
};

struct bench_row {
    const char *bench;
    enum bench_mode mode;
    char channel[BENCH_CHANNEL_LEN];
    int ranks;
    size_t bytes;
    struct bench_summary us;
    double ratio; /* NAN where mpi-persistent was not measured */
    struct bench_counts per_iteration;
    struct bench_published published;
    long iterations; /* of each trial */
    int trials;
    long errors; /* wrong items in all trials and ranks */
};

/* Measure all wanted modes at one size in about the given time. A positive fixed_iterations sets
 * the length of a trial. Collective over MPI_COMM_WORLD. Returns the number of rows, which are the
 * same on every rank. */
int bench_measure(const struct bench_options *opts, const struct bench_app *app, void *ctx,
                  size_t bytes, double seconds, long fixed_iterations,
                  struct bench_row rows[BENCH_NUM_MODES]);

/* ---- Output (bench_report.c); rank 0 writes, all ranks may call ------------------------------ */

struct bench_report {
    FILE *table; /* NULL: none */
    FILE *csv;   /* NULL: none */
    const char *device;
    long errors; /* sum over the rows that were written */
    bool verify;
    const char *unit;       /* of the column bytes; NULL: bytes */
    int medians, uncertain; /* rows, and those whose interval is wide */
    /* Of a stream mode, with certain times: the size next to 64 KiB; no bytes if there was none. */
    struct bench_conclusion {
        enum bench_mode mode;
        size_t bytes;
        double ratio;
    } conclusion;
};

/* messages: that a rank sends and receives in an iteration. Returns false if the CSV file cannot be
 * written; the reason has been told. Collective. */
bool bench_report_open(struct bench_report *report, const struct bench_options *opts,
                       const char *what, int messages);
void bench_report_rows(struct bench_report *report, const struct bench_row rows[], int num);
/* For rows of one message: how fast it is, and to the copy that tells nobody. */
void bench_report_bandwidth(struct bench_report *report, const struct bench_row rows[], int num);
/* Returns the exit code of the program. Collective. */
int bench_report_close(struct bench_report *report, const struct bench_options *opts);

/* What an exchange consists of in each mode, with a device (bench_steps.c). */
void bench_print_steps(FILE *out, const struct bench_options *opts);

/* Print a message as rank 0 of MPI_COMM_WORLD. */
void bench_complain(const struct bench_options *opts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* malloc for buffers: page-aligned, zeroed, ends the program when there is no memory. */
void *bench_alloc(size_t bytes);

#endif
