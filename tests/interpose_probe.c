/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What interpose.sh links in several ways: exchanges messages through a queue, or finds that the
 * library says that MPI calls do not come by it. As a whole program, or with -DPROBE_LIBRARY the
 * part for a shared library and with -DPROBE_MAIN the rest of that program.
 * Argument 1: works or refused; argument 2: the number of MPI_Send_init calls that a tool saw. The
 * variable TAKER is what the error is to name.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PROBE_LIBRARY
#include <mpi.h>
#endif

int probe_run(int argc, char **argv);

#ifndef PROBE_MAIN
#include "mpix_queue.h"

enum { PAIRS = 3, TIMES = 5 };

static int wrong;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not true: %s\n", what);
        wrong = 1;
    }
}

static void expect_works(MPI_Request r[2 * PAIRS], const int in[PAIRS], const int out[PAIRS])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    expect(MPIX_Matchall(2 * PAIRS, r) == MPI_SUCCESS, "the requests are matched");
    if (MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL) != MPI_SUCCESS) {
        /* Under LD_PRELOAD alone the thread level is what the program asked for. */
        expect(0, "there is a queue");
        return;
    }
    for (int t = 0; t < TIMES; t++) {
        expect(MPIX_Enqueue_startall(queue, 2 * PAIRS, r) == MPI_SUCCESS, "starts");
        expect(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r) == MPI_SUCCESS, "waits");
    }
    expect(MPIX_Queue_wait(queue) == MPI_SUCCESS, "everything completes");
    expect(memcmp(in, out, sizeof(int) * PAIRS) == 0, "the data has come");
    expect(MPIX_Queue_free(&queue) == MPI_SUCCESS, "the queue is freed");
}

static void expect_refused_code(int code, const char *what)
{
    const char *taker = getenv("TAKER") != NULL ? getenv("TAKER") : "";
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int kind = -1;

    expect(code != MPI_SUCCESS, what);
    MPIX_Error_kind(code, &kind);
    expect(kind == MPIXQ_ERR_INTERPOSE, "the kind is MPIXQ_ERR_INTERPOSE");
    MPI_Error_string(code, text, &length);
    if (strstr(text, "link") == NULL || strstr(text, "LD_PRELOAD") == NULL ||
        strstr(text, "mpixq_first.o") == NULL || strstr(text, taker) == NULL) {
        fprintf(stderr, "%s: the text names no cause or no cure: %s\n", what, text);
        wrong = 1;
    }
}

static void expect_refused(MPI_Request r[2 * PAIRS])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request match = MPI_REQUEST_NULL;

    expect_refused_code(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL), "no queue");
    expect_refused_code(MPIX_Match(&r[0]), "no match");
    expect_refused_code(MPIX_Imatchall(2 * PAIRS, r, &match), "no nonblocking match");
    expect(queue == MPIX_QUEUE_NULL && match == MPI_REQUEST_NULL, "nothing was created");
}

/* The tool exports a counter. */
static void expect_tool(int calls)
{
    union {
        void *object;
        int (*function)(void);
    } tool = {.object = dlsym(RTLD_DEFAULT, "probe_tool_calls")};

    expect(tool.object != NULL, "the tool is loaded");
    if (tool.object != NULL && tool.function() != calls) {
        fprintf(stderr, "the tool saw %d calls, expected %d\n", tool.function(), calls);
        wrong = 1;
    }
}

int probe_run(int argc, char **argv)
{
    int works = argc > 1 && strcmp(argv[1], "works") == 0;
    int in[PAIRS] = {0};
    int out[PAIRS] = {11, 22, 33};
    MPI_Request r[2 * PAIRS];
    int provided = 0;
    int rank = 0;
    int size = 0;
    int all = 1;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect(getenv("MPIXQ_TEST_RANKS") == NULL || atoi(getenv("MPIXQ_TEST_RANKS")) == size,
           "the number of ranks is the promised one");
    for (int i = 0; i < PAIRS; i++) {
        int peer = size - 1 - rank;
        __typeof__(MPI_Send_init) *volatile by_address = MPI_Send_init;

        MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]);
        by_address(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[PAIRS + i]);
    }
    if (works) {
        expect_works(r, in, out);
    } else {
        expect_refused(r);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        MPI_Request_free(&r[i]);
    }
    if (argc > 2) {
        expect_tool(atoi(argv[2]));
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return all;
}
#endif

#ifndef PROBE_LIBRARY
int main(int argc, char **argv)
{
    int version = 0;
    int subversion = 0;

    /* A call that no library but MPI defines, so that the program itself needs MPI. */
    MPI_Get_version(&version, &subversion);
    return probe_run(argc, argv);
}
#endif
