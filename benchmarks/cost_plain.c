/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cost_plain.c - what the library adds to calls for requests that it has no part in: to be run
 * under callgrind on two ranks
 *
 *     cost_plain
 *
 * The calls are the same while nothing is matched, while pairs are matched and idle, and while one
 * is in flight on a host stream. All messages have arrived when they are waited for.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpix_queue.h>

#include "cost.h"

/* MPICH spells MPI_STATUSES_IGNORE as address 1, which gcc takes for an array without elements. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { WARM_UP = 3, ROUNDS = 20, MANY = 16, TAG = 7, MATCHED_TAG = 8, ALL_PAIRS = 1000 };

static int rank, peer;
static double in[MANY], out[MANY], words[ALL_PAIRS];
static MPI_Request receives[MANY], sends[MANY], matched[ALL_PAIRS];

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "cost_plain: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Everything that was sent has arrived. */
static void settle(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void post(int num)
{
    for (int i = 0; i < num; i++) {
        MPI_Irecv(&in[i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &receives[i]);
    }
    for (int i = 0; i < num; i++) {
        MPI_Isend(&out[i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &sends[i]);
    }
    settle();
}

static void sent(int num)
{
    MPI_Waitall(num, sends, MPI_STATUSES_IGNORE);
    settle();
}

static void ordinary_round(const char *group)
{
    int flag = 0;

    post(1);
    cost_begin();
    MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
    cost_end(group, "wait", 1, 1);
    sent(1);
    post(1);
    cost_begin();
    MPI_Test(&receives[0], &flag, MPI_STATUS_IGNORE);
    cost_end(group, "test", 1, 1);
    check(flag, "a message has not arrived");
    sent(1);
    post(MANY);
    cost_begin();
    MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE);
    cost_end(group, "waitall", MANY, 1);
    sent(MANY);
}

/* Persistent requests that are not matched, to nobody: nothing of them is under way. */
static void persistent_round(const char *group, MPI_Request some[])
{
    cost_begin();
    MPI_Start(&some[0]);
    cost_end(group, "start", 1, 1);
    MPI_Wait(&some[0], MPI_STATUS_IGNORE);
    cost_begin();
    MPI_Startall(MANY, some);
    cost_end(group, "startall", MANY, 1);
    cost_begin();
    MPI_Waitall(MANY, some, MPI_STATUSES_IGNORE);
    cost_end(group, "waitall, persistent", MANY, 1);
}

static void count(const char *group)
{
    MPI_Request some[MANY];

    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(&in[i], 1, MPI_DOUBLE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &some[i]);
    }
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        ordinary_round(group);
        persistent_round(group, some);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Request_free(&some[i]);
    }
    settle();
}

/* One way: rank 1 sends, when it is told to. */
static void match(int num)
{
    for (int i = 0; i < num; i++) {
        if (rank == 0) {
            MPI_Recv_init(&words[i], 1, MPI_DOUBLE, peer, MATCHED_TAG, MPI_COMM_WORLD, &matched[i]);
        } else {
            MPI_Send_init(&words[i], 1, MPI_DOUBLE, peer, MATCHED_TAG, MPI_COMM_WORLD, &matched[i]);
        }
    }
    check(MPIX_Matchall(num, matched) == MPI_SUCCESS, "no match");
    settle();
}

static void unmatch(int num)
{
    for (int i = 0; i < num; i++) {
        MPI_Request_free(&matched[i]);
    }
    settle();
}

/* The receive of the pair waits on a stream all the while. */
static void count_in_flight(void)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;

    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, &stream);
    if (rank == 0) {
        MPIX_Enqueue_start(queue, &matched[0]);
        MPIX_Enqueue_wait(queue, &matched[0]);
    }
    settle();
    count("one in flight");
    if (rank == 1) {
        words[0] = 4711.0;
        MPIX_Enqueue_start(queue, &matched[0]);
        MPIX_Enqueue_wait(queue, &matched[0]);
    }
    check(MPIX_Queue_wait(queue) == MPI_SUCCESS && words[0] == 4711.0, "the queue has failed");
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    settle();
}

int main(int argc, char *argv[])
{
    int provided, ranks;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(ranks == 2 && provided == MPI_THREAD_MULTIPLE, "wants 2 ranks and MPI_THREAD_MULTIPLE");
    peer = 1 - rank;
    cost_init(rank);
    count("nothing");
    match(1);
    count("one idle");
    count_in_flight();
    unmatch(1);
    match(ALL_PAIRS);
    count("many idle");
    unmatch(ALL_PAIRS);
    count("nothing left");
    MPI_Finalize();
    return 0;
}
