/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that are captured in graphs and started otherwise as well: by other graphs, by plain
 * starts on the queue and by the host, in any order, and independently at the two ends; in one
 * graph and waited for in another; and what is captured while the wait before is pending. Two
 * ranks, with MTEST_STREAM and MTEST_BUFFER.
 *
 *     graph_mixed [ROUNDS [SEED]]   so many exchanges in random order (150); less: and fewer sizes
 */
#include <stdlib.h>
#include <time.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, ROUNDS = 150, SEED = 1, FEW = 5 };

enum way { REPLAY, OTHER_GRAPH, IN_TWO, PLAIN, BY_HOST, PLAIN_THEN_REPLAY, OTHER_STREAM, WAYS };

static int peer;
static struct gpu_lanes_side side;
static void *other_stream;

/* Lanes and what was captured of them. */
struct replayed {
    struct gpu_lanes l;
    void *all, *again; /* each an exchange, by two calls and by one */
    void *start, *wait;
    unsigned plain; /* exchanges, each second one by one call */
};

static void make(struct replayed *p, int n, const size_t bytes[])
{
    gpu_lanes_make(&p->l, MTEST_SEND, n, bytes, peer, TAG, mtest_rank == 0);
}

static void *capture_all(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_THREAD_LOCAL);
    gpu_lanes_exchange(l, side.queue, side.stream);
    return gpu_graph_end_executable(side.stream);
}

static void *capture_at_once(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_exchange_at_once(l, side.queue, side.stream);
    return gpu_graph_end_executable(side.stream);
}

static void *capture_start(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(l, side.stream);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2 * l->n, l->r));
    return gpu_graph_end_executable(side.stream);
}

static void *capture_wait(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2 * l->n, l->r));
    gpu_lanes_get(l, side.stream);
    return gpu_graph_end_executable(side.stream);
}

static void capture(struct replayed *p)
{
    p->plain = 0;
    p->all = capture_all(&p->l);
    p->start = capture_start(&p->l);
    p->again = capture_at_once(&p->l);
    p->wait = capture_wait(&p->l);
}

static void end(struct replayed *p, long exchanges, const char *what)
{
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&p->l, exchanges, what);
    gpu_graph_free_executable(p->all);
    gpu_graph_free_executable(p->again);
    gpu_graph_free_executable(p->start);
    gpu_graph_free_executable(p->wait);
    gpu_lanes_free(&p->l);
}

/* A plain start for which a graph waits. The host hears of that by a plain wait, which finds
 * nothing to wait for. */
static void start_plainly(struct replayed *p)
{
    gpu_lanes_put(&p->l, side.stream);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2 * p->l.n, p->l.r));
    gpu_graph_launch(p->wait, side.stream);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2 * p->l.n, p->l.r));
}

static void exchange_in_other_stream(struct replayed *p)
{
    void *event = mtest_gpu_event(side.stream);

    mtest_gpu_event_wait(other_stream, event);
    mtest_gpu_event_end(event);
    gpu_graph_launch(p->all, other_stream);
    event = mtest_gpu_event(other_stream);
    mtest_gpu_event_wait(side.stream, event);
    mtest_gpu_event_end(event);
}

/* One exchange, in one of the ways. */
static void exchange(struct replayed *p, enum way way)
{
    switch (way) {
    case REPLAY:
        gpu_graph_launch(p->all, side.stream);
        break;
    case OTHER_GRAPH:
        gpu_graph_launch(p->again, side.stream);
        break;
    case IN_TWO:
        gpu_graph_launch(p->start, side.stream);
        gpu_graph_launch(p->wait, side.stream);
        break;
    case PLAIN:
        if (p->plain++ % 2 == 0) {
            gpu_lanes_exchange(&p->l, side.queue, side.stream);
        } else {
            gpu_lanes_exchange_at_once(&p->l, side.queue, side.stream);
        }
        break;
    case PLAIN_THEN_REPLAY:
        start_plainly(p);
        break;
    case OTHER_STREAM:
        exchange_in_other_stream(p);
        break;
    default:
        gpu_lanes_side_finish(&side);
        gpu_lanes_exchange_by_host(&p->l);
        break;
    }
}

/* Each rank chooses by itself; rank 0 and rank 1 differ in the seed. */
static void test_random(int rounds, unsigned long long seed, int n, const size_t bytes[])
{
    static struct replayed p;
    unsigned long long state = seed * 2 + (unsigned long long)mtest_rank;

    make(&p, n, bytes);
    capture(&p);
    for (int i = 0; i < rounds; i++) {
        exchange(&p, (enum way)(mtest_random(&state) % WAYS));
        if (mtest_random(&state) % 8 == 0) {
            gpu_lanes_side_finish(&side);
        }
    }
    end(&p, rounds, "in any order");
}

/* Each way at one end with each one at the other. */
static void test_each_with_each(const size_t *bytes)
{
    static struct replayed p;
    long exchanges = 0;

    make(&p, 1, bytes);
    capture(&p);
    for (int mine = 0; mine < WAYS; mine++) {
        for (int other = 0; other < WAYS; other++) {
            for (int i = 0; i < 2; i++, exchanges++) {
                exchange(&p, (enum way)(mtest_rank == 0 ? mine : other));
            }
        }
    }
    end(&p, exchanges, "each way with each");
}

/* Launches that nothing but other graphs of the same requests come between. */
static void test_in_turn(int times)
{
    static const size_t bytes[] = {200, 100000};
    static struct replayed p;

    make(&p, 2, bytes);
    capture(&p);
    for (int i = 0; i < times; i++) {
        exchange(&p, (enum way)(i % 3));
    }
    end(&p, times, "graphs in turn");
}

/* A capture while the wait of an exchange before is in the stream, as the other end is not started;
 * that has captured before. To make a graph executable may wait for the GPU. */
static void test_pending(int waits, const size_t *bytes)
{
    static struct gpu_lanes l;
    void *graph, *executable;

    gpu_lanes_make(&l, MTEST_SEND, 1, bytes, peer, TAG, mtest_rank == 0);
    if (mtest_rank == waits) {
        gpu_lanes_exchange(&l, side.queue, side.stream);
    }
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    graph = gpu_graph_end(side.stream);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank != waits) {
        gpu_lanes_exchange(&l, side.queue, side.stream);
    }
    executable = gpu_graph_executable(graph);
    gpu_graph_free(graph);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, FEW + 1, "captured while it was pending");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* The wait's graph comes long after that of the start, in which the other end has ended its part;
 * and before the other end has started. */
static void test_apart(int first, const size_t *bytes)
{
    static struct replayed p;

    make(&p, 1, bytes);
    capture(&p);
    for (int i = 0; i < FEW; i++) {
        if (mtest_rank == first) {
            gpu_graph_launch(p.start, side.stream);
            mtest_gpu_synchronize(side.stream);
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
            gpu_graph_launch(p.wait, side.stream);
        } else {
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
            exchange(&p, REPLAY);
        }
        mtest_gpu_synchronize(side.stream);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    end(&p, FEW, "start and wait apart");
}

/* The peer's GPU may tell this host a moment after the wait has seen that the start is done. */
static void expect_status(MPI_Request r, int done, int tag, int bytes)
{
    MPI_Status status;
    int flag = -1, count = -1;

    status.MPI_SOURCE = status.MPI_TAG = -77;
    MTEST_OK(MPI_Request_get_status(r, &flag, &status));
    for (int i = 0; done && !flag && i < 1000; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MTEST_OK(MPI_Request_get_status(r, &flag, &status));
    }
    MTEST_EQ(flag, done);
    if (flag == 1 && bytes >= 0) {
        MTEST_EQ(status.MPI_SOURCE, peer);
        MTEST_EQ(status.MPI_TAG, tag);
        MTEST_OK(MPI_Get_count(&status, MPI_BYTE, &count));
        MTEST_EQ(count, bytes);
    }
}

/* Of a receive with more room than what comes needs, by replays: started, and then waited for. */
static void test_status(int room, int sent)
{
    void *in = mtest_gpu_alloc(mtest_gpu_memory(), (size_t)room);
    void *out = mtest_gpu_alloc(mtest_gpu_memory(), (size_t)sent);
    void *start, *wait;
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(in, room, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, sent, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, r));
    start = gpu_graph_end_executable(side.stream);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, r));
    wait = gpu_graph_end_executable(side.stream);
    for (int i = 0; i < FEW; i++) {
        if (mtest_rank == i % 2) {
            gpu_graph_launch(start, side.stream);
            mtest_gpu_synchronize(side.stream);
            expect_status(r[0], 0, 0, 0);
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        } else {
            MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
            gpu_graph_launch(start, side.stream);
        }
        gpu_graph_launch(wait, side.stream);
        gpu_lanes_side_finish(&side);
        for (int k = 0; k < 2; k++) {
            expect_status(r[0], 1, TAG, sent);
            expect_status(r[1], 1, TAG, -1);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    gpu_graph_free_executable(start);
    gpu_graph_free_executable(wait);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_gpu_free(mtest_gpu_memory(), in);
    mtest_gpu_free(mtest_gpu_memory(), out);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {100, 300 * 1024, 0, 9000};
    static const size_t some[] = {64, 0, 8192, 8193, 70000};
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, n = rounds < ROUNDS ? 2 : 4;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : SEED;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    other_stream = mtest_gpu_stream();
    gpu_lanes_side_make(&side);
    for (int i = 0; i < n; i++) {
        test_each_with_each(&sizes[i]);
        test_pending(i % 2, &sizes[i]);
        test_pending(1 - i % 2, &sizes[i]);
        test_apart(0, &sizes[i]);
        test_apart(1, &sizes[i]);
    }
    test_in_turn(30);
    test_status(1000, 600);
    test_status(200000, 90000);
    test_status(100, 0);
    test_random(rounds, seed, 1, sizes);
    test_random(rounds, seed + 1, 1, sizes + 1);
    test_random(rounds, seed + 2, 5, some);
    gpu_lanes_side_free(&side);
    mtest_gpu_stream_end(other_stream);
    return mtest_end();
}
