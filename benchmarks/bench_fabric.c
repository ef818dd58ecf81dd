/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_fabric.c - the channel that the matched requests go by: --channel and --fabric
 *
 * They are set as a user would set them, by the environment variables of the library and of
 * libfabric, and so before MPI_Init, where the library reads them.
 */
#include "bench.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of enum bench_channel and enum bench_fabric. */
static const char *const channel_names[] = {"auto", "cxi", "fallback", NULL};
static const char *const fabric_names[] = {"auto", "none", "sockets", "cxi", NULL};

static bool uses_double; /* of the NIC, from the build tree */

static bool find_name(const char *const names[], const char *text, int *index_p)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], text) == 0) {
            *index_p = i;
            return true;
        }
    }
    return false;
}

bool bench_parse_channel(const char *text, enum bench_channel *channel_p)
{
    int index;

    if (!find_name(channel_names, text, &index)) {
        return false;
    }
    *channel_p = (enum bench_channel)index;
    return true;
}

bool bench_parse_fabric(const char *text, enum bench_fabric *fabric_p)
{
    int index;

    if (!find_name(fabric_names, text, &index)) {
        return false;
    }
    *fabric_p = (enum bench_fabric)index;
    return true;
}

/* The folder of the double of the cxi provider, if this program was built and not installed, and
 * the double was built as well. libtool keeps the program in a folder of its own. */
static bool find_double(char path[PATH_MAX])
{
    static const char place[] = "/../tests/cxi_double/.libs", name[] = "/libcxi-fi.so";
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof place - sizeof name);
    char *slash;
    size_t used;
    bool found;

    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    slash = strrchr(path, '/');
    if (slash != NULL && strcmp(slash, "/.libs") == 0) {
        *slash = '\0';
    }
    strcat(path, place);
    used = strlen(path);
    strcat(path, name);
    found = access(path, R_OK) == 0;
    path[used] = '\0';
    return found;
}

/* libfabric looks for the provider in the double's folder. Ranks that have one launcher share a NIC
 * that no other program has. */
static void choose_double(void)
{
    char path[PATH_MAX], name[32];

    if (getenv("FI_PROVIDER_PATH") == NULL && find_double(path)) {
        uses_double = true;
        setenv("FI_PROVIDER_PATH", path, 1);
        setenv("FI_PROVIDER", "cxi", 1);
        snprintf(name, sizeof name, "bench-%ld", (long)getppid());
        setenv("CXI_DOUBLE_NAME", name, 0);
    }
}

static void set_channel(enum bench_channel channel)
{
    if (channel == BENCH_CHANNEL_CXI) {
        setenv("MPIXQ_CHANNELS", "cxi", 1);
    } else if (channel == BENCH_CHANNEL_FALLBACK) {
        setenv("MPIXQ_CHANNELS", "fallback", 1);
    }
}

static void set_fabric(enum bench_fabric fabric)
{
    setenv("MPIXQ_FABRIC", fabric_names[fabric], 1);
    if (fabric == BENCH_FABRIC_CXI) {
        choose_double();
    }
}

void bench_set_channel(int argc, char *argv[])
{
    static const struct option options[] = {
        {"channel", required_argument, NULL, 'c'}, {"fabric", required_argument, NULL, 'f'}, {0}};
    enum bench_channel channel;
    enum bench_fabric fabric;
    int option;

    opterr = 0; /* bench_parse_options tells of mistakes */
    while ((option = getopt_long(argc, argv, "-", options, NULL)) != -1) {
        if (option == 'c' && bench_parse_channel(optarg, &channel)) {
            set_channel(channel);
        } else if (option == 'f' && bench_parse_fabric(optarg, &fabric)) {
            set_fabric(fabric);
        }
    }
    optind = 0; /* anew, for bench_parse_options */
}

/* The code of making a queue that needs the fabric, on this rank. */
static int try_fabric(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int code;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL);
    if (code == MPI_SUCCESS) {
        MPIX_Queue_free(&queue);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return code;
}

/* Rank 0 tells what went wrong on the first rank on which something did. */
static bool all_have_fabric(const struct bench_options *opts)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int code = try_fabric(), rank, ranks, first, length;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    first = code == MPI_SUCCESS ? ranks : rank;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks) {
        return true;
    }
    if (rank == first) {
        MPI_Error_string(code, text, &length);
    }
    MPI_Bcast(text, sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    bench_complain(opts, "--channel %s --fabric %s cannot be used on rank %d: %s",
                   channel_names[opts->channel], fabric_names[opts->fabric], first, text);
    bench_complain(opts, "MPIXQ_LOG=info tells why");
    return false;
}

bool bench_check_channel(const struct bench_options *opts)
{
    bool has_fabric = opts->fabric == BENCH_FABRIC_SOCKETS || opts->fabric == BENCH_FABRIC_CXI;

    if ((opts->channel == BENCH_CHANNEL_CXI && opts->fabric == BENCH_FABRIC_NONE) ||
        (opts->channel == BENCH_CHANNEL_FALLBACK && has_fabric)) {
        bench_complain(opts, "--channel %s and --fabric %s contradict each other",
                       channel_names[opts->channel], fabric_names[opts->fabric]);
        return false;
    }
    return (opts->channel != BENCH_CHANNEL_CXI && !has_fabric) || all_have_fabric(opts);
}

void bench_print_channel(FILE *out, const struct bench_options *opts)
{
    const char *remark = "";

    if (uses_double) {
        remark = ", the double of the build tree, not a NIC: its times mean nothing";
    } else if (opts->fabric == BENCH_FABRIC_SOCKETS) {
        remark = ", a NIC in software: its times mean little";
    }
    fprintf(out, "channel: %s, fabric: %s%s\n", channel_names[opts->channel],
            fabric_names[opts->fabric], remark);
}
