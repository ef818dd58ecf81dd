/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_options.c - the command line of the benchmarks
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXTRA 8

enum {
    OPT_CSV = 256,
    OPT_SIZES,
    OPT_SECONDS,
    OPT_MODES,
    OPT_TRIALS,
    OPT_ENQUEUE,
    OPT_CHANNEL,
    OPT_FABRIC,
    OPT_DEVICE,
    OPT_NVSHMEM,
    OPT_BLOCKING_SYNC,
    OPT_VERIFY,
    OPT_NO_VERIFY
};
enum { OPT_HELP = 'h', OPT_EXTRA = 512 };

static const struct option common_options[] = {
    {"csv", optional_argument, NULL, OPT_CSV},
    {"sizes", required_argument, NULL, OPT_SIZES},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"modes", required_argument, NULL, OPT_MODES},
    {"trials", required_argument, NULL, OPT_TRIALS},
    {"enqueue", required_argument, NULL, OPT_ENQUEUE},
    {"channel", required_argument, NULL, OPT_CHANNEL},
    {"fabric", required_argument, NULL, OPT_FABRIC},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"nvshmem", required_argument, NULL, OPT_NVSHMEM},
    {"blocking-sync", no_argument, NULL, OPT_BLOCKING_SYNC},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"no-verify", no_argument, NULL, OPT_NO_VERIFY},
    {"help", no_argument, NULL, OPT_HELP},
};

#define NUM_COMMON ((int)(sizeof common_options / sizeof common_options[0]))

const char *const bench_mode_names[BENCH_NUM_MODES] = {
    [BENCH_MPI_BLOCKING] = "mpi-blocking",
    [BENCH_MPI_PERSISTENT] = "mpi-persistent",
    [BENCH_MPI_PIPELINED] = "mpi-pipelined",
    [BENCH_HOST] = "host",
    [BENCH_STREAM] = "stream",
    [BENCH_STREAM_READY] = "stream-ready",
    [BENCH_STREAM_GRAPH] = "stream-graph",
    [BENCH_STREAM_READY_GRAPH] = "stream-ready-graph",
    [BENCH_FUSED] = "stream-fused",
    [BENCH_FUSED_GRAPH] = "stream-fused-graph",
    [BENCH_STREAM_PIPELINED] = "stream-pipelined",
    [BENCH_STREAM_PIPELINED_GRAPH] = "stream-pipe-graph",
    [BENCH_MPI_AWARE] = "mpi-aware",
    [BENCH_MPI_AWARE_ONE] = "mpi-aware-one",
    [BENCH_PEER_COPY] = "peer-copy",
    [BENCH_PEER_COPY_ONE] = "peer-copy-one",
    [BENCH_NCCL] = "nccl",
    [BENCH_NCCL_ONE] = "nccl-one",
    [BENCH_NCCL_GRAPH] = "nccl-graph",
    [BENCH_NCCL_ONE_GRAPH] = "nccl-one-graph",
    [BENCH_NVSHMEM] = "nvshmem",
    [BENCH_NVSHMEM_ONE] = "nvshmem-one",
    [BENCH_NVSHMEM_GRAPH] = "nvshmem-graph",
    [BENCH_NVSHMEM_DEVICE] = "nvshmem-device",
    [BENCH_NVSHMEM_DEVICE_ONE] = "nvshmem-dev-one",
    [BENCH_NVSHMEM_FUSED] = "nvshmem-fused",
    [BENCH_NVSHMEM_LOOP] = "nvshmem-loop",
    [BENCH_PLAIN_COPY] = "plain-copy",
    [BENCH_ONE_KERNEL] = "one-kernel",
    [BENCH_DEVICE_LOOP] = "device-loop",
    [BENCH_MPI_PUT] = "mpi-put",
    [BENCH_MPI_PUT_ALLOC] = "mpi-put-alloc",
    [BENCH_HOST_PUT] = "host-put",
    [BENCH_STREAM_PUT] = "stream-put",
    [BENCH_HOST_PUT_ALLOC] = "host-put-alloc",
    [BENCH_STREAM_PUT_ALLOC] = "stream-put-alloc",
    [BENCH_STREAM_PUT_GRAPH] = "stream-put-graph",
    [BENCH_DEVICE_PUT] = "device-put",
    [BENCH_PUT_LOOP] = "put-loop",
};

void bench_complain(const struct bench_options *opts, const char *format, ...)
{
    int rank;
    va_list args;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        return;
    }
    va_start(args, format);
    fprintf(stderr, "%s: ", opts->program);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool bench_parse_int(const char *text, long low, long high, long *value_p)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) {
        return false;
    }
    *value_p = value;
    return true;
}

bool bench_parse_size(const char *text, size_t *size_p)
{
    static const char suffixes[] = "KMG";
    char *end;
    const char *suffix;
    unsigned long value;
    int shift = 0;

    if (*text < '0' || *text > '9') {
        return false; /* strtoul would accept a sign and blanks */
    }
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || value == 0) {
        return false;
    }
    if (*end != '\0') {
        suffix = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (suffix == NULL || end[1] != '\0') {
            return false;
        }
        shift = 10 * (int)(suffix - suffixes + 1);
    }
    if (value > (SIZE_MAX >> shift)) {
        return false;
    }
    *size_p = (size_t)value << shift;
    return true;
}

/* Call take for each part of a list with commas; an empty part is a mistake. */
static bool parse_list(const char *text, bool (*take)(void *target, const char *part), void *target)
{
    char part[64];

    for (;;) {
        size_t len = strcspn(text, ",");

        if (len == 0 || len >= sizeof part) {
            return false;
        }
        memcpy(part, text, len);
        part[len] = '\0';
        if (!take(target, part)) {
            return false;
        }
        if (text[len] == '\0') {
            return true;
        }
        text += len + 1;
    }
}

struct size_list {
    size_t *sizes;
    int num;
};

static bool take_size(void *target, const char *part)
{
    struct size_list *list = target;

    if (list->num == BENCH_MAX_SIZES) {
        return false;
    }
    return bench_parse_size(part, &list->sizes[list->num++]);
}

bool bench_parse_size_list(const char *text, size_t sizes[], int *num_p)
{
    struct size_list list = {.sizes = sizes};

    if (!parse_list(text, take_size, &list)) {
        return false;
    }
    *num_p = list.num;
    return true;
}

/* A mode by its name, or those of a group that were not named. */
static bool take_mode(void *target, const char *part)
{
    struct bench_options *opts = target;
    bool all = strcmp(part, "all") == 0, baselines = strcmp(part, "baselines") == 0;
    bool puts = strcmp(part, "put") == 0;

    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (strcmp(part, bench_mode_names[mode]) == 0) {
            opts->use_mode[mode] = true;
            opts->if_there[mode] = false;
            return true;
        }
        bool is_put = mode >= BENCH_PUT_MODES, is_baseline = mode >= BENCH_REQUEST_MODES;

        /* Not every message has the slots that this one needs. */
        if (!opts->use_mode[mode] && mode != BENCH_DEVICE_LOOP &&
            (all || (puts && is_put) || (baselines && is_baseline && !is_put))) {
            opts->use_mode[mode] = opts->if_there[mode] = true;
        }
    }
    return all || baselines || puts;
}

/* False: a mode was named that the program has not. */
static bool check_modes(struct bench_options *opts, uint64_t lacking)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && (lacking >> mode & 1) != 0) {
            opts->use_mode[mode] = false;
            if (!opts->if_there[mode]) {
                bench_complain(opts, "there is no mode %s here; see --help",
                               bench_mode_names[mode]);
                return false;
            }
        }
    }
    return true;
}

static bool parse_seconds(const char *text, double *seconds_p)
{
    char *end;
    double seconds = strtod(text, &end);

    /* The comparison is written so that it refuses a NaN. */
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 86400)) {
        return false;
    }
    *seconds_p = seconds;
    return true;
}

static bool parse_trials(const char *text, int *trials_p)
{
    long trials;

    if (!bench_parse_int(text, 1, BENCH_MAX_TRIALS, &trials)) {
        return false;
    }
    *trials_p = (int)trials;
    return true;
}

static bool set_common(struct bench_options *opts, int option, const char *value)
{
    switch (option) {
    case OPT_CSV:
        opts->csv = true;
        opts->csv_path = value;
        return value == NULL || *value != '\0';
    case OPT_SIZES:
        return bench_parse_size_list(value, opts->sizes, &opts->num_sizes);
    case OPT_SECONDS:
        return parse_seconds(value, &opts->seconds);
    case OPT_MODES:
        memset(opts->use_mode, 0, sizeof opts->use_mode);
        return parse_list(value, take_mode, opts);
    case OPT_TRIALS:
        return parse_trials(value, &opts->trials);
    case OPT_ENQUEUE:
        opts->each = strcmp(value, "each") == 0;
        opts->along = opts->each || strcmp(value, "along") == 0;
        return opts->along || strcmp(value, "ahead") == 0;
    case OPT_CHANNEL:
        return bench_parse_channel(value, &opts->channel);
    case OPT_FABRIC:
        return bench_parse_fabric(value, &opts->fabric);
    case OPT_DEVICE:
        return bench_parse_device(value, &opts->device);
    case OPT_BLOCKING_SYNC:
        opts->sleeps = true;
        return true;
    case OPT_NVSHMEM:
        opts->nvshmem = value;
        return true;
    default:
        opts->verify = option == OPT_VERIFY;
        return true;
    }
}

static void print_modes(const bool which[BENCH_NUM_MODES], char before)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (which[mode]) {
            printf("%c%s", before, bench_mode_names[mode]);
            before = ',';
        }
    }
}

/* Those between two that the program has. */
static void print_kind(const struct bench_usage *usage, int from, int to, char before)
{
    bool which[BENCH_NUM_MODES] = {false};

    for (int mode = from; mode < to; mode++) {
        which[mode] = (usage->lacking >> mode & 1) == 0;
    }
    print_modes(which, before);
}

static void print_mode_list(const struct bench_usage *usage)
{
    printf("\n  --modes LIST      of mpi-blocking,mpi-persistent,host,stream,stream-ready;\n"
           "                    also, where they are there,");
    if ((usage->lacking & BENCH_PIPELINED) == 0) {
        printf(" mpi-pipelined,stream-pipelined;\n                    with --device also");
        print_kind(usage, BENCH_STREAM_GRAPH, BENCH_STREAM_PIPELINED, ' ');
        print_kind(usage, BENCH_STREAM_PIPELINED_GRAPH, BENCH_REQUEST_MODES, ',');
    } else {
        printf(" put, which are");
        print_kind(usage, BENCH_PUT_MODES, BENCH_NUM_MODES, ' ');
        printf(";\n                    with --device also, for all that are there: baselines");
        print_kind(usage, BENCH_REQUEST_MODES, BENCH_PUT_MODES, ',');
    }
}

static void print_help(const struct bench_options *opts, const struct bench_usage *usage)
{
    printf("Usage: mpiexec -n RANKS %s [OPTION]...\n%s\n\n", opts->program, usage->summary);
    printf("  --sizes LIST      %s; suffixes K, M, G;\n                    default",
           usage->sizes_help);
    for (int i = 0; i < opts->num_sizes; i++) {
        printf("%s%zu", i == 0 ? " " : ",", opts->sizes[i]);
    }
    print_mode_list(usage);
    printf("; all;\n                    default");
    print_modes(opts->use_mode, ' ');
    printf(
        "\n"
        "  --seconds S       time for everything together (default %g)\n"
        "  --trials N        trials of each mode and size (default %d)\n"
        "  --enqueue WHEN    in the stream modes: ahead of the clock (default), or along with it;\n"
        "                    or each iteration when the one before is done\n"
        "  --channel NAME    of matched requests: auto (default), cxi or fallback\n"
        "  --fabric NAME     of the channel cxi: auto (default), none, sockets or cxi\n"
        "  --device NAME     where buffers lie and are packed: host (default), cuda or hip\n"
        "  --nvshmem FILE    kernels that put by NVSHMEM, made by benchmarks/nvshmem.sh\n"
        "  --blocking-sync   the host sleeps while it waits for the device, for the column cpu_us\n"
        "  --verify          check the data after every trial%s\n"
        "  --no-verify       do not%s\n"
        "  --csv[=FILE]      write CSV to stdout, or to FILE beside the table\n"
        "  --help            print this\n",
        opts->seconds, opts->trials, opts->verify ? " (default)" : "",
        opts->verify ? "" : " (default)");
    for (int i = 0; i < usage->num_extra; i++) {
        const struct bench_extra_option *extra = &usage->extra[i];

        printf("  --%s %-*s%s\n", extra->name, 15 - (int)strlen(extra->name),
               extra->value == NULL ? "" : extra->value, extra->help);
    }
}

/* The common options first, then the program's own, then the end mark that getopt_long needs. */
static void join_options(struct option *all, const struct bench_usage *usage)
{
    int num_extra = usage->num_extra < MAX_EXTRA ? usage->num_extra : MAX_EXTRA;

    memset(all, 0, (NUM_COMMON + MAX_EXTRA + 1) * sizeof *all);
    memcpy(all, common_options, sizeof common_options);
    for (int i = 0; i < num_extra; i++) {
        all[NUM_COMMON + i] = (struct option){
            usage->extra[i].name, usage->extra[i].value == NULL ? no_argument : required_argument,
            NULL, OPT_EXTRA + i};
    }
}

bool bench_parse_options(struct bench_options *opts, const struct bench_usage *usage, int argc,
                         char *argv[], int *exit_p)
{
    struct option all[NUM_COMMON + MAX_EXTRA + 1];
    struct bench_options defaults = *opts;
    int option, index = 0, rank;

    join_options(all, usage);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *exit_p = BENCH_EXIT_USAGE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", all, &index)) != -1) {
        bool valid;

        if (option == OPT_HELP) {
            if (rank == 0) {
                print_help(&defaults, usage);
            }
            *exit_p = BENCH_EXIT_OK;
            return false;
        }
        if (option == '?') {
            bench_complain(opts, "unknown or incomplete option '%s'; see --help", argv[optind - 1]);
            return false;
        }
        valid = option >= OPT_EXTRA ? usage->extra[option - OPT_EXTRA].set(usage->target, optarg)
                                    : set_common(opts, option, optarg);
        if (!valid) {
            bench_complain(opts, "--%s: '%s' is not valid; see --help", all[index].name, optarg);
            return false;
        }
    }
    if (optind < argc) {
        bench_complain(opts, "unexpected argument '%s'; see --help", argv[optind]);
        return false;
    }
    return check_modes(opts, usage->lacking) && bench_check_channel(opts) &&
           bench_device_open(opts) && bench_baselines_open(opts, usage);
}
