/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Enqueued puts that are with the NIC before the stream gets there, on the double of the cxi
 * provider: nothing moves before, and then the stream only rings; a flush meanwhile waits for
 * nothing; of a queue that fails before nothing is put; a signal that is freed meanwhile; more puts
 * than there is room for; a write that fails; rounds with resets. On a stream of a GPU likewise of
 * what graphs have captured, which the NIC has before each launch. Rank r puts to rank r + 1.
 */
#include "cxi_double/switches.h"
#include "cxi_hooks.h"
#include "gpu_graph.h"
#include "mtest.h"
#include "mtest_gpu.h"

#include <mpix_queue_rma.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AREA = 1 << 18, GUARD = 0x5a, GAP = 40, MOST = 300, PAUSE_US = 50000, LONG_US = 300000 };

static const struct cxi_double_hooks *hooks;
static unsigned char *memory; /* the first half is put from, the second put to */
static MPIX_Window window;
static MPIX_Host_stream stream;
static atomic_int n_posts;
static MPIX_Blk from[MOST], to[MOST], none, told; /* told: no data, but the signal of to */
static int is_by_gpu;                             /* the stream rings by itself */
static int n_nics;

void mpixq_rma_window_fail(MPIX_Window window, int code); /* the library's own */

/* In place of the library's own (--wrap). */
struct mpixq_rma_ahead;
static atomic_int is_doubtful, is_early;
static uint64_t ends; /* of puts, so many are over when there is doubt */
bool __real_mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, bool has_failed, uint64_t *rings_p);
bool __wrap_mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, bool has_failed, uint64_t *rings_p);

bool __wrap_mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, bool has_failed, uint64_t *rings_p)
{
    if (atomic_exchange(&is_early, 0)) {
        *rings_p = 0;
        return false;
    }
    for (unsigned tries = 0; atomic_load(&is_doubtful) && hooks->events() < ends;) {
        mtest_backoff(&tries);
    }
    return __real_mpixq_rma_ahead_ring(ahead, has_failed || atomic_load(&is_doubtful), rings_p);
}

static int before(void)
{
    return (mtest_rank + mtest_size - 1) % mtest_size;
}

static unsigned char data_at(int rank, size_t i)
{
    return (unsigned char)(i * 5 + i / 253 + (size_t)rank * 37 + 1);
}

static void swap(MPIX_Blk *blks, int n)
{
    MPI_Sendrecv_replace(blks, n * (int)sizeof *blks, MPI_BYTE, before(), 1,
                         (mtest_rank + 1) % mtest_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* So many blocks of the next rank with a signal there that all of them tell, and with the right to
 * that; and of this one. */
static MPIX_Signal open_blocks(int n, size_t bytes)
{
    MPIX_Signal signal;

    memset(memory + AREA, GUARD, AREA);
    MTEST_OK(MPIX_Signal_init(window, n + 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &none));
    MTEST_OK(MPIX_Blk_init(window, AREA, 0, signal, &told));
    swap(&told, 1);
    MTEST_OK(MPIX_Put(&none, &told));
    MTEST_OK(MPIX_Window_flush(window));
    for (int i = 0; i < n; i++) {
        MPI_Aint at = i * (MPI_Aint)(bytes + GAP);

        MTEST_OK(MPIX_Blk_init(window, at, (MPI_Aint)bytes, MPIX_SIGNAL_NULL, &from[i]));
        MTEST_OK(MPIX_Blk_init(window, AREA + at, (MPI_Aint)bytes, signal, &to[i]));
    }
    swap(to, n);
    MPI_Barrier(MPI_COMM_WORLD);
    return signal;
}

/* All, and nothing else; or nothing at all. */
#define check(n, bytes, is_there) check_at(__LINE__, n, bytes, is_there)
static void check_at(int line, int n, size_t bytes, int is_there)
{
    for (size_t i = 0; i < AREA; i++) {
        size_t put = i / (bytes + GAP), in = i % (bytes + GAP);
        int expected = is_there && put < (size_t)n && in < bytes ? data_at(before(), i) : GUARD;

        if (memory[AREA + i] != expected) {
            mtest_fail(__FILE__, line, "byte %zu of put %zu is %d, expected %d", in, put,
                       memory[AREA + i], expected);
            return;
        }
    }
}

static void close_signal(MPIX_Signal *signal)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(signal));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void note_post(const struct cxi_double_post *post)
{
    (void)post;
    atomic_fetch_add(&n_posts, 1);
}

/* Until the NIC has been given so many operations. */
static void await_posts(int n)
{
    unsigned tries = 0;

    while (atomic_load(&n_posts) < n) {
        mtest_backoff(&tries);
    }
    MTEST_EQ(atomic_load(&n_posts), n);
}

/* A queue behind a gate. */
static MPIX_Queue open_queue(struct mtest_gate *gate)
{
    MPIX_Queue queue;

    *gate = (struct mtest_gate){0, 0};
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, gate));
    atomic_store(&n_posts, 0);
    hooks->watch(note_post, NULL);
    return queue;
}

static void close_queue(MPIX_Queue *queue)
{
    hooks->watch(NULL, NULL);
    MTEST_OK(MPIX_Queue_free(queue));
}

/* By a put each, or one plan of all. What has both data and signal is two operations. */
static void test_held(int n, size_t bytes, int by_plan)
{
    MPIX_Signal signal = open_blocks(n, bytes);
    MPIX_Plan plan = MPIX_PLAN_NULL;
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);
    uint64_t stores;
    int flag = 1, posts = n * (bytes > 0 ? 2 : 1);

    if (by_plan) {
        MTEST_OK(MPIX_Plan_create(n, from, to, &plan));
        MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
    } else {
        for (int i = 0; i < n; i++) {
            MTEST_OK(MPIX_Enqueue_put(queue, &from[i], &to[i]));
        }
    }
    await_posts(posts);
    stores = hooks->stores();
    MTEST_OK(MPIX_Window_flush(window)); /* waits for nothing of that */
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MTEST_KIND_TEXT(MPIX_Window_free(&window), MPIXQ_ERR_STATE, "window");
    check(n, bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(hooks->stores() - stores, n);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings"), n);
    if (by_plan) {
        MTEST_OK(MPIX_Plan_free(&plan));
    }
    MTEST_OK(MPIX_Signal_wait(signal));
    check(n, bytes, 1);
    MTEST_EQ(atomic_load(&n_posts), posts);
    MTEST_OK(MPIX_Window_flush(window));
    close_queue(&queue);
    close_signal(&signal);
}

/* The stream has found it not held a moment before it was: then it is rung for, and not made anew,
 * as what is with the NIC could not be taken back. */
static void test_early(void)
{
    MPIX_Signal signal = open_blocks(1, 3000);
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);
    uint64_t stores;

    MTEST_OK(MPIX_Enqueue_put(queue, &from[0], &to[0]));
    await_posts(2);
    stores = hooks->stores();
    atomic_store(&is_early, 1);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(atomic_load(&is_early), 0);
    MTEST_EQ(hooks->stores() - stores, 1);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings"), 1);
    MTEST_OK(MPIX_Signal_wait(signal));
    check(1, 3000, 1);
    MTEST_EQ(atomic_load(&n_posts), 2);
    MTEST_OK(MPIX_Window_flush(window));
    close_queue(&queue);
    close_signal(&signal);
}

/* What follows a stream sees its queue as failed, behind a GPU that has rung: the puts are known by
 * their ends, and a flush waits for these. */
static void test_doubted(int n, size_t bytes)
{
    MPIX_Signal signal = open_blocks(n, bytes);
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);
    uint64_t stores = hooks->stores();

    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[i], &to[i]));
    }
    await_posts(2 * n);
    ends = hooks->events() + (uint64_t)n;
    atomic_store(&is_doubtful, 1);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    atomic_store(&is_doubtful, 0);
    MTEST_EQ(hooks->stores() - stores, n);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings"), 0);
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    check(n, bytes, 1);
    MTEST_OK(MPIX_Signal_wait(signal));
    close_queue(&queue);
    close_signal(&signal);
}

/* Without a signal there, and with one here, which is told though nobody else looks. */
static void test_local(void)
{
    MPIX_Signal there = open_blocks(1, 5000), here;
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);

    MTEST_OK(MPIX_Blk_set_signal(&to[0], NULL));
    MTEST_OK(MPIX_Signal_init(window, 1, &here));
    MTEST_OK(MPIX_Blk_init(window, 0, 5000, here, &from[0]));
    MTEST_OK(MPIX_Enqueue_put(queue, &from[0], &to[0]));
    await_posts(1);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Signal_wait(here));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    check(1, 5000, 1);
    close_queue(&queue);
    MTEST_OK(MPIX_Signal_free(&here));
    close_signal(&there);
}

/* The queue fails in front of them: the data is not put, and the signal is as it was. */
static void test_fails(int n)
{
    MPIX_Signal signal = open_blocks(n, 600), early;
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);
    uint64_t stores = hooks->stores();

    MTEST_OK(MPIX_Signal_init(window, 1, &early));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, early)); /* too soon */
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[i], &to[i]));
    }
    await_posts(2 * n);
    mtest_gate_open(&gate);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    MTEST_EQ(hooks->stores() - stores, 0);
    close_queue(&queue);
    MTEST_OK(MPIX_Window_flush(window));
    (void)usleep(PAUSE_US);
    MPI_Barrier(MPI_COMM_WORLD);
    check(n, 600, 0);
    /* All but the one that gave the right. */
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "events outstanding");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Put(&from[i], &to[i]));
    }
    MTEST_OK(MPIX_Signal_wait(signal));
    check(n, 600, 1);
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_OK(MPIX_Signal_free(&early));
    close_signal(&signal);
}

/* What the next rank has told before is known here: it answers a put by message after that. */
static void hear_of_next(void)
{
    MPIX_Blk silent = none;

    swap(&silent, 1);
    MTEST_OK(MPIX_Put(&none, &silent));
    MTEST_OK(MPIX_Window_flush(window));
}

/* The signal is freed, and that is known here: what was held goes by a message, and is refused. A
 * GPU rings all the same, long after that: nothing is told, but by the flush. */
static void test_freed(void)
{
    MPIX_Signal signal = open_blocks(1, 600), later;
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);

    MTEST_OK(MPIX_Enqueue_put(queue, &from[0], &to[0]));
    await_posts(2);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&signal));
    MPI_Barrier(MPI_COMM_WORLD);
    hear_of_next();
    for (int us = 0; is_by_gpu && us < LONG_US; us += PAUSE_US) {
        MTEST_OK(MPIX_Window_flush(window)); /* looks at it, and waits for nothing */
        (void)usleep(PAUSE_US);
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE, "signal of the block was freed");
    MPI_Barrier(MPI_COMM_WORLD);
    check(1, 600, is_by_gpu);
    MTEST_OK(MPIX_Signal_init(window, 2, &later));
    MTEST_KIND_TEXT(MPIX_Signal_reset(later), MPIXQ_ERR_STATE, "2 of 2 events outstanding");
    close_queue(&queue);
    close_signal(&later);
}

/* More than can be held, most of which the host makes when the stream is there. */
static void test_many(void)
{
    MPIX_Signal signal = open_blocks(MOST, 100);
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);

    for (int i = 0; i < MOST; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[i], &to[i]));
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Signal_wait(signal));
    check(MOST, 100, 1);
    MTEST_OK(MPIX_Window_flush(window));
    close_queue(&queue);
    close_signal(&signal);
}

/* One write fails: a flush says so, and so does the signal there, which nothing completes. */
static void test_write_fails(void)
{
    MPIX_Signal signal = open_blocks(1, 600);
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);

    MTEST_OK(MPIX_Enqueue_put(queue, &from[0], &to[0]));
    await_posts(2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 0) {
        hooks->fault(NIC_FAULT_FAIL, NIC_HIT_WRITE, 1, 1);
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    if (mtest_rank == 0) {
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_COMM, "put to rank 1 of window");
        MTEST_EQ(hooks->hits(), 1);
        hooks->fault(NIC_FAULT_NONE, NIC_HIT_ANY, 1, 1);
    } else {
        MTEST_OK(MPIX_Window_flush(window));
    }
    if (mtest_rank == 1) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_COMM, "put by rank 0");
        check(1, 600, 0);
    } else {
        MTEST_OK(MPIX_Signal_wait(signal));
        check(1, 600, 1);
    }
    close_queue(&queue);
    close_signal(&signal);
}

/* The two put to each other in turns, to one of two signals each, and all is enqueued at once: the
 * put of round k + 1 tells the other one that the signal of round k is reset here. */
static void test_rounds(int has_room)
{
    enum { ROUNDS = 60, BYTES = 1000 };
    MPIX_Signal signal[2];
    struct mtest_gate gate;
    MPIX_Queue queue;

    memset(memory + AREA, GUARD, AREA);
    for (int k = 0; k < 2; k++) {
        MTEST_OK(MPIX_Signal_init(window, 1, &signal[k]));
        MTEST_OK(MPIX_Blk_init(window, AREA + k * (BYTES + GAP), BYTES, signal[k], &to[k]));
        MTEST_OK(MPIX_Blk_init(window, k * (BYTES + GAP), BYTES, MPIX_SIGNAL_NULL, &from[k]));
    }
    swap(to, 2);
    queue = open_queue(&gate);
    for (int k = 0; k < ROUNDS; k++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[k % 2], &to[k % 2]));
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, signal[k % 2]));
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Window_flush(window));
    check(2, BYTES, 1);
    MTEST_CHECK(!has_room || mtest_queue_count(queue, "mpixq_rings") > 0);
    close_queue(&queue);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&signal[0]));
    MTEST_OK(MPIX_Signal_free(&signal[1]));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- Graphs --------------------------------------------------------------------------------- */

/* Of n puts, as a plan if there are several, behind a reset that is too soon, if there is one. */
static void *capture(MPIX_Queue queue, int n, MPIX_Signal early)
{
    void *gpu_stream = mtest_gpu_stream_of(stream);
    MPIX_Plan plan;

    gpu_graph_begin(gpu_stream, GPU_GRAPH_GLOBAL);
    if (early != MPIX_SIGNAL_NULL) {
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, early));
    }
    if (n == 1) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[0], &to[0]));
    } else {
        MTEST_OK(MPIX_Plan_create(n, from, to, &plan));
        MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
        MTEST_OK(MPIX_Plan_free(&plan));
    }
    return gpu_graph_end_executable(gpu_stream);
}

static void launch(void *graph)
{
    gpu_graph_launch(graph, mtest_gpu_stream_of(stream));
    mtest_gpu_synchronize(mtest_gpu_stream_of(stream));
}

static MPIX_Queue open_graphs(void)
{
    struct mtest_gate gate;
    MPIX_Queue queue = open_queue(&gate);

    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    return queue;
}

/* Each launch rings once for each NIC, if it is not too much to be held, and all of it is made once
 * in any case. */
static void test_graph(int n, size_t bytes, int is_held)
{
    MPIX_Signal signal = open_blocks(n, bytes);
    MPIX_Queue queue = open_graphs();
    void *graph = capture(queue, n, MPIX_SIGNAL_NULL);
    int bells = n < n_nics ? n : n_nics, posts = n * (bytes > 0 ? 2 : 1);

    for (int k = 1; k <= 3; k++) {
        uint64_t stores = hooks->stores(), by_thread = mtest_count("mpixq_puts_of_graphs");

        if (is_held) {
            await_posts(posts * k);
        }
        MTEST_OK(MPIX_Window_flush(window)); /* waits for nothing of that */
        check(n, bytes, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        launch(graph);
        MTEST_EQ(hooks->stores() - stores, is_held ? bells : 0);
        MTEST_OK(MPIX_Window_flush(window));
        MTEST_EQ(mtest_count("mpixq_puts_of_graphs") - by_thread, is_held ? 0 : (uint64_t)n);
        MTEST_OK(MPIX_Signal_wait_reset(signal));
        check(n, bytes, 1);
        memset(memory + AREA, GUARD, AREA);
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Put(&none, &told)); /* as of open_blocks, for the next one */
    }
    MTEST_OK(MPIX_Window_flush(window));
    gpu_graph_free_executable(graph);
    close_queue(&queue);
    close_signal(&signal);
}

/* The queue fails in front of them: nothing is rung then, nor by the next launch. */
static void test_graph_fails(int n)
{
    MPIX_Signal signal = open_blocks(n, 600), early;
    MPIX_Queue queue = open_graphs();
    uint64_t stores = hooks->stores();
    void *graph;

    MTEST_OK(MPIX_Signal_init(window, 1, &early));
    graph = capture(queue, n, early);
    await_posts(2 * n);
    launch(graph);
    launch(graph);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    MTEST_EQ(hooks->stores() - stores, 0);
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    check(n, 600, 0);
    gpu_graph_free_executable(graph);
    close_queue(&queue);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "events outstanding");
    MTEST_OK(MPIX_Signal_free(&early));
    close_signal(&signal);
}

/* One of two signals of a plan is freed while it is held, which is known long before the launch:
 * the flush tells of its put, and the other ones arrive. The next launch has all made by messages,
 * or by the host. */
static void test_graph_freed(int n)
{
    MPIX_Signal other = open_blocks(1, 600), signal;
    MPIX_Blk of_other = to[0];
    MPIX_Queue queue;
    void *graph;

    signal = open_blocks(n, 600);
    queue = open_graphs();
    to[0] = of_other;
    graph = capture(queue, n, MPIX_SIGNAL_NULL);
    await_posts(2 * n);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&other));
    MPI_Barrier(MPI_COMM_WORLD);
    hear_of_next();
    (void)usleep(LONG_US);
    for (int k = 0; k < 2; k++) {
        MPIX_Put(&none, &told); /* for the one that does not count */
        launch(graph);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE,
                        "signal of the block was freed");
        MTEST_OK(MPIX_Signal_wait(signal));
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Signal_reset(signal));
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Put(&none, &told));
    }
    MTEST_OK(MPIX_Window_flush(window));
    check(n, 600, 1);
    gpu_graph_free_executable(graph);
    close_queue(&queue);
    close_signal(&signal);
}

/* What is held for graphs that go is lost, until the host makes what is captured. */
static void test_graphs_gone(int n)
{
    MPIX_Signal signal = open_blocks(n, 600);
    MPIX_Queue queue = open_graphs();

    for (int k = 0; k < 6; k++) {
        void *graph = capture(queue, n, MPIX_SIGNAL_NULL);

        (void)usleep(PAUSE_US / 5);
        if (k == 5) {
            launch(graph);
        }
        gpu_graph_free_executable(graph);
    }
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_OK(MPIX_Signal_wait(signal));
    check(n, 600, 1);
    close_queue(&queue);
    close_signal(&signal);
}

/* The window fails, as when a process of it has ended: nothing that is held is rung for, by a GPU
 * not even as the stream has not come there yet. */
static void test_window_fails(int n, int by_graph)
{
    unsigned char *kept_memory = memory;
    MPIX_Window kept = window;
    struct mtest_gate gate;
    MPIX_Signal signal;
    MPIX_Queue queue;
    uint64_t stores;
    void *graph;

    MTEST_OK(
        MPIX_Window_allocate(2 * (MPI_Aint)AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    signal = open_blocks(n, 600);
    queue = by_graph ? open_graphs() : open_queue(&gate);
    graph = by_graph ? capture(queue, n, MPIX_SIGNAL_NULL) : NULL;
    for (int i = 0; !by_graph && i < n; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &from[i], &to[i]));
    }
    await_posts(2 * n);
    MPI_Barrier(MPI_COMM_WORLD);
    stores = hooks->stores();
    mpixq_rma_window_fail(window, MPI_ERR_OTHER);
    MTEST_CLASS(MPIX_Window_flush(window), MPI_ERR_OTHER); /* looks at them */
    if (by_graph) {
        launch(graph);
    } else {
        mtest_gate_open(&gate);
    }
    MTEST_CLASS(MPIX_Queue_wait(queue), MPI_ERR_OTHER);
    MTEST_EQ(hooks->stores() - stores, 0);
    close_queue(&queue);
    MPI_Barrier(MPI_COMM_WORLD);
    check(n, 600, 0);
    if (by_graph) {
        gpu_graph_free_executable(graph);
    }
    (void)signal; /* it goes with the window */
    MTEST_CLASS(MPIX_Window_free(&window), MPI_ERR_OTHER);
    memory = kept_memory;
    window = kept;
}

/* In this order, as each but the first one leaves something with its NIC when its graph goes. */
static void test_graphs(void)
{
    MPIX_Queue queue = open_graphs();

    MTEST_CHECK(gpu_graph_open());
    n_nics = (int)mtest_queue_count(queue, "mpixq_nics");
    close_queue(&queue);
    test_graph_freed(4);
    test_graph(1, 3000, 1);
    test_graph_fails(2);
    test_window_fails(2, 1);
    test_graph(7, 3000, 1);
    if (n_nics >= 4) { /* there is room for more */
        test_graph(12, 0, 1);
    }
    test_graph(40, 600, 0);
    test_graphs_gone(6);
}

/* Any other argument than graphs: there is room for less than others expect, so only that is looked
 * at. */
int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(
        MPIX_Window_allocate(2 * (MPI_Aint)AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    for (size_t i = 0; i < AREA; i++) {
        memory[i] = data_at(mtest_rank, i);
    }
    MTEST_OK(MPIX_Host_stream_create(&stream));
    is_by_gpu = mtest_gpu_kind() != NULL && getenv("HIP_DOUBLE_IO") == NULL &&
                getenv("CXI_DOUBLE_BELLS") == NULL && getenv("MPIXQ_GPU_OPS") == NULL;
    hooks = cxi_hooks();
    if (hooks != NULL && argc == 1) {
        test_held(1, 8, 0);
        test_held(20, 3000, 0);
        test_held(20, 3000, 1);
        test_held(8, 0, 0);
        test_early();
        test_local();
        test_fails(3);
        test_freed();
        if (is_by_gpu) {
            test_doubted(5, 3000);
        }
        test_write_fails();
        test_held(10, 100, 1);
    }
    if (hooks != NULL && argc == 1) {
        test_window_fails(3, 0);
    }
    if (argc > 1 && strcmp(argv[1], "graphs") == 0) {
        test_graphs();
    } else if (hooks != NULL && mtest_size == 2) {
        test_rounds(is_by_gpu && argc == 1);
    }
    if (hooks != NULL) {
        test_many();
    }
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_OK(MPIX_Window_free(&window));
    return mtest_end();
}
