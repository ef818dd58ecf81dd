/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What interpose.sh links in several ways: exchanges messages through a queue, or finds that the
 * library says that MPI calls do not come by it. As a whole program, or with -DPROBE_LIBRARY the
 * part for a shared library and with -DPROBE_MAIN the rest of that program.
 * Argument 1: works or refused; argument 2: the number of MPI_Send_init calls that a tool saw,
 * which then saw the other functions as well. The variable TAKER is what the error is to name,
 * SERVER in which file the functions are to be that the program calls.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PROBE_LIBRARY
#include <mpi.h>
#endif

int probe_run(int argc, char **argv);

#ifndef PROBE_MAIN
#include "collective_names.h"
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

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

/* Whom calls of a name from anywhere come to. */
static void expect_served(const char *name)
{
    const char *server = getenv("SERVER");
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info info = {0};

    if (server != NULL && (found == NULL || dladdr(found, &info) == 0 || info.dli_fname == NULL ||
                           strstr(info.dli_fname, server) == NULL)) {
        fprintf(stderr, "%s is in %s, expected %s\n", name,
                info.dli_fname != NULL ? info.dli_fname : "nobody", server);
        wrong = 1;
    }
}

#if HAVE_COLLECTIVES
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static void run_and_free(MPI_Request r[], int n)
{
    expect(MPI_Startall(n, r) == MPI_SUCCESS, "collectives are started");
    expect(MPI_Waitall(n, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "they complete");
    for (int i = 0; i < n; i++) {
        MPI_Request_free(&r[i]);
    }
}

/* Among all, and among the neighbours of a ring of two. */
static void make_collectives(int rank, MPI_Comm ring, MPI_Op op)
{
    const int one[] = {1, 1}, at[] = {0, 1}, mine[] = {rank + 1, rank + 1};
    int all[2] = {0}, sum = 0, root = rank, to[2] = {0}, from[2] = {0};
    MPI_Request r[6];

    COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    COLLECTIVE(Bcast_init)(&root, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    COLLECTIVE(Allreduce_init)(mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
    COLLECTIVE(Allgather_init)
    (mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r[3]);
    COLLECTIVE(Neighbor_alltoall_init)
    (mine, 1, MPI_INT, to, 1, MPI_INT, ring, MPI_INFO_NULL, &r[4]);
    COLLECTIVE(Neighbor_alltoallv_init)
    (mine, one, at, MPI_INT, from, one, at, MPI_INT, ring, MPI_INFO_NULL, &r[5]);
    run_and_free(r, 6);
    expect(root == 1 && sum == 3 && all[0] == 1 && all[1] == 2, "among all the data has come");
    expect(to[0] == 2 - rank && to[1] == 2 - rank, "so it has among neighbours");
    expect(from[0] == 2 - rank && from[1] == 2 - rank, "and with counts");
}

static void expect_collectives(int rank, MPI_Op op)
{
    const int two = 2, around = 1;
    MPI_Comm ring = MPI_COMM_NULL;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &around, 0, &ring);
    make_collectives(rank, ring, op);
    MPI_Comm_free(&ring);
    expect_served(TEXT(COLLECTIVE(Barrier_init)));
    expect_served(TEXT(COLLECTIVE(Bcast_init)));
    expect_served(TEXT(COLLECTIVE(Allreduce_init)));
    expect_served(TEXT(COLLECTIVE(Allgather_init)));
    expect_served(TEXT(COLLECTIVE(Neighbor_alltoall_init)));
    expect_served(TEXT(COLLECTIVE(Neighbor_alltoallv_init)));
}

#else

static void expect_collectives(int rank, MPI_Op op)
{
    (void)rank;
    (void)op;
}

#endif

/* The functions that no request of a pair needs. */
static void expect_others(int rank)
{
    MPI_Op op = MPI_OP_NULL, unused = MPI_OP_NULL;

    MPI_Op_create(add, 1, &op);
    expect_collectives(rank, op);
    MPI_Op_create(add, 1, &unused);
    expect(MPI_Op_free(&unused) == MPI_SUCCESS && unused == MPI_OP_NULL, "an operation is freed");
    expect(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL, "so is that of a request");
    expect_served("MPI_Op_free");
}

/* The tool exports a counter, and bits. */
static void expect_tool(int calls)
{
    const unsigned all = HAVE_COLLECTIVES ? 127 : 1;
    union {
        void *object;
        int (*function)(void);
    } tool = {.object = dlsym(RTLD_DEFAULT, "probe_tool_calls")};
    union {
        void *object;
        unsigned (*function)(void);
    } others = {.object = dlsym(RTLD_DEFAULT, "probe_tool_others")};

    expect(tool.object != NULL && others.object != NULL, "the tool is loaded");
    if (tool.object != NULL && tool.function() != calls) {
        fprintf(stderr, "the tool saw %d calls, expected %d\n", tool.function(), calls);
        wrong = 1;
    }
    if (others.object != NULL && others.function() != all) {
        fprintf(stderr, "the tool saw %#x of the others, expected %#x\n", others.function(), all);
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
    expect_others(rank);
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
