/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What cost.sh runs under callgrind, with and without the library: a program that never matches.
 * For each function a short and a long loop, each with a dump of the counts of its own.
 * Argument 1: thread level asked for.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

enum { SHORT_RUN = 2000, LONG_RUN = 22000, MANY = 4 };

static MPI_Request r[MANY];
static int word[MANY];

static void start_wait(void)
{
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void startall_waitall(void)
{
    MPI_Startall(MANY, r);
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
}

/* On inactive requests these return at once: little of MPI, all of what is added. */
static void just_wait(void)
{
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void just_waitall(void)
{
    MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
}

static void just_waitany(void)
{
    int index;

    MPI_Waitany(MANY, r, &index, MPI_STATUS_IGNORE);
}

static void just_waitsome(void)
{
    int done;
    int indices[MANY];

    MPI_Waitsome(MANY, r, &done, indices, MPI_STATUSES_IGNORE);
}

static void just_test(void)
{
    int flag;

    MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
}

static void just_testall(void)
{
    int flag;

    MPI_Testall(MANY, r, &flag, MPI_STATUSES_IGNORE);
}

static void just_testany(void)
{
    int index;
    int flag;

    MPI_Testany(MANY, r, &index, &flag, MPI_STATUS_IGNORE);
}

static void just_testsome(void)
{
    int done;
    int indices[MANY];

    MPI_Testsome(MANY, r, &done, indices, MPI_STATUSES_IGNORE);
}

static void init_free(void)
{
    MPI_Request one;

    MPI_Send_init(&word[0], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &one);
    MPI_Request_free(&one);
}

/* calls: how many interposed calls one turn makes; the names go through the dumps to cost.sh. */
static const struct {
    const char *name;
    void (*turn)(void);
    int calls;
} turns[] = {
    {"start_wait", start_wait, 2}, {"startall_waitall", startall_waitall, 2},
    {"wait", just_wait, 1},        {"waitall", just_waitall, 1},
    {"waitany", just_waitany, 1},  {"waitsome", just_waitsome, 1},
    {"test", just_test, 1},        {"testall", just_testall, 1},
    {"testany", just_testany, 1},  {"testsome", just_testsome, 1},
    {"init_free", init_free, 2},
};

static void measure(size_t which, int times)
{
    char name[64];

    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < times; i++) {
        turns[which].turn();
    }
    (void)snprintf(name, sizeof(name), "%s/%d/%d", turns[which].name, turns[which].calls, times);
    CALLGRIND_DUMP_STATS_AT(name);
}

int main(int argc, char **argv)
{
    int level = argc > 1 ? atoi(argv[1]) : MPI_THREAD_SINGLE;
    int provided = 0;

    MPI_Init_thread(&argc, &argv, level, &provided);
    /* Messages to nobody: the same path through every layer, and always complete. */
    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(&word[i], 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD, &r[i]);
    }
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        turns[i].turn();
        measure(i, SHORT_RUN);
        measure(i, LONG_RUN);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Request_free(&r[i]);
    }
    MPI_Finalize();
    return 0;
}
