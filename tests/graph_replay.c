/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits that are captured into a graph, which is launched again and again: sizes and
 * modes, one request and many, in either order, thousands of launches of which many are under way,
 * and several exchanges in one graph. Two ranks, with MTEST_STREAM and MTEST_BUFFER.
 *
 *     graph_replay [TIMES]   so many launches of small graphs (2000)
 */
#include <stdlib.h>
#include <string.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, FEW = 4, EXCHANGES = 20, TIMES = 2000 };
enum { AT_ONCE = 1 << 20 }; /* no pause between launches */

static int peer, times = TIMES;
static struct gpu_lanes_side side;

/* From none over what is sent at once, up to it and just above, to what several blocks move. */
static const size_t sizes[] = {0, 1, 17, 1024, 8191, 8192, 8193, 40000, 65536, 300 * 1024};

/* Launch, and wait for the stream now and then. */
static void launch(void *executable, int n, int pause)
{
    for (int i = 1; i <= n; i++) {
        gpu_graph_launch(executable, side.stream);
        if (i % pause == 0) {
            mtest_gpu_synchronize(side.stream);
        }
    }
}

static void *capture(struct gpu_lanes *l, int exchanges, enum gpu_graph_mode mode)
{
    gpu_graph_begin(side.stream, mode);
    for (int i = 0; i < exchanges; i++) {
        gpu_lanes_exchange(l, side.queue, side.stream);
    }
    MTEST_CHECK(gpu_graph_is_valid(side.stream));
    return gpu_graph_end_executable(side.stream);
}

static void end(struct gpu_lanes *l, void *executable, long exchanges, const char *what)
{
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(l, exchanges, what);
    gpu_graph_free_executable(executable);
    gpu_lanes_free(l);
}

/* One of each size; what is captured is the first that the queue is given. */
static void test_sizes(enum mtest_mode mode)
{
    static struct gpu_lanes l;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *executable;

        gpu_lanes_make(&l, mode, 1, &sizes[i], peer, TAG, false);
        executable = capture(&l, 1, (enum gpu_graph_mode)(i % 3));
        launch(executable, FEW, i % 2 == 0 ? 1 : AT_ONCE);
        end(&l, executable, FEW, mtest_mode_name(mode));
    }
}

/* A ready send says that the receive is started, of which the peer tells by a message before. */
static void test_ready(size_t bytes)
{
    static struct gpu_lanes l, told;
    static const size_t one = 1;
    void *executable;

    gpu_lanes_make(&l, MTEST_RSEND, 1, &bytes, peer, TAG, false);
    gpu_lanes_make(&told, MTEST_SEND, 1, &one, peer, TAG + 1, false);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(&l, side.stream);
    MTEST_OK(MPIX_Enqueue_start(side.queue, l.receives));
    gpu_lanes_exchange(&told, side.queue, side.stream);
    MTEST_OK(MPIX_Enqueue_start(side.queue, l.sends));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, l.r));
    gpu_lanes_get(&l, side.stream);
    executable = gpu_graph_end_executable(side.stream);
    launch(executable, FEW, AT_ONCE);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&told, FEW, "told to be ready");
    gpu_lanes_free(&told);
    end(&l, executable, FEW, "ready");
}

/* Many in one call, of all sizes or of small ones, in the same order at both ends or in another. */
static void test_many(int n, bool small, bool sends_first)
{
    static struct gpu_lanes l;
    size_t bytes[GPU_LANES_MOST];
    void *executable;

    for (int i = 0; i < n; i++) {
        bytes[i] = small || i % 9 != 8 ? (size_t)(16 + 101 * i) % 8192 : (size_t)(60000 + i);
    }
    gpu_lanes_make(&l, MTEST_SEND, n, bytes, peer, TAG, sends_first);
    executable = capture(&l, 1, GPU_GRAPH_GLOBAL);
    launch(executable, 2 * FEW, 3);
    end(&l, executable, 2L * FEW, "many in one call");
}

/* One request in one call, started and waited for one after the other. */
static void test_one_by_one(int n)
{
    static struct gpu_lanes l;
    size_t bytes[GPU_LANES_MOST];
    void *executable;

    for (int i = 0; i < n; i++) {
        bytes[i] = i % 4 == 3 ? 100000 : 64;
    }
    gpu_lanes_make(&l, MTEST_SSEND, n, bytes, peer, TAG, mtest_rank == 0);
    gpu_graph_begin(side.stream, GPU_GRAPH_RELAXED);
    gpu_lanes_put(&l, side.stream);
    for (int i = 0; i < 2 * n; i++) {
        MTEST_OK(MPIX_Enqueue_start(side.queue, &l.r[i]));
    }
    for (int i = 2 * n - 1; i >= 0; i--) {
        MTEST_OK(MPIX_Enqueue_wait(side.queue, &l.r[i]));
    }
    gpu_lanes_get(&l, side.stream);
    executable = gpu_graph_end_executable(side.stream);
    launch(executable, FEW, AT_ONCE);
    end(&l, executable, FEW, "one by one");
}

static void test_often(size_t bytes, int pause)
{
    static struct gpu_lanes l;
    void *executable;

    gpu_lanes_make(&l, MTEST_SEND, 1, &bytes, peer, TAG, false);
    executable = capture(&l, 1, GPU_GRAPH_GLOBAL);
    launch(executable, times, pause);
    end(&l, executable, times, "often");
}

/* The same requests again and again in one graph. */
static void test_exchanges(int n)
{
    static struct gpu_lanes l;
    size_t bytes[GPU_LANES_MOST];
    void *executable;

    for (int i = 0; i < n; i++) {
        bytes[i] = i == 1 ? 70000 : 500;
    }
    gpu_lanes_make(&l, MTEST_SEND, n, bytes, peer, TAG, mtest_rank == 1);
    executable = capture(&l, EXCHANGES, GPU_GRAPH_GLOBAL);
    launch(executable, FEW, AT_ONCE);
    end(&l, executable, (long)FEW * EXCHANGES, "several exchanges in one graph");
}

/* What is sent next is what was received, one byte further: nothing but copies and ours is in the
 * graph, and what went wrong once is seen at the end. */
static void test_turning(size_t bytes)
{
    unsigned char *host = mtest_gpu_alloc(MTEST_PINNED, bytes);
    unsigned char *out = mtest_gpu_alloc(mtest_gpu_memory(), bytes);
    unsigned char *in = mtest_gpu_alloc(mtest_gpu_memory(), bytes);
    int from = times % 2 == 0 ? mtest_rank : peer;
    void *executable;
    MPI_Request r[2];
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i++) {
        host[i] = mtest_pattern(mtest_rank, i);
    }
    mtest_gpu_copy_now(out, host, bytes);
    MTEST_OK(MPI_Recv_init(in, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, r));
    mtest_gpu_copy(side.stream, out, in + bytes - 1, 1);
    mtest_gpu_copy(side.stream, out + 1, in, bytes - 1);
    executable = gpu_graph_end_executable(side.stream);
    launch(executable, times, AT_ONCE);
    gpu_lanes_side_finish(&side);
    mtest_gpu_copy_now(host, out, bytes);
    for (size_t i = 0; i < bytes; i++) {
        wrong += host[(i + (size_t)times) % bytes] != mtest_pattern(from, i);
    }
    MTEST_EQ(wrong, 0);
    gpu_graph_free_executable(executable);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_gpu_free(MTEST_PINNED, host);
    mtest_gpu_free(mtest_gpu_memory(), out);
    mtest_gpu_free(mtest_gpu_memory(), in);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 17, GPU_LANES_MOST};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    times = argc > 1 ? atoi(argv[1]) : TIMES;
    peer = 1 - mtest_rank;
    gpu_lanes_side_make(&side);
    test_sizes(MTEST_SEND);
    test_sizes(MTEST_SSEND);
    test_ready(100);
    test_ready(300 * 1024);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        test_many(counts[i], true, false);
        test_many(counts[i], false, mtest_rank == 0);
        test_many(counts[i], false, true);
    }
    test_one_by_one(1);
    test_one_by_one(5);
    test_often(1000, AT_ONCE);
    test_often(9000, 50);
    if (mtest_gpu_memory() != MTEST_PAGEABLE) { /* which no graph copies */
        test_turning(1000);
        test_turning(8192);
    }
    test_exchanges(1);
    test_exchanges(3);
    gpu_lanes_side_free(&side);
    return mtest_end();
}
