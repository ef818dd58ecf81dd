/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a process of a job of a million takes of memory and sends of control messages: in MPI_Init,
 * with the first pair, for each peer that it matches with, and for each request. The library is
 * told that every communicator has so many processes; what would grow with that is counted. The
 * arguments are what each may take, with which tools/scale computes (data/memory.csv): bytes,
 * counters of the NIC for a message each way, bytes of the slots of an eager receive of the default
 * MPIXQ_EAGER, collective calls, control messages.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

#include "counts.h"

enum { JOB = 1000000, MORE = 400, LARGE = 32, EAGER = 8192 };

static char data[2][EAGER];
static MPI_Request requests[2 * (MORE + LARGE) + 6];
static int made;

/* Sends to a peer and as many receives from it, matched. Nothing is sent. */
static void match(int peer, int pairs, int bytes)
{
    int first = made;

    for (int i = 0; i < pairs; i++) {
        MTEST_OK(MPI_Send_init(data[0], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[made]));
        MTEST_OK(
            MPI_Recv_init(data[1], bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[made + 1]));
        made += 2;
    }
    MTEST_OK(MPIX_Matchall(made - first, &requests[first]));
}

/* When the last control messages are there, on all ranks. */
static struct counts settled(void)
{
    struct counts now = counts_now();

    for (int turns = 0; turns < 50; turns++) {
        struct counts before = now;
        int changed;
        int mine;

        MTEST_OK(MPIX_Matchall(0, NULL));
        now = counts_now();
        mine = now.bytes != before.bytes;
        MTEST_OK(MPI_Allreduce(&mine, &changed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        turns = changed ? 0 : turns;
    }
    return now;
}

static void at_most(int line, const char *what, long value, long limit)
{
    printf("rank %d: %-24s %8ld, allowed %8ld\n", mtest_rank, what, value, limit);
    if (value > limit) {
        mtest_fail(__FILE__, line, "%s: %ld, allowed %ld", what, value, limit);
    }
}

int main(int argc, char **argv)
{
    struct counts at[5];
    long base = counts_now().bytes;
    long init, collectives, request;

    if (argc != 9) {
        fprintf(stderr, "usage: job_memory INIT ONCE PEER REQUEST COUNTERS SLOTS COLLECTIVES "
                        "MESSAGES\n");
        return MTEST_HARD;
    }
    counts_set_size(JOB);
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    init = counts_now().bytes - base;
    collectives = counts_now().collectives;
    at_most(__LINE__, "bytes in MPI_Init", init, atol(argv[1]));
    at_most(__LINE__, "collective calls", collectives, atol(argv[7]));
    match(mtest_rank ^ 1, 1, 4); /* with what is there once, however many peers */
    at[0] = settled();
    match(mtest_rank ^ 1, LARGE, EAGER); /* fewer than may have slots */
    at[4] = settled();
    match(mtest_rank ^ 1, MORE, 4);
    at[1] = settled();
    match(mtest_rank ^ 2, 1, 4);
    at[2] = settled();
    match(mtest_rank ^ 3, 1, 4);
    at[3] = settled();
    MTEST_CHECK(at[3].sizes > 0); /* the library has heard how many there are */
    request = (at[1].bytes - at[4].bytes + 2 * MORE - 1) / (2L * MORE);
    at_most(__LINE__, "bytes of a request", request, atol(argv[4]));
    at_most(__LINE__, "bytes of a peer", at[3].bytes - at[2].bytes - 2 * request, atol(argv[3]));
    at_most(__LINE__, "counters of a pair", (at[1].counters - at[4].counters + MORE - 1) / MORE,
            atol(argv[5]));
    at_most(__LINE__, "bytes of slots", (at[4].bytes - at[0].bytes) / LARGE - 2 * request,
            atol(argv[6]));
    at_most(__LINE__, "messages to a peer", at[3].messages - at[2].messages, atol(argv[8]));
    MTEST_CHECK(counts_now().collectives == collectives); /* none but in MPI_Init */
    at_most(__LINE__, "bytes once", at[0].bytes - base - init, atol(argv[2]));
    for (int i = 0; i < made; i++) {
        MTEST_OK(MPI_Request_free(&requests[i]));
    }
    return mtest_end();
}
