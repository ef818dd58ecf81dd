/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, plans, waits and resets of windows in memory of GPUs, in the order of a stream and in
 * graphs that are launched again and again, mixed at random with what the host does. Two ranks of
 * each pair exchange a block in each round, and send on what came, one byte further: at the end
 * the block tells whether each round was made once, and in order. With MTEST_STREAM and
 * MTEST_BUFFER. Arguments: rounds, first seed; and nics, where GPUs do not reach each other: then
 * what the host and NICs do is as for windows in memory of the host, whose tests have the rest.
 */
#include "mtest.h"

#include <mpix_queue_device_rma.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_graph.h"
#include "rma_rounds.h"

enum { PER_LAUNCH = 32, ROUNDS = 60 };

static unsigned char *there, *seen;

static void *alloc(size_t size)
{
    const char *kind = getenv("MTEST_BUFFER");
    void *special = kind != NULL ? mtest_gpu_special_alloc(kind, size) : NULL;

    return special != NULL ? special : mtest_gpu_alloc(MTEST_DEVICE, size);
}

static void release(void *block)
{
    if (!mtest_gpu_special_free(block)) {
        mtest_gpu_free(MTEST_DEVICE, block);
    }
}

static void make_half(int h)
{
    MPI_Aint out = (MPI_Aint)(bytes * (size_t)h), in = (MPI_Aint)(bytes * (size_t)(2 + h));

    halves[h].sent = there + out;
    halves[h].received = there + in;
    make_blocks(&halves[h], out, in);
}

static void make(size_t size, int blocks)
{
    bytes = size;
    n_blocks = blocks;
    there = alloc(4 * bytes);
    seen = malloc(4 * bytes);
    for (size_t i = 0; i < bytes; i++) {
        seen[i] = first(mtest_rank, i);
    }
    mtest_gpu_copy_now(there, seen, bytes);
    mtest_gpu_copy_now(there + bytes, seen, 1);
    MTEST_OK(
        MPIX_Window_create(there, (MPI_Aint)(4 * bytes), MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    make_half(0);
    make_half(1);
}

static void unmake(void)
{
    for (int h = 0; h < 2; h++) {
        MTEST_OK(MPIX_Plan_free(&halves[h].plan));
        MTEST_OK(MPIX_Signal_free(&halves[h].signal));
    }
    MTEST_OK(MPIX_Window_free(&window));
    release(there);
    free(seen);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static void enqueue_put(struct half *half, int by_plan)
{
    if (by_plan) {
        MTEST_OK(MPIX_Enqueue_plan_start(queue, half->plan));
        return;
    }
    for (int i = 0; i < n_blocks; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &half->out[i], &half->theirs[i]));
    }
}

/* What came is sent in the next round. The other rank has had what was sent from there before, as
 * it has put what came now since. */
static unsigned char *next_sent(const struct half *half)
{
    return halves[half == &halves[0]].sent + 1;
}

static void enqueue_round(struct half *half, int by_plan)
{
    enqueue_put(half, by_plan);
    if (by_plan) {
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, half->signal));
    } else {
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, half->signal));
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, half->signal));
    }
    mtest_gpu_copy(stream, next_sent(half), half->received, bytes - 1);
}

static void host_round(struct half *half)
{
    mtest_gpu_synchronize(stream);
    for (int i = 0; i < n_blocks; i++) {
        MTEST_OK(MPIX_Put(&half->out[i], &half->theirs[i]));
    }
    MTEST_OK(MPIX_Window_flush(window));
    if (half == &halves[0]) {
        MTEST_OK(MPIX_Signal_wait_reset(half->signal));
    } else {
        MTEST_OK(MPIX_Signal_wait(half->signal));
        MTEST_OK(MPIX_Signal_reset(half->signal));
    }
    mtest_gpu_copy_now(next_sent(half), half->received, bytes - 1);
}

static void check_rounds(int rounds)
{
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_copy_now(seen, halves[rounds % 2].sent, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (seen[i] != expected(rounds, i)) {
            mtest_fail(__FILE__, __LINE__, "%d rounds of %zu bytes in %d blocks: byte %zu", rounds,
                       bytes, n_blocks, i);
            return;
        }
    }
}

static void *capture(int h)
{
    gpu_graph_begin(stream, (enum gpu_graph_mode)(h % 3));
    enqueue_round(&halves[h], h);
    MTEST_CHECK(gpu_graph_is_valid(stream));
    return gpu_graph_end_executable(stream);
}

/* Each rank goes its own way: enqueued, by a graph, or by the host. */
static void test_mixed(int rounds, unsigned long long seed)
{
    void *graphs[2] = {capture(0), capture(1)};

    seed += (unsigned long long)mtest_rank * 1000;
    for (int round = 0; round < rounds; round++) {
        unsigned way = (unsigned)(mtest_random(&seed) % 8);

        if (way < 4) {
            gpu_graph_launch(graphs[round % 2], stream);
        } else if (way < 7) {
            enqueue_round(&halves[round % 2], way % 2 == 0);
        } else {
            host_round(&halves[round % 2]);
        }
    }
    check_rounds(rounds);
    for (int h = 0; h < 2; h++) {
        gpu_graph_free_executable(graphs[h]);
    }
}

/* Both halves in one graph, which is launched without a pause. */
static void test_replays(int launches)
{
    void *graph;

    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    enqueue_round(&halves[0], 0);
    enqueue_round(&halves[1], 1);
    graph = gpu_graph_end_executable(stream);
    for (int i = 0; i < launches; i++) {
        gpu_graph_launch(graph, stream);
    }
    check_rounds(2 * launches);
    gpu_graph_free_executable(graph);
}

static void run(size_t size, int blocks, int rounds, unsigned long long seed)
{
    make(size, blocks);
    make_queue();
    test_mixed(rounds, seed);
    free_queue();
    unmake();
    make(size, blocks);
    make_queue();
    test_replays(rounds);
    free_queue();
    unmake();
}

/* ---- What is under way ---------------------------------------------------------------------- */

static int is_complete(MPIX_Signal signal)
{
    int flag = -1;

    MTEST_OK(MPIX_Signal_test(signal, &flag));
    return flag;
}

static long launches(void)
{
    return mtest_queue_count(queue, "mpixq_launches");
}

/* A call is one launch, a plan one for each 32 of its puts. */
static void test_launches(void)
{
    long before;

    make(1 << 20, 40);
    make_queue();
    before = launches();
    MTEST_OK(MPIX_Enqueue_plan_start(queue, halves[0].plan));
    MTEST_EQ(launches() - before, 2);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, halves[0].signal));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, halves[0].signal));
    MTEST_EQ(launches() - before, 4);
    MTEST_OK(MPIX_Enqueue_plan_start(queue, halves[1].plan));
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, halves[1].signal));
    MTEST_EQ(launches() - before, 7);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(is_complete(halves[1].signal), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    free_queue();
    unmake();
}

/* What is enqueued, and graphs, hold signal and window; the plan was read. */
static void test_busy(void)
{
    MPIX_Blk local, plain, null;
    MPIX_Signal signal;
    void *graph;
    int flag = 1;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, signal, &local));
    memset(&null, 0, sizeof null); /* that of MPI_PROC_NULL */
    MTEST_OK(MPIX_Enqueue_put(queue, &local, &null));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    MTEST_KIND_TEXT(MPIX_Signal_free(&signal), MPIXQ_ERR_STATE, "signal");
    MTEST_KIND_TEXT(MPIX_Window_free(&window), MPIXQ_ERR_STATE, "window");
    MTEST_CHECK(window != MPIX_WINDOW_NULL);
    MTEST_OK(MPIX_Queue_test(queue, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &plain));
    MTEST_OK(MPIX_Put(&plain, &local));
    MTEST_OK(MPIX_Queue_wait(queue));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_put(queue, &local, &null));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    graph = gpu_graph_end_executable(stream);
    MTEST_KIND_TEXT(MPIX_Signal_free(&signal), MPIXQ_ERR_STATE, "graph");
    MTEST_KIND_TEXT(MPIX_Window_free(&window), MPIXQ_ERR_STATE, "graph");
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

/* More queues than have words at the same time, one after the other. */
static void test_queues(void)
{
    make(64, 1);
    for (int i = 0; i < 70; i++) {
        make_queue();
        enqueue_round(&halves[i % 2], 0);
        MTEST_OK(MPIX_Queue_wait(queue));
        free_queue();
    }
    unmake();
}

/* ---- What fails ----------------------------------------------------------------------------- */

/* A wait that resets, of a signal with too many events: it is not reset, nor what stands behind. */
static void fail_at_once(MPIX_Signal surplus, int captured)
{
    MPIX_Signal behind;
    MPIX_Blk on_behind;
    void *graph = NULL;

    MTEST_OK(MPIX_Signal_init(window, 2, &behind));
    MTEST_OK(MPIX_Blk_init(window, 0, 8, behind, &on_behind));
    MTEST_OK(MPIX_Put(&on_behind, &on_behind)); /* local and remote */
    MTEST_OK(MPIX_Window_flush(window));
    if (captured) {
        gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    }
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, surplus));
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, behind));
    if (captured) {
        graph = gpu_graph_end_executable(stream);
        gpu_graph_launch(graph, stream);
    }
    expect_failed(MPIXQ_ERR_STATE, "1 events too many");
    MTEST_EQ(is_complete(behind), 1);
    if (captured) {
        gpu_graph_free_executable(graph);
    }
    MTEST_OK(MPIX_Signal_free(&behind));
}

/* By the queue, or by a graph. */
static void make_failures(int captured)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Signal two, other;
    MPIX_Blk on_two, on_other;
    void *graph = NULL;

    MTEST_OK(MPIX_Signal_init(window, 2, &two));
    MTEST_OK(MPIX_Signal_init(window, 1, &other));
    MTEST_OK(MPIX_Blk_init(window, 0, 8, two, &on_two));
    MTEST_OK(MPIX_Blk_init(window, 8, 8, other, &on_other));
    if (captured) {
        gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    } else {
        mtest_gpu_launch(stream, mtest_gate_fn, &gate); /* until all is enqueued */
    }
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, two)); /* too soon */
    MTEST_OK(MPIX_Enqueue_put(queue, &on_other, &on_other));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, two)); /* does not block */
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, other));
    if (captured) {
        graph = gpu_graph_end_executable(stream);
        gpu_graph_launch(graph, stream);
    }
    mtest_gate_open(&gate);
    expect_failed(MPIXQ_ERR_STATE, "2 of 2 events outstanding");
    MTEST_EQ(is_complete(other), 0);
    MTEST_OK(MPIX_Put(&on_other, &on_other)); /* local and remote: two events, of which one is */
    MTEST_OK(MPIX_Window_flush(window));      /* too many */
    if (captured) {
        gpu_graph_free_executable(graph);
        gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    }
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, other));
    if (captured) {
        graph = gpu_graph_end_executable(stream);
        gpu_graph_launch(graph, stream);
    }
    expect_failed(MPIXQ_ERR_STATE, "1 events too many");
    if (captured) {
        gpu_graph_free_executable(graph);
    }
    fail_at_once(other, captured);
    MTEST_OK(MPIX_Signal_free(&two));
    MTEST_OK(MPIX_Signal_free(&other));
}

/* A graph that is destroyed while it is launched fails after that. */
static void test_destroyed(void)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Signal signal;
    void *graph;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal)); /* too soon */
    graph = gpu_graph_end_executable(stream);
    mtest_gpu_launch(stream, mtest_gate_fn, &gate);
    gpu_graph_launch(graph, stream);
    gpu_graph_free_executable(graph);
    mtest_gate_open(&gate);
    expect_failed(MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    free_queue();
    MTEST_OK(MPIX_Signal_free(&signal));
    unmake();
}

/* A graph outlives its queue. That a later queue fails, which has what was that one's, does not
 * end its waits. */
static void test_outlived(void)
{
    MPIX_Blk plain, in, on_told;
    MPIX_Signal awaited, told;
    void *graph, *other;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 1, &awaited));
    MTEST_OK(MPIX_Signal_init(window, 1, &told));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &plain));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, awaited, &in));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, told, &on_told));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, awaited));
    MTEST_OK(MPIX_Enqueue_put(queue, &plain, &on_told)); /* not if the wait is given up */
    graph = gpu_graph_end_executable(stream);
    free_queue();
    make_queue();
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, awaited)); /* too soon */
    mtest_gpu_synchronize(stream);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    other = mtest_gpu_stream();
    gpu_graph_launch(graph, other);
    usleep(200000); /* some hundred looks at all that can end the wait */
    MTEST_OK(MPIX_Put(&plain, &in));
    mtest_gpu_synchronize(other);
    MTEST_EQ(is_complete(awaited), 1);
    MTEST_EQ(is_complete(told), 1);
    gpu_graph_free_executable(graph);
    mtest_gpu_stream_end(other);
    free_queue();
    MTEST_OK(MPIX_Signal_free(&awaited));
    MTEST_OK(MPIX_Signal_free(&told));
    unmake();
}

static void test_fails(void)
{
    MPIX_Queue of_host;
    MPIX_Blk local, stale;
    MPIX_Signal signal;

    make(256, 2);
    make_queue();
    make_failures(0);
    make_failures(1);
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 8, signal, &stale));
    MTEST_OK(MPIX_Blk_init(window, 8, 8, MPIX_SIGNAL_NULL, &local));
    MTEST_OK(MPIX_Signal_free(&signal));
    MTEST_KIND_TEXT(MPIX_Enqueue_put(queue, &local, &stale), MPIXQ_ERR_STATE, "was freed");
    MTEST_OK(PMPIXQ_Queue_init(&of_host, MPIX_QUEUE_AUTO, NULL));
    MTEST_KIND_TEXT(MPIX_Enqueue_put(of_host, &local, &local), MPIXQ_ERR_UNSUPPORTED, "GPU");
    MTEST_KIND_TEXT(MPIX_Enqueue_signal_wait(of_host, halves[0].signal), MPIXQ_ERR_UNSUPPORTED,
                    "GPU");
    MTEST_KIND_TEXT(MPIX_Enqueue_signal_wait_reset(of_host, halves[0].signal),
                    MPIXQ_ERR_UNSUPPORTED, "GPU");
    MTEST_OK(MPIX_Queue_free(&of_host));
    free_queue();
    unmake();
}

int main(int argc, char **argv)
{
    unsigned long long seed;
    bool by_nics;
    int rounds;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    by_nics = argc > 1 && strcmp(argv[argc - 1], "nics") == 0;
    argc -= by_nics;
    rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    seed = argc > 2 ? (unsigned long long)atoi(argv[2]) : 1;
    if (!gpu_graph_open()) {
        mtest_skip("no GPU is asked for (MTEST_STREAM), or its library has no graphs");
        return mtest_end();
    }
    if (mtest_gpu_devices() > 1) {
        mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    }
    peer = (mtest_rank ^ 1) < mtest_size ? mtest_rank ^ 1 : mtest_rank;
    run(4000, 1, rounds, seed);
    run(70001, 3, rounds / 3, seed + 1);
    run(1 << 20, 40, rounds / 6, seed + 2);
    if (!by_nics) {
        test_launches();
        test_busy();
        test_queues();
        test_fails();
        test_destroyed();
        test_outlived();
    }
    return mtest_end();
}
