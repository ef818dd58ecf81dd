/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cost_mpi.c - what MPI's calls cost at a thread level, in a program without the library
 *
 *     mpiexec -n 2 cost_mpi single|multiple count     under callgrind: instructions per call
 *     mpiexec -n 2 cost_mpi single|multiple time      prints microseconds: Send/Recv, persistent
 *
 * What is counted must not depend on when the peer does something. So between a send and what
 * completes it at the other end there is a barrier, which is not counted: MPI has seen by then all
 * that was sent before.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"

/* MPICH spells MPI_STATUSES_IGNORE as address 1, which gcc takes for an array without elements. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { WARM_UP = 3, ROUNDS = 20, MANY = 8, TAG = 7, TRIALS = 50, LOOPS = 200 };

static int rank, peer;
static double in[MANY], out[MANY];
static MPI_Request requests[2 * MANY]; /* receives first */

static void settle(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_recv(void)
{
    cost_begin();
    for (int i = 0; i < MANY; i++) {
        MPI_Send(&out[i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
    }
    cost_end("level", "MPI_Send", 1, MANY);
    settle();
    cost_begin();
    for (int i = 0; i < MANY; i++) {
        MPI_Recv(&in[i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    cost_end("level", "MPI_Recv", 1, MANY);
    settle();
}

static void start_wait(void)
{
    cost_begin();
    MPI_Startall(MANY, requests);
    cost_end("level", "MPI_Startall of receives", MANY, MANY);
    settle();
    cost_begin();
    MPI_Startall(MANY, requests + MANY);
    cost_end("level", "MPI_Startall of sends", MANY, MANY);
    settle();
    cost_begin();
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    cost_end("level", "MPI_Waitall", 2 * MANY, 2 * MANY);
    settle();
}

static void count(void)
{
    for (int round = -WARM_UP; round < ROUNDS; round++) {
        cost_discard(round < 0);
        send_recv();
        start_wait();
    }
}

static void ping_pong(int persistent)
{
    if (persistent && rank == 0) {
        MPI_Startall(2, &requests[MANY - 1]);
        MPI_Waitall(2, &requests[MANY - 1], MPI_STATUSES_IGNORE);
    } else if (persistent) {
        MPI_Start(&requests[MANY - 1]);
        MPI_Wait(&requests[MANY - 1], MPI_STATUS_IGNORE);
        MPI_Start(&requests[MANY]);
        MPI_Wait(&requests[MANY], MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Send(out, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD);
    }
}

/* One way in microseconds: of many short runs the best, which nothing else has disturbed. */
static double best_time(int persistent)
{
    double best = 1;

    for (int trial = 0; trial < TRIALS; trial++) {
        double begin, seconds;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        for (int i = 0; i < LOOPS; i++) {
            ping_pong(persistent);
        }
        seconds = MPI_Wtime() - begin;
        best = seconds < best ? seconds : best;
    }
    return best * 1e6 / (2.0 * LOOPS);
}

int main(int argc, char *argv[])
{
    int level =
        argc == 3 && strcmp(argv[1], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided, ranks;

    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks != 2 || provided < level) {
        fprintf(stderr, "cost_mpi: wants 2 ranks, single|multiple and count|time\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    peer = 1 - rank;
    cost_init(rank);
    for (int i = 0; i < MANY; i++) {
        /* The last receive and the first send, which lie together, are the ping-pong's. */
        int tag = TAG + 1 + (MANY - 1 - i);

        MPI_Recv_init(&in[i], 1, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(&out[i], 1, MPI_DOUBLE, peer, TAG + 1 + i, MPI_COMM_WORLD,
                      &requests[MANY + i]);
    }
    if (strcmp(argv[2], "count") == 0) {
        count();
    } else {
        double blocking = best_time(0), persistent = best_time(1);

        if (rank == 0) {
            printf("%.4f %.4f\n", blocking, persistent);
        }
    }
    for (int i = 0; i < 2 * MANY; i++) {
        MPI_Request_free(&requests[i]);
    }
    MPI_Finalize();
    return 0;
}
