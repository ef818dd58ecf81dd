/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cost_queue.c - what the library's calls cost: to be run under callgrind on two ranks
 *
 *     cost_queue match        capture, match and free; at MPI_THREAD_SINGLE, so that all that the
 *                             library does is done in the calls
 *     cost_queue enqueue      starts and waits on the fallback: what the caller pays
 *     cost_queue stream       the same: what the stream's thread pays, and plain MPI beside it
 *
 * What is counted must not depend on when the peer does something. So a start, what it needs from
 * the peer and the wait are kept apart by barriers, which are not counted.
 */
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mpix_queue.h>

#include "cost.h"

/* MPICH spells MPI_STATUSES_IGNORE as address 1, which gcc takes for an array without elements. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { WARM_UP = 3, ROUNDS = 20, PAIRS = 50, ALL_PAIRS = ROUNDS * PAIRS, HALF = 8, TAG = 7 };

static int rank, peer;
static double in[ALL_PAIRS], out[ALL_PAIRS];
static MPI_Request requests[ALL_PAIRS]; /* with queues: HALF receives, then HALF sends */

/* Everything that was sent has arrived. */
static void settle(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Capture, match, free ------------------------------------------------------------------- */

static void capture(const char *group, MPI_Request some[], int num)
{
    ptrdiff_t first = some - requests;

    cost_begin();
    for (int i = 0; i < num; i++) {
        if (rank == 0) {
            MPI_Send_init(&out[first + i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &some[i]);
        } else {
            MPI_Recv_init(&in[first + i], 1, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &some[i]);
        }
    }
    cost_end(group, "capture", num, num);
}

/* The sender offers, the receiver answers, the sender takes the answer: nobody waits for another
 * while it is counted. That needs so few pairs that their offers are sent at once. */
static void match(const char *group, MPI_Request some[], int num)
{
    MPI_Request matching;

    if (rank == 0) {
        cost_begin();
        MPIX_Imatchall(num, some, &matching);
        cost_end(group, "offer", num, num);
    }
    settle();
    if (rank == 1) {
        cost_begin();
        MPIX_Matchall(num, some);
        cost_end(group, "answer", num, num);
    }
    settle();
    if (rank == 0) {
        cost_begin();
        MPI_Wait(&matching, MPI_STATUS_IGNORE);
        cost_end(group, "connect", num, num);
    }
    settle();
}

/* The sender first, whose release the receiver then finds. */
static void release(const char *group, MPI_Request some[], int num)
{
    for (int turn = 0; turn < 2; turn++) {
        if (rank == turn) {
            cost_begin();
            for (int i = 0; i < num; i++) {
                MPI_Request_free(&some[i]);
            }
            cost_end(group, "free", num, num);
        }
        settle();
    }
}

static void match_round(int num)
{
    capture("again", requests, num);
    match("again", requests, num);
    release("again", requests, num);
}

static void count_match(void)
{
    /* The first requests of the program, which find nothing to use again. */
    for (int i = 0; i < ALL_PAIRS; i += PAIRS) {
        capture("first", requests + i, PAIRS);
        match("first", requests + i, PAIRS);
    }
    for (int i = 0; i < ALL_PAIRS; i += PAIRS) {
        release("first", requests + i, PAIRS);
    }
    /* What one round releases is in part seen in the next one only, so the two are kept apart. */
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        match_round(1);
    }
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        match_round(PAIRS);
    }
}

/* ---- Queues --------------------------------------------------------------------------------- */

static MPIX_Host_stream stream;
static MPIX_Queue queue;
static MPI_Comm stream_comm; /* for the barriers of the stream's thread */
static sem_t gate, held;

static void hold(void *arg)
{
    (void)arg;
    (void)sem_post(&held);
    while (sem_wait(&gate) != 0) {
    }
}

/* Only when its thread is there is the stream busy. */
static void hold_stream(void)
{
    MPIX_Host_stream_launch(stream, hold, NULL);
    while (sem_wait(&held) != 0) {
    }
}

/* On the stream: what was started on both sides has arrived. */
static void meet(void *arg)
{
    (void)arg;
    MPI_Barrier(stream_comm);
    MPI_Barrier(stream_comm);
}

/* The last receive belongs to the first send, so that any number of pairs lies together. */
static void make_requests(bool matched)
{
    for (int i = 0; i < HALF; i++) {
        int other = 2 * HALF - 1 - i;

        MPI_Recv_init(&in[i], 1, MPI_DOUBLE, peer, TAG + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(&out[i], 1, MPI_DOUBLE, peer, TAG + i, MPI_COMM_WORLD, &requests[other]);
    }
    if (matched) {
        MPIX_Matchall(2 * HALF, requests);
    }
}

static void free_requests(void)
{
    for (int i = 0; i < 2 * HALF; i++) {
        MPI_Request_free(&requests[i]);
    }
}

static void finish(void)
{
    MPIX_Host_stream_synchronize(stream);
    MPIX_Queue_wait(queue);
    settle();
}

/* ---- What the caller pays ------------------------------------------------------------------- */

/* One of each kind by a call of its own, then all by one call. */
static void enqueue_round(const char *group, void (*between)(void))
{
    cost_begin();
    MPIX_Enqueue_start(queue, &requests[HALF - 1]);
    MPIX_Enqueue_start(queue, &requests[HALF]);
    cost_end(group, "start", 1, 2);
    between();
    cost_begin();
    MPIX_Enqueue_wait(queue, &requests[HALF - 1]);
    MPIX_Enqueue_wait(queue, &requests[HALF]);
    cost_end(group, "wait", 1, 2);
    between();
    cost_begin();
    MPIX_Enqueue_startall(queue, 2 * HALF, requests);
    cost_end(group, "startall", 2 * HALF, 1);
    between();
    cost_begin();
    MPIX_Enqueue_waitall(queue, 2 * HALF, requests);
    cost_end(group, "waitall", 2 * HALF, 1);
    between();
}

static void nothing(void)
{
}

/* Long enough for the thread of the stream to go to sleep. */
static void idle(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void count_enqueue(void)
{
    make_requests(true);
    /* Ahead of a stream that is busy with something else. */
    hold_stream();
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        enqueue_round("busy", nothing);
    }
    sem_post(&gate);
    finish();
    /* To a stream that has nothing to do. */
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        idle();
        enqueue_round("asleep", idle);
        finish();
    }
    free_requests();
}

/* ---- What the stream pays ------------------------------------------------------------------- */

/* Part of an exchange: num receives, num sends, wait for both. */
struct part {
    const char *name;
    int num;
    long times;
};

enum { RECV, SEND, WAIT, NUM_PARTS };

static void name_parts(int num, struct part parts[NUM_PARTS])
{
    parts[RECV] = (struct part){"start of receives", num, num};
    parts[SEND] = (struct part){"start of sends", num, num};
    parts[WAIT] = (struct part){"wait", 2 * num, 2L * num};
}

static void begin(void *arg)
{
    (void)arg;
    cost_begin();
}

static void end(void *arg)
{
    const struct part *part = arg;

    cost_end("stream", part->name, part->num, part->times);
}

static void stream_round(int num)
{
    MPI_Request *used = requests + HALF - num;
    struct part parts[NUM_PARTS];

    name_parts(num, parts);
    hold_stream();
    MPIX_Host_stream_launch(stream, begin, NULL);
    MPIX_Enqueue_startall(queue, num, used);
    MPIX_Host_stream_launch(stream, end, &parts[RECV]);
    MPIX_Host_stream_launch(stream, meet, NULL);
    MPIX_Host_stream_launch(stream, begin, NULL);
    MPIX_Enqueue_startall(queue, num, used + num);
    MPIX_Host_stream_launch(stream, end, &parts[SEND]);
    MPIX_Host_stream_launch(stream, meet, NULL);
    MPIX_Host_stream_launch(stream, begin, NULL);
    MPIX_Enqueue_waitall(queue, 2 * num, used);
    MPIX_Host_stream_launch(stream, end, &parts[WAIT]);
    sem_post(&gate);
    finish();
}

/* The same by plain MPI. */
static void mpi_round(const char *group, int num)
{
    MPI_Request *used = requests + HALF - num;
    struct part parts[NUM_PARTS];

    name_parts(num, parts);
    for (int i = RECV; i <= SEND; i++) {
        cost_begin();
        MPI_Startall(num, used + i * num);
        cost_end(group, parts[i].name, num, num);
        settle();
    }
    cost_begin();
    MPI_Waitall(2 * num, used, MPI_STATUSES_IGNORE);
    cost_end(group, parts[WAIT].name, 2 * num, 2L * num);
    settle();
}

static void count_mpi(const char *group)
{
    make_requests(false);
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        mpi_round(group, 1);
        mpi_round(group, HALF);
    }
    free_requests();
}

static void count_stream(void)
{
    MPI_Request matched[2 * HALF];

    count_mpi("mpi");
    make_requests(true);
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        cost_discard(i < 0);
        stream_round(1);
        stream_round(HALF);
    }
    /* Requests that are not matched, while others are. */
    memcpy(matched, requests, sizeof matched);
    count_mpi("mixed");
    memcpy(requests, matched, sizeof matched);
    free_requests();
}

/* ---- The whole ------------------------------------------------------------------------------ */

static void with_queue(void (*count)(void))
{
    (void)sem_init(&gate, 0, 0);
    (void)sem_init(&held, 0, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &stream_comm);
    MPIX_Host_stream_create(&stream);
    MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, &stream);
    count();
    MPIX_Queue_free(&queue);
    MPIX_Host_stream_destroy(&stream);
    MPI_Comm_free(&stream_comm);
}

int main(int argc, char *argv[])
{
    const char *what = argc == 2 ? argv[1] : "";
    int level = strcmp(what, "match") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    int provided, ranks;

    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    peer = 1 - rank;
    cost_init(rank);
    if (ranks == 2 && strcmp(what, "match") == 0 && provided == MPI_THREAD_SINGLE) {
        count_match();
    } else if (ranks == 2 && strcmp(what, "enqueue") == 0 && provided == MPI_THREAD_MULTIPLE) {
        with_queue(count_enqueue);
    } else if (ranks == 2 && strcmp(what, "stream") == 0 && provided == MPI_THREAD_MULTIPLE) {
        with_queue(count_stream);
    } else {
        fprintf(stderr, "cost_queue: wants 2 ranks, and match (with MPIXQ_THREAD_LEVEL=keep), "
                        "enqueue or stream\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
