/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * info.c - the command line, and the order of things
 */
#include <getopt.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "core/channels.h"
#include "util/env.h"
#include "lib/lib.h"
#include "util/node.h"
#include "info.h"

enum { FAILED = 1, WRONG_USAGE = 2, TOO_LATE = 3 };
enum { OPT_ALL = 'a', OPT_HELP = 'h', OPT_JSON = 'j', OPT_VERSION = 'V' };
enum { OPT_NO_MPI = 256, OPT_NO_GPU, OPT_TIMEOUT };

static const struct option options[] = {
    {"all", no_argument, NULL, OPT_ALL},
    {"json", no_argument, NULL, OPT_JSON},
    {"no-gpu", no_argument, NULL, OPT_NO_GPU},
    {"no-mpi", no_argument, NULL, OPT_NO_MPI},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static struct {
    bool all, json, no_gpu, no_mpi;
    unsigned timeout_s, shown; /* 0: for ever; sections, as bits */
} opts = {.timeout_s = 120};

static const char usage[] =
    "usage: [mpiexec -n RANKS] mpixq_info [OPTION]... [SECTION]...\n"
    "\n"
    "Says what the library has, finds and would use here; of all ranks together.\n"
    "Sections: build run channels serves gpus fabric variables (default: all).\n"
    "\n"
    "  -a, --all          also the help of the variables, and the domains of each provider\n"
    "  -j, --json         as JSON, which has all of that\n"
    "      --no-gpu       look for no GPU\n"
    "      --no-mpi       do without MPI_Init: nothing is asked that needs MPI\n"
    "      --timeout S    give up after so many seconds; 0: never (default: 120)\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "Exit code: 0 all was found out; 1 the library cannot be used here; 2 wrong usage; 3 timeout;\n"
    "others are those of MPI_Init, if that ends the program.\n";

static const char *volatile at = "start";
static volatile bool in_mpi_init;

void now_at(const char *what)
{
    at = what;
}

static void write_text(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        _exit(TOO_LATE); /* there is nobody to tell */
    }
}

static void give_up(int signal)
{
    (void)signal;
    write_text("mpixq_info: gave up after the time of --timeout, at: ");
    write_text(at);
    write_text(in_mpi_init ? " (--no-mpi does without)\n" : "\n");
    _exit(TOO_LATE);
}

/* MPI ends the program when it cannot start. */
static void explain_end(void)
{
    if (in_mpi_init) {
        write_text("mpixq_info: MPI_Init has ended the program: --no-mpi does without it\n");
    }
}

static bool choose_section(const char *name)
{
    for (int i = 0; i < SECTIONS; i++) {
        if (strcmp(name, section_names[i]) == 0) {
            opts.shown |= 1u << i;
            return true;
        }
    }
    fprintf(stderr, "mpixq_info: there is no section %s\n", name);
    return false;
}

static bool choose_timeout(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < 0 || value > 1000000) {
        fprintf(stderr, "mpixq_info: --timeout %s is not a number from 0 to 1000000\n", text);
        return false;
    }
    opts.timeout_s = (unsigned)value;
    return true;
}

/* Exit code, or -1: go on. */
static int read_option(int option)
{
    switch (option) {
    case OPT_ALL:
        opts.all = true;
        break;
    case OPT_JSON:
        opts.json = true;
        break;
    case OPT_NO_GPU:
        opts.no_gpu = true;
        break;
    case OPT_NO_MPI:
        opts.no_mpi = true;
        break;
    case OPT_TIMEOUT:
        return choose_timeout(optarg) ? -1 : WRONG_USAGE;
    case OPT_VERSION:
        printf("mpixq_info %s\n", PACKAGE_VERSION);
        return 0;
    case OPT_HELP:
        printf("%s", usage);
        return 0;
    default:
        fprintf(stderr, "mpixq_info: --help tells the options\n");
        return WRONG_USAGE;
    }
    return -1;
}

static int read_options(int argc, char **argv)
{
    int option, rc = -1;

    while (rc < 0 && (option = getopt_long(argc, argv, "ajVh", options, NULL)) != -1) {
        rc = read_option(option);
    }
    for (; rc < 0 && optind < argc; optind++) {
        rc = choose_section(argv[optind]) ? -1 : WRONG_USAGE;
    }
    opts.shown = opts.shown == 0 ? ~0u : opts.shown;
    return rc;
}

static bool wants(enum section section)
{
    return (opts.shown & 1u << section) != 0;
}

static void start_mpi(void)
{
    in_mpi_init = true;
    now_at("MPI_Init");
    MPI_Init(NULL, NULL);
    in_mpi_init = false;
}

/* How many nodes there are: each has one rank that is its first. */
static void tell_run(struct mpixq_facts *facts)
{
    int first = mpixq_node_rank() == 0, nodes = 0, ranks;

    MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    mpixq_fact(facts, "ranks", "%d", ranks);
    mpixq_fact(facts, "nodes", "%d", nodes);
    mpixq_lib_tell(facts);
}

/* First that GPUs are used, as the rest depends on that; then pairs, which open NICs. */
static bool look_around(struct report *report)
{
    bool any = true;

    if (opts.no_gpu) {
        mpixq_fact(report_of(report, GPUS), "GPUs", "not looked for (--no-gpu)");
    } else {
        tell_gpus(report_of(report, GPUS), opts.no_mpi ? 0 : mpixq_node_rank());
    }
    if (opts.no_mpi) {
        mpixq_fact(report_of(report, SERVES), "not known", "pairs are matched by MPI (--no-mpi)");
    } else {
        now_at("a match of requests, to find out which channel serves");
        any = tell_serves(report_of(report, SERVES));
    }
    mpixq_channels_tell(report_of(report, CHANNELS));
    now_at("libfabric");
    if (mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) == NULL) {
        mpixq_fact(report_of(report, FABRIC), "libfabric", "not in this build");
    }
    if (wants(FABRIC)) {
        mpixq_channels_describe(report_of(report, FABRIC));
    }
    return any;
}

static bool find_out(struct report *report)
{
    bool any;

    tell_build(report_of(report, BUILD));
    if (opts.no_mpi) {
        mpixq_env_read();
        mpixq_fact(report_of(report, RUN), "MPI", "not started (--no-mpi)");
    } else {
        tell_run(report_of(report, RUN));
    }
    any = look_around(report);
    report_variables(report);
    return any;
}

static void print(struct report *report)
{
    if (opts.json) {
        print_json(report, opts.shown);
    } else {
        print_text(report, opts.shown, opts.all);
    }
}

/* All ranks agree on the exit code, because launchers mix them. */
static int with_mpi(struct report *report)
{
    int rank, is_good;

    start_mpi();
    is_good = mpixq_lib_is_up();
    MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is_good) {
        is_good = find_out(report);
        now_at("the gathering of the report");
        report_merge(report);
        MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (rank == 0) {
            print(report);
        }
    } else if (rank == 0) {
        fprintf(stderr, "mpixq_info: the library could not be set up on some rank\n");
    }
    now_at("MPI_Finalize");
    MPI_Finalize();
    gpus_close();
    return is_good ? 0 : FAILED;
}

int main(int argc, char **argv)
{
    struct report report;
    int rc = read_options(argc, argv);

    if (rc >= 0) {
        return rc;
    }
    report_init(&report);
    signal(SIGALRM, give_up);
    alarm(opts.timeout_s);
    atexit(explain_end);
    if (opts.no_mpi) {
        (void)find_out(&report);
        report_alone(&report);
        print(&report);
        rc = 0;
    } else {
        rc = with_mpi(&report);
    }
    report_free(&report);
    return rc;
}
