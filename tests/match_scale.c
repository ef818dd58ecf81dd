/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Many pairs in one direction between two ranks: what their matching takes grows with their number
 * and with nothing else. Counted are control messages, MPI requests, blocks and bytes of memory.
 *
 *     match_scale SCENARIO PAIRS [SIZE]
 *
 * SIZE: that of every communicator, as the library hears it.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"

enum { SENDER, RECEIVER, SAMPLE = 200 };

/* Which receive a send pairs with, how receives are made, who matches how many at a time. */
struct scenario {
    const char *name;
    int distinct;   /* envelopes; else all are equal */
    int reverse;    /* the receives are made in the other order */
    int any_source; /* receives with wildcards */
    int any_tag;
    int block[2]; /* requests in one call of each rank; 0: all */
};

static const struct scenario scenarios[] = {
    {.name = "equal"},
    {.name = "distinct", .distinct = 1},
    {.name = "reverse", .distinct = 1, .reverse = 1},
    {.name = "blocks", .distinct = 1, .block = {500, 700}},
    {.name = "singles", .distinct = 1, .block = {1, 1}},
    /* All sends are offered before most receives are there. */
    {.name = "early-sends", .distinct = 1, .block = {0, 1000}},
    {.name = "early-equal", .block = {0, 1000}},
    {.name = "early-reverse", .distinct = 1, .reverse = 1, .block = {0, 1000}},
    {.name = "early-any-source", .distinct = 1, .reverse = 1, .any_source = 1, .block = {0, 1000}},
    {.name = "early-any-tag", .any_tag = 1, .block = {0, 1000}},
    {.name = "any-source", .distinct = 1, .reverse = 1, .any_source = 1},
    {.name = "any-tag", .any_tag = 1},
    {.name = "any", .any_source = 1, .any_tag = 1},
};

static const struct scenario *scenario;
static int pairs;
static MPI_Request *requests;
static int *data;

/* The send that the receive at an index pairs with. */
static int partner(int index)
{
    return scenario->reverse ? pairs - 1 - index : index;
}

static void make_all(void)
{
    for (int i = 0; i < pairs; i++) {
        int tag = scenario->distinct ? partner(i) : 7;

        data[i] = -1;
        if (mtest_rank == RECEIVER) {
            MTEST_OK(
                MPI_Recv_init(&data[i], 1, MPI_INT, scenario->any_source ? MPI_ANY_SOURCE : SENDER,
                              scenario->any_tag ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &requests[i]));
        } else {
            tag = scenario->distinct ? i : 7;
            MTEST_OK(
                MPI_Send_init(&data[i], 1, MPI_INT, RECEIVER, tag, MPI_COMM_WORLD, &requests[i]));
        }
    }
}

static void match_all(void)
{
    int block = scenario->block[mtest_rank] > 0 ? scenario->block[mtest_rank] : pairs;

    for (int i = 0; i < pairs; i += block) {
        MTEST_OK(MPIX_Matchall(pairs - i < block ? pairs - i : block, &requests[i]));
    }
}

/* Sends from all over the array arrive where they should. */
static void exchange_sample(MPIX_Queue queue)
{
    MPI_Request sample[SAMPLE];
    int index[SAMPLE];
    int n = pairs < SAMPLE ? pairs : SAMPLE;

    for (int i = 0; i < n; i++) {
        int send = (int)((long)i * (pairs - 1) / (n > 1 ? n - 1 : 1));

        index[i] = mtest_rank == SENDER ? send : partner(send);
        sample[i] = requests[index[i]];
        data[index[i]] = mtest_rank == SENDER ? 1000000 + send : -1;
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, n, sample));
    MTEST_OK(MPIX_Enqueue_waitall(queue, n, sample));
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; i < n; i++) {
        int send = mtest_rank == SENDER ? index[i] : partner(index[i]);

        MTEST_EQ(data[index[i]], 1000000 + send);
    }
}

static void at_most(int line, const char *what, long value, long limit)
{
    printf("%-14s %-16s rank %d: %-34s %10ld, allowed %10ld\n", scenario->name,
           pairs > 1 ? "" : "one pair", mtest_rank, what, value, limit);
    if (value > limit) {
        mtest_fail(__FILE__, line, "%s: %s: %ld, allowed %ld", scenario->name, what, value, limit);
    }
}
#define AT_MOST(what, value, limit) at_most(__LINE__, what, value, limit)

/* An offer takes 88 bytes of a message and an answer 44, of 4000. */
static void check_matched(struct counts before, struct counts after)
{
    int per_message = scenario->block[mtest_rank] > 0 ? scenario->block[mtest_rank] : pairs;

    per_message = per_message < 40 ? per_message : 40;
    AT_MOST("control messages", after.messages - before.messages, pairs / per_message + 100);
    AT_MOST("live MPI requests", after.live_max - before.live, 6);
    AT_MOST("MPI requests made", after.requests - before.requests,
            after.messages - before.messages + after.taken - before.taken);
    AT_MOST("translations of ranks", after.translations - before.translations, 4);
    AT_MOST("bytes", after.bytes - before.bytes, 1024L * pairs);
    AT_MOST("bytes at most", after.bytes_max - before.bytes, 1024L * pairs);
    /* A record, the channel's data, an envelope; where the tables become empty between two calls,
     * these too. */
    AT_MOST("blocks allocated", after.blocks - before.blocks,
            (per_message == 1 ? 10L : 5L) * pairs + 1000);
}

static void run(MPIX_Queue queue)
{
    struct counts before;
    struct counts after;

    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    counts_reset_max();
    before = counts_now();
    make_all();
    match_all();
    after = counts_now();
    check_matched(before, after);
    exchange_sample(queue);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < pairs; i++) {
        MTEST_OK(MPI_Request_free(&requests[i]));
    }
    after = counts_now();
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* What stays when all is over: records for later requests, spare messages, and the tags that were
 * given back. A release waits until both ends are in the library, so they call it in turns. */
static void settle(const char *what, long base, long limit)
{
    long last = -1;
    int turns = 0;

    /* Until nothing changes any more on either rank. */
    for (int i = 0; i < 10000 && turns < 50; i++) {
        long now;
        int mine;
        int changed;

        MTEST_OK(MPIX_Matchall(0, NULL));
        now = counts_now().bytes;
        mine = now != last;
        last = now;
        MTEST_OK(MPI_Allreduce(&mine, &changed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        turns = changed ? 0 : turns + 1;
    }
    AT_MOST(what, counts_now().bytes - base, limit);
}

/* Many requests, and then as many again, for which there is room. */
static void run_twice(MPIX_Queue queue)
{
    long base = counts_now().bytes;

    run(queue);
    settle("bytes that stay", base, 256 * 1024 + 600L * pairs);
    if (pairs <= 20000) {
        base = counts_now().bytes;
        run(queue);
        settle("bytes that stay once more", base, 128 * 1024);
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    long base;
    int size;

    for (size_t i = 0; argc > 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenario = &scenarios[i];
        }
    }
    if (scenario == NULL) {
        fprintf(stderr, "usage: match_scale SCENARIO PAIRS [SIZE]\n");
        return MTEST_HARD;
    }
    size = argc > 3 ? atoi(argv[3]) : 0;
    counts_set_size(size);
    pairs = atoi(argv[2]);
    requests = malloc((size_t)pairs * sizeof(*requests));
    data = malloc((size_t)pairs * sizeof(*data));
    base = counts_now().bytes;
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    AT_MOST("bytes before", counts_now().bytes - base, 32 * 1024);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    run_twice(queue);
    MTEST_CHECK(size == 0 || counts_now().sizes > 0); /* the library has heard it */
    MTEST_OK(MPIX_Queue_free(&queue));
    free(requests);
    free(data);
    return mtest_end();
}
