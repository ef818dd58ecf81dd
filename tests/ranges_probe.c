/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What ranges.sh runs: one rank that uses a queue, and asks those who take ranges what they got.
 * Arguments: their libraries, each after the word nvtx or roctx. One that is not loaded by then
 * is loaded before MPI_Init, where only this program sees it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "mpix_queue.h"
#include "range_taker.h"

enum { PAIRS = 3 };

/* What is to be found: how often, and with how many requests in all. */
static const struct {
    const char *name;
    long times, requests;
} expected[] = {
    {"MPIX_Matchall", 1, 2 * PAIRS},
    {"MPIX_Match", 1, 1},
    {"MPIX_Imatchall", 1, 2},
    {"MPIX_Imatch", 1, 1},
    {"MPIX_Enqueue_startall", 2, 4 * PAIRS},
    {"MPIX_Enqueue_waitall", 2, 4 * PAIRS},
    {"MPIX_Enqueue_startwaitall", 2, 2 * PAIRS + 1},
    {"MPIX_Enqueue_start", 5, 5},
    {"MPIX_Enqueue_wait", 4, 4},
    {"MPIX_Queue_wait", 3, 0},
};
enum { N_EXPECTED = sizeof expected / sizeof expected[0] };

typedef long tell_fn(int what, const char *name);

static int wrong;

static void expect_equal(const char *who, const char *what, long value, long wanted)
{
    if (value != wanted) {
        fprintf(stderr, "%s: %s: %ld, expected %ld\n", who, what, value, wanted);
        wrong = 1;
    }
}

static void succeed(const char *what, int rc)
{
    expect_equal(what, "code", rc, MPI_SUCCESS);
}

static void check_data(int in[], int n)
{
    for (int i = 0; i < n; i++) {
        expect_equal("data", "element", in[i], 11 * (i + 1));
        in[i] = -1;
    }
}

static void match_all(MPI_Request r[])
{
    MPI_Request match;

    succeed("match", MPIX_Matchall(2 * PAIRS, r));
    succeed("match", MPIX_Imatchall(2, &r[2 * PAIRS], &match));
    succeed("match", MPI_Wait(&match, MPI_STATUS_IGNORE));
    succeed("match", MPIX_Imatch(&r[2 * PAIRS + 2], &match));
    succeed("match", MPIX_Match(&r[2 * PAIRS + 3]));
    succeed("match", MPI_Wait(&match, MPI_STATUS_IGNORE));
}

static void exchange(void)
{
    int in[PAIRS + 2], out[PAIRS + 2];
    MPI_Request r[2 * (PAIRS + 2)];
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    for (int i = 0; i < PAIRS + 2; i++) {
        in[i] = -1;
        out[i] = 11 * (i + 1);
        succeed("recv", MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[2 * i]));
        succeed("send", MPI_Send_init(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[2 * i + 1]));
    }
    match_all(r);
    succeed("queue", MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < 2; i++) {
        succeed("start", MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
        succeed("wait", MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
        if (i == 0) {
            succeed("wait", MPIX_Queue_wait(queue));
            check_data(in, PAIRS);
        }
    }
    for (int i = 0; i < 4; i++) {
        succeed("start", MPIX_Enqueue_start(queue, &r[2 * PAIRS + i]));
    }
    for (int i = 0; i < 4; i++) {
        succeed("wait", MPIX_Enqueue_wait(queue, &r[2 * PAIRS + i]));
    }
    succeed("wait", MPIX_Queue_wait(queue));
    check_data(in, PAIRS + 2);
    succeed("both", MPIX_Enqueue_startwaitall(queue, 2 * PAIRS, r));
    succeed("wait", MPIX_Queue_wait(queue));
    check_data(in, PAIRS);
    /* What fails ends its range as well. */
    expect_equal("no queue", "is an error",
                 MPIX_Enqueue_start(MPIX_QUEUE_NULL, &r[0]) != MPI_SUCCESS, 1);
    expect_equal("no queue", "is an error",
                 MPIX_Enqueue_startwaitall(MPIX_QUEUE_NULL, 1, &r[0]) != MPI_SUCCESS, 1);
    succeed("free", MPIX_Queue_free(&queue));
    for (int i = 0; i < 2 * (PAIRS + 2); i++) {
        succeed("free", MPI_Request_free(&r[i]));
    }
}

/* The thread that progresses ran for the Imatch, and has ended. */
static void check_taker(const char *who, tell_fn *tell)
{
    long progress = tell(TAKER_PUSHES, "progress");

    for (int i = 0; i < N_EXPECTED; i++) {
        const char *name = expected[i].name;

        expect_equal(who, name, tell(TAKER_PUSHES, name), expected[i].times);
        expect_equal(who, name, tell(TAKER_POPS, name), expected[i].times);
        if (strcmp(who, "nvtx") == 0) {
            expect_equal("requests", name, tell(TAKER_SUM, name), expected[i].requests);
        }
    }
    expect_equal(who, "there was progress", progress > 0, 1);
    expect_equal(who, "progress", tell(TAKER_POPS, "progress"), progress);
    expect_equal(who, "wrong", tell(TAKER_WRONG, ""), 0);
}

int main(int argc, char **argv)
{
    void *library[4] = {NULL};
    union {
        void *object;
        tell_fn *tell;
    } found;
    int provided;

    for (int i = 1; i + 1 < argc && i < 8; i += 2) {
        if (strcmp(argv[i], "roctx") == 0) {
            library[i / 2] = dlopen(argv[i + 1], RTLD_LAZY | RTLD_LOCAL);
        }
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    exchange();
    for (int i = 1; i + 1 < argc && i < 8; i += 2) {
        library[i / 2] = dlopen(argv[i + 1], RTLD_LAZY | RTLD_NOLOAD);
        expect_equal(argv[i], "its library is in the process", library[i / 2] != NULL, 1);
    }
    MPI_Finalize();
    for (int i = 1; i + 1 < argc && i < 8; i += 2) {
        found.object = library[i / 2] != NULL ? dlsym(library[i / 2], "range_taker_tell") : NULL;
        if (found.object != NULL) {
            check_taker(argv[i], found.tell);
        } else {
            wrong = 1;
        }
    }
    return wrong;
}
