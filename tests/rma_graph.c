/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, plans, waits and resets of windows in memory of the host, in graphs that are launched again
 * and again: alone, and mixed at random, call by call, with what is enqueued and what the host
 * does. Two ranks of each pair exchange a block in each round, and send on what came, one byte
 * further: at the end the block tells whether each round was made once, and in order. With
 * MTEST_STREAM and MTEST_BUFFER.
 *
 *     rma_graph [ROUNDS [SEED [allocated|left]]]   a window that the library allocates; or one that
 *                                                  is left to MPI_Finalize, and a graph that waits
 */
#include "rma_rounds.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_graph.h"

enum { ROUNDS = 60, GUARD = 24 };

static int allocates; /* the library does */
static unsigned char *memory;

static size_t room(void)
{
    return 4 * (bytes + GUARD) + GUARD;
}

static unsigned char guard(size_t at)
{
    return (unsigned char)(at * 13 + 171);
}

static void drain(void)
{
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
}

static void make_half(int h)
{
    struct half *half = &halves[h];
    MPI_Aint out = (MPI_Aint)(GUARD + (bytes + GUARD) * (size_t)h);
    MPI_Aint in = out + (MPI_Aint)(2 * (bytes + GUARD));

    half->sent = memory + out;
    half->received = memory + in;
    make_blocks(half, out, in);
}

static void make(size_t size, int blocks)
{
    bytes = size;
    n_blocks = blocks;
    if (allocates) {
        MTEST_OK(MPIX_Window_allocate((MPI_Aint)room(), MPI_COMM_WORLD, MPI_INFO_NULL, &memory,
                                      &window));
    } else {
        memory = mtest_gpu_alloc(mtest_gpu_memory(), room());
        MTEST_OK(
            MPIX_Window_create(memory, (MPI_Aint)room(), MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    }
    for (size_t i = 0; i < room(); i++) {
        memory[i] = guard(i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    make_half(0);
    make_half(1);
    for (size_t i = 0; i < bytes; i++) {
        halves[0].sent[i] = first(mtest_rank, i);
    }
    halves[1].sent[0] = first(mtest_rank, 0);
}

static void free_memory(void)
{
    if (!allocates) {
        mtest_gpu_free(mtest_gpu_memory(), memory);
    }
}

static void unmake(void)
{
    for (int h = 0; h < 2; h++) {
        MTEST_OK(MPIX_Plan_free(&halves[h].plan));
        MTEST_OK(MPIX_Signal_free(&halves[h].signal));
    }
    MTEST_OK(MPIX_Window_free(&window));
    free_memory();
}

/* ---- Rounds --------------------------------------------------------------------------------- */

enum { PUTS, PLAN, WAIT, RESET, WAIT_RESET, N_CALLS };

static void enqueue(struct half *half, int what)
{
    for (int i = 0; what == PUTS && i < n_blocks; i++) {
        MTEST_OK(MPIX_Enqueue_put(queue, &half->out[i], &half->theirs[i]));
    }
    if (what == PLAN) {
        MTEST_OK(MPIX_Enqueue_plan_start(queue, half->plan));
    } else if (what == WAIT) {
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, half->signal));
    } else if (what == RESET) {
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, half->signal));
    } else if (what == WAIT_RESET) {
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, half->signal));
    }
}

static void call(struct half *half, int what)
{
    drain();
    for (int i = 0; what == PUTS && i < n_blocks; i++) {
        MTEST_OK(MPIX_Put(&half->out[i], &half->theirs[i]));
    }
    if (what == PLAN) {
        MTEST_OK(MPIX_Plan_start(half->plan));
    } else if (what == WAIT) {
        MTEST_OK(MPIX_Signal_wait(half->signal));
    } else if (what == RESET) {
        MTEST_OK(MPIX_Signal_reset(half->signal));
    } else if (what == WAIT_RESET) {
        MTEST_OK(MPIX_Signal_wait_reset(half->signal));
    }
}

static void copy(void *arg)
{
    const struct half *half = arg, *other = &halves[half == &halves[0]];

    memcpy(other->sent + 1, half->received, bytes - 1);
}

/* What came is sent in the next round. What a GPU does not access it does not copy in graphs. */
static void pass_on(int h)
{
    if (allocates || mtest_gpu_memory() == MTEST_PAGEABLE) {
        mtest_gpu_launch(stream, copy, &halves[h]);
    } else {
        mtest_gpu_copy(stream, halves[1 - h].sent + 1, halves[h].received, bytes - 1);
    }
}

static void enqueue_round(int h, int by_plan)
{
    enqueue(&halves[h], by_plan ? PLAN : PUTS);
    enqueue(&halves[h], by_plan ? WAIT_RESET : WAIT);
    pass_on(h);
    if (!by_plan) {
        enqueue(&halves[h], RESET);
    }
}

static int is_data(const unsigned char *at)
{
    for (int h = 0; h < 2; h++) {
        const struct half *half = &halves[h];

        if ((at >= half->sent && at < half->sent + bytes) ||
            (at >= half->received && at < half->received + bytes)) {
            return 1;
        }
    }
    return 0;
}

static void check_rounds(int rounds)
{
    const unsigned char *sent = halves[rounds % 2].sent;

    drain();
    for (size_t i = 0; i < bytes; i++) {
        if (sent[i] != expected(rounds, i)) {
            mtest_fail(__FILE__, __LINE__, "%d rounds of %zu bytes in %d blocks: byte %zu", rounds,
                       bytes, n_blocks, i);
            break;
        }
    }
    for (size_t i = 0; i < room(); i++) {
        if (!is_data(memory + i) && memory[i] != guard(i)) {
            mtest_fail(__FILE__, __LINE__, "%zu bytes: guard %zu", bytes, i);
            break;
        }
    }
}

static void *capture(int h, int what)
{
    gpu_graph_begin(stream, (enum gpu_graph_mode)(h % 3));
    enqueue(&halves[h], what);
    MTEST_CHECK(gpu_graph_is_valid(stream));
    return gpu_graph_end_executable(stream);
}

/* Each rank goes its own way, call by call: enqueued, by a graph, or by the host. What was enqueued
 * before the first capture may still be under way then. */
static void test_mixed(int rounds, unsigned long long seed)
{
    void *graphs[2][N_CALLS];

    enqueue_round(0, 0);
    for (int h = 0; h < 2; h++) {
        for (int what = 0; what < N_CALLS; what++) {
            graphs[h][what] = capture(h, what);
        }
    }
    seed += (unsigned long long)mtest_rank * 1000;
    for (int round = 1; round < rounds; round++) {
        int h = round % 2, at_once = mtest_random(&seed) % 2 == 0;
        int calls[3] = {round % 4 < 2 ? PUTS : PLAN, at_once ? WAIT_RESET : WAIT, RESET};

        for (int i = 0; i < 3 - at_once; i++) {
            unsigned way = (unsigned)(mtest_random(&seed) % 9);

            if (way < 4) {
                gpu_graph_launch(graphs[h][calls[i]], stream);
            } else if (way < 8) {
                enqueue(&halves[h], calls[i]);
            } else {
                call(&halves[h], calls[i]);
            }
            if (i == 1) {
                pass_on(h);
            }
        }
    }
    check_rounds(rounds);
    for (int h = 0; h < 2; h++) {
        for (int what = 0; what < N_CALLS; what++) {
            gpu_graph_free_executable(graphs[h][what]);
        }
    }
}

/* Both halves in one graph, or two graphs in turn, launched without a pause. */
static void test_replays(int launches, int in_turn)
{
    void *graphs[2] = {NULL, NULL};

    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    enqueue_round(0, 0);
    if (in_turn) {
        graphs[0] = gpu_graph_end_executable(stream);
        gpu_graph_begin(stream, GPU_GRAPH_RELAXED);
    }
    enqueue_round(1, 1);
    graphs[in_turn] = gpu_graph_end_executable(stream);
    for (int i = 0; i < launches; i++) {
        gpu_graph_launch(graphs[0], stream);
        if (in_turn) {
            gpu_graph_launch(graphs[1], stream);
        }
    }
    check_rounds(2 * launches);
    for (int i = 0; i <= in_turn; i++) {
        gpu_graph_free_executable(graphs[i]);
    }
}

/* Two streams of a capture, each with a queue: puts in one, waits and resets in the other, where
 * the next round comes after both. */
static void test_branches(int launches)
{
    void *side = mtest_gpu_stream(), *event, *graph, *begun;
    MPIX_Queue of_side = MPIX_QUEUE_NULL, first_queue = queue;

    MTEST_OK(mtest_gpu_queue(&of_side, MPIX_QUEUE_AUTO, &side));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    begun = mtest_gpu_event(stream);
    mtest_gpu_event_wait(side, begun);
    for (int h = 0; h < 2; h++) {
        queue = of_side;
        enqueue(&halves[h], h == 0 ? PUTS : PLAN);
        queue = first_queue;
        enqueue(&halves[h], WAIT);
        pass_on(h);
        enqueue(&halves[h], RESET);
        event = mtest_gpu_event(h == 0 ? stream : side);
        mtest_gpu_event_wait(h == 0 ? side : stream, event);
        mtest_gpu_event_end(event);
    }
    graph = gpu_graph_end_executable(stream);
    for (int i = 0; i < launches; i++) {
        gpu_graph_launch(graph, stream);
    }
    check_rounds(2 * launches);
    gpu_graph_free_executable(graph);
    mtest_gpu_event_end(begun);
    MTEST_OK(MPIX_Queue_free(&of_side));
    mtest_gpu_stream_end(side);
}

static void run(size_t size, int blocks, int rounds, unsigned long long seed)
{
    for (int kind = 0; kind < 4; kind++) {
        make(size, blocks);
        make_queue();
        if (kind == 3) {
            test_branches(rounds);
        } else if (kind == 2) {
            test_mixed(rounds, seed);
        } else {
            test_replays(rounds, kind);
        }
        free_queue();
        unmake();
    }
}

/* A graph of puts alone, which is launched again before they are made. Once the stream is
 * synchronized a flush knows of all of them. */
static void test_puts(int launches)
{
    unsigned long long by_thread = mtest_count("mpixq_puts_of_graphs");
    const char *channels = getenv("MPIXQ_CHANNELS");
    int all = channels != NULL && strcmp(channels, "fallback") == 0; /* no NIC makes any */
    MPIX_Signal signal;
    MPIX_Blk here, theirs;
    void *graph;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, launches, &signal));
    MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)(GUARD + 2 * (bytes + GUARD)), (MPI_Aint)bytes, signal,
                           &here));
    MPI_Sendrecv(&here, sizeof here, MPI_BYTE, peer, 0, &theirs, sizeof theirs, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_put(queue, &halves[0].out[0], &theirs));
    graph = gpu_graph_end_executable(stream);
    for (int i = 0; i < launches; i++) {
        gpu_graph_launch(graph, stream);
    }
    gpu_graph_free_executable(graph);
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_OK(MPIX_Signal_wait(signal));
    by_thread = mtest_count("mpixq_puts_of_graphs") - by_thread;
    MTEST_CHECK(by_thread <= (unsigned)launches && (!all || by_thread == (unsigned)launches));
    for (size_t i = 0; i < bytes; i++) {
        MTEST_EQ(halves[0].received[i], first(peer, i));
    }
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

static int is_complete(MPIX_Signal signal)
{
    int flag = -1;

    MTEST_OK(MPIX_Signal_test(signal, &flag));
    return flag;
}

/* Likewise of a put within the process, which is complete then. */
static void test_flush(int launches)
{
    MPIX_Signal signal;
    MPIX_Blk blk;
    void *graph;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 2, &signal)); /* at both ends */
    MTEST_OK(MPIX_Blk_init(window, GUARD, 8, signal, &blk));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_put(queue, &blk, &blk));
    graph = gpu_graph_end_executable(stream);
    for (int i = 0; i < launches; i++) {
        gpu_graph_launch(graph, stream);
        mtest_gpu_synchronize(stream);
        if (i % 2 == 0) {
            MTEST_OK(MPIX_Window_flush(window));
        } else {
            MTEST_OK(MPIX_Queue_wait(queue));
        }
        MTEST_EQ(is_complete(signal), 1);
        MTEST_OK(MPIX_Signal_reset(signal));
    }
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

/* A block that takes long to put, and one of no bytes that completes the signal, as it has by now.
 */
static MPIX_Signal open_late(MPIX_Blk *from, MPIX_Blk *to, MPIX_Blk *in)
{
    MPIX_Signal signal;

    make(16 << 20, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 2, &signal));
    MTEST_OK(MPIX_Blk_init(window, GUARD, (MPI_Aint)(2 * bytes), MPIX_SIGNAL_NULL, from));
    MTEST_OK(
        MPIX_Blk_init(window, (MPI_Aint)(2 * bytes), (MPI_Aint)(2 * bytes), MPIX_SIGNAL_NULL, to));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 0, signal, in));
    MTEST_OK(MPIX_Put(in, in));
    MTEST_EQ(is_complete(signal), 1);
    return signal;
}

/* The GPU has passed a reset that its thread has still to make, as that copies, when a graph comes
 * to a wait that is captured first then: it waits for the round after that. So it does if another
 * wait is enqueued behind it meanwhile. */
static void test_late_reset(int is_followed)
{
    MPIX_Blk from, to, in;
    MPIX_Signal signal;
    void *graph, *event;

    signal = open_late(&from, &to, &in);
    MTEST_OK(MPIX_Enqueue_put(queue, &from, &to));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    graph = gpu_graph_end_executable(stream);
    gpu_graph_launch(graph, stream);
    event = mtest_gpu_event(stream);
    if (is_followed) {
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
        while (is_complete(signal)) {
            usleep(1000);
        }
    } else {
        MTEST_OK(MPIX_Queue_wait(queue));
    }
    usleep(5000); /* looks at what is announced */
    MTEST_CHECK(!mtest_gpu_event_fired(event));
    MTEST_OK(MPIX_Put(&in, &in));
    mtest_gpu_synchronize(stream);
    mtest_gpu_event_end(event);
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

/* Nor has a put of a graph overtaken such a reset, be it captured before that is enqueued or after.
 */
static void test_put_after_reset(int is_late)
{
    MPIX_Blk from, to, in;
    MPIX_Signal signal;
    void *graph = NULL;

    signal = open_late(&from, &to, &in);
    for (int i = 0; i < 2; i++) {
        if (i == is_late) {
            gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
            MTEST_OK(MPIX_Enqueue_put(queue, &in, &in));
            graph = gpu_graph_end_executable(stream);
        } else {
            MTEST_OK(MPIX_Enqueue_put(queue, &from, &to));
            MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
        }
    }
    gpu_graph_launch(graph, stream);
    drain();
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_EQ(is_complete(signal), 1);
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

/* ---- What is under way ---------------------------------------------------------------------- */

/* Graphs hold signal and window; the plan was read, and blocks to nobody are nothing. */
static void test_busy(void)
{
    MPIX_Signal signal;
    MPIX_Blk local, null;
    MPIX_Plan plan;
    void *graph;

    make(64, 1);
    make_queue();
    memset(&null, 0, sizeof null); /* that of MPI_PROC_NULL */
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 0, signal, &local));
    MTEST_OK(MPIX_Plan_create(1, &local, &local, &plan));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_put(queue, &local, &null));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
    MTEST_OK(MPIX_Plan_free(&plan));
    graph = gpu_graph_end_executable(stream);
    MTEST_KIND_TEXT(MPIX_Signal_free(&signal), MPIXQ_ERR_STATE, "graph");
    MTEST_KIND_TEXT(MPIX_Window_free(&window), MPIXQ_ERR_STATE, "graph");
    MTEST_CHECK(window != MPIX_WINDOW_NULL);
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Signal_free(&signal));
    free_queue();
    unmake();
}

/* ---- What fails ----------------------------------------------------------------------------- */

/* Two graphs of one capture run at the same time, though it is for the program to order them: one
 * could not be told from the other. */
static void test_twice(MPIX_Signal signal)
{
    void *other = mtest_gpu_stream(), *graph, *both[2];

    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    graph = gpu_graph_end(stream);
    both[0] = gpu_graph_executable(graph);
    both[1] = gpu_graph_executable(graph);
    gpu_graph_free(graph);
    gpu_graph_launch(both[0], stream);
    usleep(20000); /* it has come to the wait */
    gpu_graph_launch(both[1], other);
    mtest_gpu_synchronize(other);
    expect_failed(MPIXQ_ERR_STATE, "at the same time");
    MTEST_EQ(is_complete(signal), 0);
    gpu_graph_free_executable(both[0]);
    gpu_graph_free_executable(both[1]);
    mtest_gpu_stream_end(other);
}

/* A plain wait ends as a graph has its queue fail. */
static void test_plain_wait(MPIX_Signal signal)
{
    void *other = mtest_gpu_stream(), *graph;

    MTEST_OK(MPIX_Signal_reset(signal));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal)); /* too soon */
    graph = gpu_graph_end_executable(stream);
    gpu_graph_launch(graph, other);
    expect_failed(MPIXQ_ERR_STATE, "2 of 2 events outstanding");
    mtest_gpu_synchronize(other);
    gpu_graph_free_executable(graph);
    mtest_gpu_stream_end(other);
}

/* A graph that is destroyed while it is launched fails after that. */
static void test_fails(void)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Signal two, other;
    MPIX_Blk on_two, on_other;
    void *graph;

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 2, &two));
    MTEST_OK(MPIX_Signal_init(window, 1, &other));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 8, two, &on_two));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 8, other, &on_other));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, two)); /* too soon */
    MTEST_OK(MPIX_Enqueue_put(queue, &on_other, &on_other));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, two)); /* does not block */
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, other));
    graph = gpu_graph_end_executable(stream);
    mtest_gpu_launch(stream, mtest_gate_fn, &gate);
    gpu_graph_launch(graph, stream);
    gpu_graph_free_executable(graph);
    mtest_gate_open(&gate);
    expect_failed(MPIXQ_ERR_STATE, "2 of 2 events outstanding");
    MTEST_EQ(is_complete(other), 0);
    MTEST_OK(MPIX_Put(&on_two, &on_two)); /* local and remote: two events */
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_EQ(is_complete(two), 1);
    MTEST_OK(MPIX_Put(&on_other, &on_other));
    MTEST_OK(MPIX_Window_flush(window));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, other));
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, two)); /* is not reset */
    graph = gpu_graph_end_executable(stream);
    gpu_graph_launch(graph, stream);
    expect_failed(MPIXQ_ERR_STATE, "1 events too many");
    MTEST_EQ(is_complete(two), 1);
    gpu_graph_free_executable(graph);
    test_plain_wait(two);
    test_twice(two);
    MTEST_OK(MPIX_Signal_free(&two));
    MTEST_OK(MPIX_Signal_free(&other));
    free_queue();
    unmake();
}

/* A wait of a graph ends when its queue fails, also if that is freed at once. One whose queue was
 * freed before it failed goes on, also if a later queue fails, which has what was that one's. */
static void test_outlived(void)
{
    MPIX_Blk plain, in;
    MPIX_Signal awaited;
    void *graph, *other = mtest_gpu_stream();

    make(64, 1);
    make_queue();
    MTEST_OK(MPIX_Signal_init(window, 1, &awaited));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 0, MPIX_SIGNAL_NULL, &plain));
    MTEST_OK(MPIX_Blk_init(window, GUARD, 0, awaited, &in));
    for (int outlives = 0; outlives < 2; outlives++) {
        gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, awaited));
        graph = gpu_graph_end_executable(stream);
        if (outlives) {
            free_queue();
            make_queue();
        }
        gpu_graph_launch(graph, other);
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, awaited)); /* too soon */
        expect_failed(MPIXQ_ERR_STATE, "1 of 1 events outstanding");
        if (outlives) {
            usleep(100000); /* some looks at all that can end the wait */
            MTEST_OK(MPIX_Put(&plain, &in));
        }
        mtest_gpu_synchronize(other);
        MTEST_EQ(is_complete(awaited), outlives);
        gpu_graph_free_executable(graph);
    }
    mtest_gpu_stream_end(other);
    MTEST_OK(MPIX_Signal_free(&awaited));
    free_queue();
    unmake();
}

/* MPI ends, and so do waits; the graph is destroyed after that. */
static void finalize_with_graph(void)
{
    MPIX_Signal signal;
    void *graph;

    make(4000, 2);
    make_queue();
    test_replays(2, 0);
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    MTEST_OK(MPIX_Enqueue_put(queue, &halves[0].out[0], &halves[0].theirs[0]));
    graph = gpu_graph_end_executable(stream);
    MTEST_OK(MPIX_Queue_free(&queue));
    gpu_graph_launch(graph, stream);
    usleep(20000); /* the wait begins */
    MPI_Finalize();
    mtest_gpu_synchronize(stream);
    gpu_graph_free_executable(graph);
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, verdict;
    unsigned long long seed = argc > 2 ? (unsigned long long)atoi(argv[2]) : 1;
    const char *how = argc > 3 ? argv[3] : "";

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_graph_open()) {
        mtest_skip("no GPU is asked for (MTEST_STREAM), or its library has no graphs");
        return mtest_end();
    }
    if (mtest_gpu_devices() > 1) {
        mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    }
    allocates = strcmp(how, "allocated") == 0;
    peer = (mtest_rank ^ 1) < mtest_size ? mtest_rank ^ 1 : mtest_rank;
    run(4000, 1, rounds, seed);
    run(70001, 3, rounds / 3, seed + 1);
    run(400000, MOST, rounds / 6, seed + 2);
    test_puts(rounds);
    test_flush(rounds);
    test_late_reset(0);
    test_late_reset(1);
    test_put_after_reset(0);
    test_put_after_reset(1);
    test_busy();
    test_fails();
    test_outlived();
    if (strcmp(how, "left") == 0) {
        verdict = mtest_verdict();
        finalize_with_graph();
        return verdict;
    }
    return mtest_end();
}
