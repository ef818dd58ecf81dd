/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What match_linear.sh runs under callgrind: makes, matches and frees pairs within one process,
 * with a dump of the counts of each. The arguments are numbers of requests, half of them sends.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

#include "mpix_queue.h"

/* Which receives there are for sends with tags 0, 1, 2, ... or with equal ones, and which of the
 * two are matched first. */
struct scenario {
    const char *name;
    int distinct, reverse, any_source, any_tag, receives_first, block;
};

static const struct scenario scenarios[] = {
    {.name = "equal"},
    {.name = "distinct", .distinct = 1},
    {.name = "reverse", .distinct = 1, .reverse = 1},
    {.name = "reverse-posted", .distinct = 1, .reverse = 1, .receives_first = 1},
    {.name = "any-source", .distinct = 1, .reverse = 1, .any_source = 1},
    {.name = "any-source-posted",
     .distinct = 1,
     .reverse = 1,
     .any_source = 1,
     .receives_first = 1},
    {.name = "any-tag", .any_tag = 1},
    {.name = "any-posted", .any_tag = 1, .any_source = 1, .receives_first = 1},
    {.name = "blocks", .distinct = 1, .block = 100},
    {.name = "singles", .distinct = 1, .block = 1},
};

static int data;

static void make(const struct scenario *s, int n, MPI_Request send[], MPI_Request receive[])
{
    for (int i = 0; i < n; i++) {
        int tag = s->reverse ? n - 1 - i : i;

        MPI_Send_init(&data, 1, MPI_INT, 0, s->distinct ? i : 0, MPI_COMM_WORLD, &send[i]);
        MPI_Recv_init(&data, 1, MPI_INT, s->any_source ? MPI_ANY_SOURCE : 0,
                      s->any_tag    ? MPI_ANY_TAG
                      : s->distinct ? tag
                                    : 0,
                      MPI_COMM_WORLD, &receive[i]);
    }
}

static void match(const struct scenario *s, int n, MPI_Request first[], MPI_Request second[])
{
    MPI_Request all;
    int block = s->block > 0 ? s->block : n;

    MPIX_Imatchall(n, first, &all);
    for (int i = 0; i < n; i += block) {
        MPIX_Matchall(block, &second[i]);
    }
    MPI_Wait(&all, MPI_STATUS_IGNORE);
}

static void dump(const char *step, const struct scenario *s, int n)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%s-%s/%d", step, s->name, n);
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_ZERO_STATS;
}

static void measure(const struct scenario *s, int n)
{
    MPI_Request *send = malloc((size_t)n / 2 * sizeof(*send));
    MPI_Request *receive = malloc((size_t)n / 2 * sizeof(*receive));

    CALLGRIND_ZERO_STATS;
    make(s, n / 2, send, receive);
    dump("make", s, n);
    match(s, n / 2, s->receives_first ? receive : send, s->receives_first ? send : receive);
    dump("match", s, n);
    for (int i = 0; i < n / 2; i++) {
        MPI_Request_free(&send[i]);
        MPI_Request_free(&receive[i]);
    }
    dump("free", s, n);
    free(send);
    free(receive);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        for (int k = 1; k < argc; k++) {
            measure(&scenarios[i], atoi(argv[k]));
        }
    }
    MPI_Finalize();
    return 0;
}
