/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * While the NIC takes its time for a region, the provider has the endpoint's lock, and a match or a
 * free waits for it. That is an endpoint of the regions, unless there can be one only
 * (CXI_DOUBLE_EPS=1).
 *
 * Argument 1:
 *     arm      what has its regions goes on: starts are armed, executed and completed meanwhile
 *     told, lacking  no region is made by who matches what was prepared: for a sender that tells
 *              when its data is there, of which the receiver learns then only; for a receive that
 *              lacked a region when it was prepared, which goes by the fallback
 *     stream   what was posted before goes on: the stream gets past its waits meanwhile
 *     page     the same while the region is that of a new page of words
 *     match, free  another thread's matches and frees, and its queues, go on while one waits in a
 *              match, or in a free
 *     events   many starts are under way in the host's hands, whose completions nobody can read:
 *              they fit into the endpoint's event queue, and the NIC goes on when they are read
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cxi_hooks.h"
#include "mtest.h"

enum { PAIRS = 600, FEW = 4, EXTRA = PAIRS, WORDS = 512 /* on a page */ };

static const struct cxi_double_hooks *hooks;
static int peer, in[PAIRS + 2], out[PAIRS];
static MPI_Request r[2 * PAIRS];

static int value(int rank, int pair)
{
    return 10000 * (rank + 1) + pair;
}

static void make(int pairs)
{
    for (int i = 0; i < pairs + 2; i++) {
        in[i] = -1;
    }
    for (int i = 0; i < pairs; i++) {
        out[i] = value(mtest_rank, i);
        MTEST_OK(MPI_Recv_init(&in[i + 1], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[pairs + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * pairs, r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void check_and_free(int pairs)
{
    int wrong = 0;

    MTEST_EQ(in[0], -1);
    MTEST_EQ(in[pairs + 1], -1);
    for (int i = 0; i < pairs; i++) {
        wrong += in[i + 1] != value(peer, i);
    }
    MTEST_EQ(wrong, 0);
    for (int i = 0; i < 2 * pairs; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* A pair more, whose regions the NIC takes its time for; by a thread of its own. */
static void *match_extra(void *arg)
{
    static int data[2];
    MPI_Request extra[2];

    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, EXTRA, MPI_COMM_WORLD, &extra[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, EXTRA, MPI_COMM_WORLD, &extra[1]));
    MTEST_OK(MPIX_Matchall(2, extra));
    MTEST_OK(MPI_Request_free(&extra[0]));
    MTEST_OK(MPI_Request_free(&extra[1]));
    return arg;
}

static void await_holding(void)
{
    unsigned tries = 0;

    while (hooks->holding() == 0) {
        mtest_backoff(&tries);
    }
}

/* On the stream, behind the waits. */
static void look_fn(void *arg)
{
    *(int *)arg = hooks->holding();
}

/* Pairs that have so many words at each end: a receive has one, and so has a ready send; a standard
 * send has two. */
static MPI_Request fillers[WORDS];
static int n_fillers;

static void take_words(int words)
{
    static int data[WORDS];

    MTEST_EQ(words % 2, 0);
    for (n_fillers = 0; n_fillers < words; n_fillers++) {
        int *buffer = &data[n_fillers];

        MTEST_OK(mtest_init_raw(n_fillers % 2 == 0 ? MTEST_RECV : MTEST_RSEND, buffer, 1, MPI_INT,
                                peer, EXTRA + 1 + n_fillers / 2, MPI_COMM_WORLD,
                                &fillers[n_fillers]));
    }
    MTEST_OK(MPIX_Matchall(words, fillers));
}

static void test_stream(MPIX_Host_stream stream, MPIX_Queue queue, int words)
{
    struct mtest_gate gate = {0};
    unsigned tries = 0;
    pthread_t thread;
    int seen = -1;

    make(FEW);
    take_words(words);
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * FEW, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * FEW, r));
    MTEST_OK(MPIX_Host_stream_launch(stream, look_fn, &seen));
    while (mtest_queue_count(queue, "mpixq_posts") < 4L * FEW) {
        mtest_backoff(&tries);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    hooks->regions(3000000);
    MTEST_EQ(pthread_create(&thread, NULL, match_extra, NULL), 0);
    await_holding();
    hooks->regions(0); /* for those after this one */
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_CHECK(seen > 0);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    MTEST_OK(MPIX_Queue_wait(queue));
    check_and_free(FEW);
    for (int i = 0; i < n_fillers; i++) {
        MTEST_OK(MPI_Request_free(&fillers[i]));
    }
}

/* A pair by another channel, from its match to its free, and a queue: none of it is the NIC's. */
static void use_others(void)
{
    int data[2] = {-1, 42 + mtest_rank};
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request pair[2];
    MPI_Info info;

    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "mpixq_channels", "fallback"));
    MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &pair[0]));
    MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &pair[1]));
    MTEST_OK(MPIX_Matchall_info(2, pair, info));
    MTEST_OK(MPI_Info_free(&info));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, pair));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, pair));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(data[0], 42 + peer);
    MTEST_EQ(data[1], 42 + mtest_rank);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&pair[0]));
    MTEST_OK(MPI_Request_free(&pair[1]));
}

static void *free_pairs(void *arg)
{
    for (int i = 0; i < 2 * FEW; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    return arg;
}

/* The NIC needs long for the first region that it has to make known, or to forget; both ranks meet
 * in what the other thread does, so both are in that. */
static void test_others(bool is_free)
{
    pthread_t thread;
    int holding;

    make(FEW);
    hooks->regions(5000000);
    MTEST_EQ(pthread_create(&thread, NULL, is_free ? free_pairs : match_extra, NULL), 0);
    await_holding();
    hooks->regions(0); /* for those after this one */
    use_others();
    holding = hooks->holding();
    MTEST_CHECK(holding > 0);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    if (!is_free) {
        (void)free_pairs(NULL);
    }
}

/* Of both ranks: neither can go on without the other's posts. */
static void test_arm(MPIX_Queue queue)
{
    pthread_t thread;

    make(FEW);
    hooks->regions(5000000);
    MTEST_EQ(pthread_create(&thread, NULL, match_extra, NULL), 0);
    await_holding();
    hooks->regions(0); /* for those after this one */
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * FEW, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * FEW, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_CHECK(hooks->holding() > 0);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), 4L * FEW);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    check_and_free(FEW);
}

/* Rank 1 receives, and has prepared that before rank 0 sends. */
static void test_prepared(bool lacks)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int data = mtest_rank == 0 ? 42 : -1;
    uint64_t made = 0;
    MPI_Request pair, match;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Send_init(&data, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &pair));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Match(&pair));
    } else {
        MTEST_OK(MPI_Recv_init(&data, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &pair));
        hooks->no_regions(lacks);
        MTEST_OK(MPIX_Imatchall(1, &pair, &match));
        hooks->no_regions(false);
        made = hooks->made();
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
        MTEST_EQ(hooks->made() - made, 0);
    }
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_start(queue, &pair));
    MTEST_OK(MPIX_Enqueue_wait(queue, &pair));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(data, 42);
    if (!lacks) {
        /* Write, notice and completion; clear-to-send and completion. */
        MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), mtest_rank == 0 ? 3 : 2);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&pair));
}

/* As a launcher or a site may set it for some ranks. */
static void let_rank_0_tell(void)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    if (rank != NULL && strcmp(rank, "0") == 0) {
        MTEST_EQ(setenv("MPIXQ_CXI_DATA", "delivered", 1), 0);
    }
}

static void test_events(MPIX_Queue queue)
{
    pthread_t thread;

    make(PAIRS);
    hooks->regions(300000);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * PAIRS, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
    MTEST_EQ(pthread_create(&thread, NULL, match_extra, NULL), 0);
    MTEST_EQ(pthread_join(thread, NULL), 0);
    hooks->regions(0);
    MTEST_OK(MPIX_Queue_wait(queue));
    check_and_free(PAIRS);
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    const char *what = argc > 1 ? argv[1] : "";
    bool lacks = strcmp(what, "lacking") == 0, tells = strcmp(what, "told") == 0;

    if (tells) {
        let_rank_0_tell();
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    hooks = cxi_hooks();
    if (hooks != NULL && strcmp(what, "stream") == 0) {
        test_stream(stream, queue, 0);
    } else if (hooks != NULL && strcmp(what, "page") == 0) {
        test_stream(stream, queue, WORDS - 3 * FEW);
    } else if (hooks != NULL && (strcmp(what, "match") == 0 || strcmp(what, "free") == 0)) {
        test_others(strcmp(what, "free") == 0);
    } else if (hooks != NULL && (lacks || tells)) {
        test_prepared(lacks);
    } else if (hooks != NULL && strcmp(what, "arm") == 0) {
        test_arm(queue);
    } else if (hooks != NULL) {
        MTEST_EQ(strcmp(what, "events"), 0);
        test_events(queue);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
