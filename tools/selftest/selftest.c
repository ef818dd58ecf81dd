/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * selftest.c - the command line, the order of things, and giving up
 */
#include "selftest.h"

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "util/backoff.h"
#include "core/channels.h"
#include "util/facts.h"
#include "lib/lib.h"
#include "util/node.h"

enum { OPT_ALL = 'a', OPT_HELP = 'h', OPT_JSON = 'j', OPT_VERSION = 'V', OPT_SECONDS = 's' };
enum { OPT_NO_GPU = 256, OPT_TIMEOUT, OPT_PAIRS, OPT_SLOW };
enum { GRACE_S = 3, AT = 256 };

struct options opts = {.seconds = 10, .timeout_s = 120, .pairs = 28, .slow = 8};

static const struct option options[] = {
    {"all", no_argument, NULL, OPT_ALL},
    {"json", no_argument, NULL, OPT_JSON},
    {"no-gpu", no_argument, NULL, OPT_NO_GPU},
    {"pairs", required_argument, NULL, OPT_PAIRS},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"slow", required_argument, NULL, OPT_SLOW},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: [mpiexec -n RANKS] mpixq_selftest [OPTION]...\n"
    "\n"
    "Sends messages between neighbours, on all streams and channels that can be used here, checks\n"
    "every byte, times them, and says which channel serves, what is slow and why.\n"
    "\n"
    "  -a, --all          also each test by itself\n"
    "  -j, --json         as JSON, which has all of that\n"
    "      --no-gpu       look for no GPU\n"
    "      --pairs N      of each node, so many pairs besides neighbouring ranks (default: 28)\n"
    "  -s, --seconds S    about how long all tests take together; 0: as short as can be, and none\n"
    "                     is left out (default: 10)\n"
    "      --slow N       what takes N times as long as the best like it is slow; 0: no times are\n"
    "                     judged (default: 8)\n"
    "      --timeout S    give up after so many seconds; 0: never (default: 120)\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "Exit code: 0 all is well; 1 wrong data, an error, or the time of --timeout was over; 2 wrong\n"
    "usage; 3 all data are right, and something is slower than it could be.\n";

/* Two, in turn, as a signal may come while one is written. */
static char places[2][AT] = {"start"};
static const char *volatile at = places[0];
static volatile sig_atomic_t is_waiting;

void now_at(bool waiting, const char *format, ...)
{
    char *next = at == places[0] ? places[1] : places[0];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(next, AT, format, args);
    va_end(args);
    at = next;
    is_waiting = waiting;
}

void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "mpixq_selftest: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, BAD);
    }
    return memory;
}

static void write_text(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        _exit(BAD); /* there is nobody to tell */
    }
}

static void give_up(int signal)
{
    (void)signal;
    if (is_waiting) {
        is_waiting = 0;
        alarm(GRACE_S);
        return;
    }
    write_text("mpixq_selftest: gave up after the time of --timeout, at: ");
    write_text(at);
    write_text("\n");
    _exit(BAD);
}

static bool read_number(const char *option, const char *text, int least, int *number_p)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > 1000000) {
        fprintf(stderr, "mpixq_selftest: --%s %s is not a number from %d to 1000000\n", option,
                text, least);
        return false;
    }
    *number_p = (int)value;
    return true;
}

/* Exit code, or -1: go on. */
static int read_option(int option)
{
    switch (option) {
    case OPT_ALL:
        opts.all = true;
        return -1;
    case OPT_JSON:
        opts.json = true;
        return -1;
    case OPT_NO_GPU:
        opts.no_gpu = true;
        return -1;
    case OPT_PAIRS:
        return read_number("pairs", optarg, 0, &opts.pairs) ? -1 : WRONG_USAGE;
    case OPT_SECONDS:
        return read_number("seconds", optarg, 0, &opts.seconds) ? -1 : WRONG_USAGE;
    case OPT_SLOW:
        return read_number("slow", optarg, 0, &opts.slow) ? -1 : WRONG_USAGE;
    case OPT_TIMEOUT:
        return read_number("timeout", optarg, 0, &opts.timeout_s) ? -1 : WRONG_USAGE;
    case OPT_VERSION:
        printf("mpixq_selftest %s\n", PACKAGE_VERSION);
        return SUCCESS;
    case OPT_HELP:
        printf("%s", usage);
        return SUCCESS;
    default:
        fprintf(stderr, "mpixq_selftest: --help tells the options\n");
        return WRONG_USAGE;
    }
}

static int read_options(int argc, char **argv)
{
    int option, rc = -1;

    while (rc < 0 && (option = getopt_long(argc, argv, "ajs:Vh", options, NULL)) != -1) {
        rc = read_option(option);
    }
    if (rc < 0 && optind < argc) {
        fprintf(stderr, "mpixq_selftest: what is %s?\n", argv[optind]);
        rc = WRONG_USAGE;
    }
    return rc;
}

/* Of this rank. Whether the NIC is there is said also where a variable leaves the channel out. */
static void know_myself(struct who *who)
{
    const struct mpixq_channel *cxi = mpixq_channel_by_id(MPIXQ_CHANNEL_CXI);
    unsigned cpu, numa;

    who->node = mpixq_node_ident();
    who->numa = getcpu(&cpu, &numa) == 0 ? (int)numa : -1;
    who->has_nic = access("/sys/class/cxi", F_OK) == 0 ||
                   (cxi != NULL && strncmp(mpixq_channel_availability(cxi), "available", 9) == 0);
}

/* In the order of rounds. */
static void run_pairs(const struct plan *plan, struct lane lanes[LANES], struct rows *rows)
{
    struct budget budget = {.until = MPI_Wtime() + opts.seconds};
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < plan->n; i++) {
        budget.pairs += plan->pairs[i].low == rank || plan->pairs[i].high == rank;
    }
    for (int i = 0; i < plan->n; i++) {
        if (plan->pairs[i].low == rank || plan->pairs[i].high == rank) {
            trials_run(plan, &plan->pairs[i], lanes, budget, rows);
            budget.pairs--;
        }
    }
}

/* What is the matter with this rank, and not with a pair. */
struct own {
    char error[TEXT], slow[TEXT], nics[2 * TEXT];
    int is_crowded;
};

/* What the channel cxi says of its NICs: which are in use, the nearest first, and why these. */
struct nic_facts {
    struct mpixq_facts facts;
    char *text;
};

static void take_nic(struct mpixq_facts *facts, const char *name, const char *value, int detail)
{
    char *text = ((struct nic_facts *)facts)->text;
    size_t used = strlen(text), room = 2 * TEXT - used;
    const char *between = used > 0 ? ", " : "";

    (void)detail;
    if (strncmp(name, "NIC in use", strlen("NIC in use")) == 0) {
        (void)snprintf(text + used, room, "%s%s", between, value);
    } else if (strcmp(name, "GPU of the process") == 0) {
        (void)snprintf(text + used, room, "%sGPU %s", between, value);
    } else if (strcmp(name, "NICs left out") == 0) {
        (void)snprintf(text + used, room, "%sleft out: %s", between, value);
    }
}

static void look_at_nics(const struct who *who, struct own *own)
{
    struct nic_facts facts = {.facts = {.take = take_nic}, .text = own->nics};

    if (who->has_nic) {
        mpixq_channels_describe(&facts.facts);
    }
}

static void look_at_streams(struct lane lanes[LANES], struct own *own)
{
    lanes_ask(lanes);
    own->is_crowded = mpixq_backoff_yields();
    for (int i = 1; i < LANES; i++) {
        if (lanes[i].is_there && strcmp(lanes[i].by, "values") == 0) {
            (void)snprintf(own->slow, TEXT,
                           "streams of %s start and wait by values, not by kernels: processes "
                           "share the GPU without MPS, or MPIXQ_GPU_OPS says so, or there are no "
                           "kernels for it",
                           lane_stream(i));
        }
    }
}

/* Collective. */
static void gather_own(struct verdict *verdict, const struct plan *plan, const struct own *own)
{
    struct own *all = need(calloc((size_t)plan->ranks, sizeof *all));

    MPI_Gather(own, sizeof *own, MPI_BYTE, all, sizeof *own, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < plan->ranks; i++) {
        if (all[i].error[0] != '\0') {
            verdict_add_error(verdict, i, all[i].error);
        }
        if (all[i].nics[0] != '\0') {
            verdict_add_nics(verdict, i, all[i].nics);
        }
        if (all[i].slow[0] != '\0') {
            verdict_add_slow(verdict, i, all[i].slow);
        }
        if (all[i].is_crowded && opts.slow > 0) {
            verdict_add_slow(verdict, i,
                             "a node has more ranks than CPUs: threads that wait yield, and times "
                             "are not compared");
        }
        verdict->is_crowded = verdict->is_crowded || all[i].is_crowded;
    }
    free(all);
}

static void print_fact(struct mpixq_facts *facts, const char *name, const char *value, int detail)
{
    (void)facts;
    (void)detail;
    printf("  %-18s  %s\n", name, value);
}

static void print(const struct plan *plan, const struct rows *rows, const struct verdict *verdict)
{
    struct mpixq_facts facts = {.take = print_fact};

    if (opts.json) {
        print_json(plan, rows, verdict);
        return;
    }
    printf("mpixq_selftest %s: ranks: %d, nodes: %d\n", PACKAGE_VERSION, plan->ranks, plan->nodes);
    mpixq_lib_tell(&facts);
    printf("\n");
    print_text(plan, rows, verdict);
}

/* All ranks end with the same code, because launchers mix them. */
static int run(struct lane lanes[LANES])
{
    struct verdict verdict = {0};
    struct rows rows = {0};
    struct own own = {0};
    struct who who = {0};
    struct plan plan;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!lanes_open(lanes, &who, own.error) && own.error[0] == '\0') {
        (void)snprintf(own.error, TEXT, "a stream cannot be made");
    }
    know_myself(&who);
    now_at(true, "the other ranks, before the first test");
    plan_make(&plan, &who);
    run_pairs(&plan, lanes, &rows);
    look_at_streams(lanes, &own);
    look_at_nics(&who, &own);
    now_at(true, "the other ranks, after the last test");
    rows_gather(&rows);
    gather_own(&verdict, &plan, &own);
    if (rank == 0) {
        verdict_find(&verdict, &plan, &rows);
        verdict_settle(&verdict);
        print(&plan, &rows, &verdict);
        fflush(stdout);
    }
    MPI_Bcast(&verdict.rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    plan_free(&plan);
    verdict_free(&verdict);
    free(rows.list);
    return verdict.rc;
}

int main(int argc, char **argv)
{
    static struct lane lanes[LANES];
    int rc = read_options(argc, argv), is_up;

    if (rc >= 0) {
        return rc;
    }
    signal(SIGALRM, give_up);
    alarm((unsigned)opts.timeout_s);
    now_at(false, "MPI_Init");
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    is_up = mpixq_lib_is_up();
    MPI_Allreduce(MPI_IN_PLACE, &is_up, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (is_up) {
        rc = run(lanes);
    } else {
        fprintf(stderr, "mpixq_selftest: the library could not be set up on some rank\n");
        rc = BAD;
    }
    now_at(false, "the end of the streams, and MPI_Finalize");
    lanes_close(lanes);
    MPI_Finalize();
    lanes_free(lanes);
    return rc;
}
