/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts, waits and resets in the order of a stream, between two ranks, or on one; with the host
 * in between; and what fails when the stream gets there.
 */
#include "mtest.h"

#include <mpix_queue_rma.h>

#include <stdlib.h>
#include <string.h>

#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { ROUNDS = 60, LARGE = 20000, COUNT = LARGE + 2 };

/* Two rounds may be under way: each has its block and signal. */
struct half {
    MPIX_Signal signal;
    MPIX_Blk out, mine, theirs; /* mine: where the peer puts */
    int *sent, *received;
};

static MPIX_Window window;
static int peer; /* the other rank of two, or this one */
static struct half halves[2];
static int errors;

/* What a stream does in a round: it checks what came, and writes what is to be sent next. */
struct step {
    int round;
};

static struct step steps[ROUNDS];

static int value(int rank, int round, int i)
{
    return rank * 100000 + round * 1000 + i % 997;
}

static void work(void *arg)
{
    const struct step *step = arg;
    struct half *now = &halves[step->round % 2], *next = &halves[(step->round + 1) % 2];

    for (int i = 0; i < COUNT; i++) {
        errors += now->received[i] != value(peer, step->round, i);
        next->sent[i] = value(mtest_rank, step->round + 1, i);
    }
}

static void swap_block(const MPIX_Blk *mine, MPIX_Blk *theirs)
{
    MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, peer, 0, theirs, sizeof *theirs, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void make(int *memory, int events)
{
    for (int h = 0; h < 2; h++) {
        struct half *half = &halves[h];
        MPI_Aint bytes = COUNT * sizeof(int), at = 2 * h * bytes;

        half->sent = memory + at / (MPI_Aint)sizeof(int);
        half->received = half->sent + COUNT;
        MTEST_OK(MPIX_Signal_init(window, events, &half->signal));
        MTEST_OK(MPIX_Blk_init(window, at, bytes, MPIX_SIGNAL_NULL, &half->out));
        MTEST_OK(MPIX_Blk_init(window, at + bytes, bytes, half->signal, &half->mine));
        swap_block(&half->mine, &half->theirs);
    }
}

/* A GPU is ahead of what the host does for it, and a queue of what the program has launched. */
static void synchronize(MPIX_Queue queue, MPIX_Host_stream stream)
{
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
}

/* All of it enqueued, or every third round by the host. */
static void test_rounds(MPIX_Queue queue, MPIX_Host_stream stream, int mixed)
{
    MPIX_Plan plan[2];

    for (int i = 0; i < COUNT; i++) {
        halves[0].sent[i] = value(mtest_rank, 0, i);
    }
    for (int h = 0; h < 2; h++) {
        MTEST_OK(MPIX_Plan_create(1, &halves[h].out, &halves[h].theirs, &plan[h]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct half *half = &halves[round % 2];

        steps[round].round = round;
        if (mixed && round % 3 == 0) {
            synchronize(queue, stream);
            MTEST_OK(MPIX_Put(&half->out, &half->theirs));
            MTEST_OK(MPIX_Signal_wait_reset(half->signal));
            work(&steps[round]);
            continue;
        }
        if (round % 2 == 0) {
            MTEST_OK(MPIX_Enqueue_put(queue, &half->out, &half->theirs));
        } else {
            MTEST_OK(MPIX_Enqueue_plan_start(queue, plan[round % 2]));
        }
        if (round % 5 < 3) { /* both by one call, or not */
            MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, half->signal));
            MTEST_OK(MPIX_Host_stream_launch(stream, work, &steps[round]));
            continue;
        }
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, half->signal));
        MTEST_OK(MPIX_Host_stream_launch(stream, work, &steps[round]));
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, half->signal));
    }
    synchronize(queue, stream);
    MTEST_EQ(errors, 0);
    for (int h = 0; h < 2; h++) {
        MTEST_OK(MPIX_Plan_free(&plan[h]));
    }
}

/* What is enqueued holds the window, the plan and the signal. */
static void test_busy(MPIX_Queue queue, MPIX_Host_stream stream)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Blk nothing, here;
    MPIX_Signal signal;
    MPIX_Plan plan;

    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &nothing));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, signal, &here));
    MTEST_OK(MPIX_Plan_create(1, &nothing, &here, &plan));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    MTEST_KIND_TEXT(MPIX_Plan_free(&plan), MPIXQ_ERR_STATE, "plan");
    MTEST_KIND_TEXT(MPIX_Signal_free(&signal), MPIXQ_ERR_STATE, "signal");
    MTEST_KIND_TEXT(MPIX_Window_free(&window), MPIXQ_ERR_STATE, "window");
    MTEST_CHECK(window != MPIX_WINDOW_NULL);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Plan_free(&plan));
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* A reset that comes too soon, and a put whose signal is gone when the stream is there. */
static void test_fails(MPIX_Host_stream stream)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Signal signal;
    MPIX_Queue queue;
    MPIX_Blk blk;
    int flag = 1;

    MTEST_OK(MPIX_Signal_init(window, 2, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, signal, &blk));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Enqueue_put(queue, &blk, &blk));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate)); /* until all is enqueued */
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
    mtest_gate_open(&gate);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "2 of 2 events outstanding");
    MTEST_KIND(MPIX_Enqueue_put(queue, &blk, &blk), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Queue_free(&queue));
    /* The signal is as the first of the two left it. */
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPIX_Put(&blk, &blk));
    MTEST_OK(MPIX_Signal_wait(signal));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Put(&blk, &blk));
    MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "2 events too many");
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_KIND_TEXT(MPIX_Signal_wait_reset(signal), MPIXQ_ERR_STATE, "2 events too many");
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Enqueue_signal_wait_reset(queue, signal));
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_STATE, "2 events too many");
    MTEST_KIND(MPIX_Enqueue_signal_wait_reset(queue, signal), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* A queue fails at the reset of a signal that is not complete, and drops that of another: queues
 * that wait for the rounds which these were to begin fail, too. The signals are as they were. */
static void test_dropped(MPIX_Host_stream stream)
{
    struct mtest_gate gate = {0, 0};
    MPIX_Queue resets, waits[2];
    MPIX_Signal signals[2];
    MPIX_Blk nothing, here;
    int flag = -1;

    MTEST_OK(MPIX_Queue_init(&resets, MPIX_QUEUE_AUTO, &stream));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Queue_init(&waits[i], MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Signal_init(window, 1, &signals[i]));
    }
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &nothing));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, signals[1], &here));
    MTEST_OK(MPIX_Put(&nothing, &here));
    MTEST_OK(MPIX_Enqueue_signal_wait(waits[1], signals[1]));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate)); /* until all is enqueued */
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Enqueue_signal_reset(resets, signals[i]));
        MTEST_OK(MPIX_Enqueue_signal_wait(waits[i], signals[i]));
    }
    mtest_gate_open(&gate);
    MTEST_KIND_TEXT(MPIX_Queue_wait(resets), MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    for (int i = 0; i < 2; i++) {
        MTEST_KIND_TEXT(MPIX_Queue_wait(waits[i]), MPIXQ_ERR_STATE, "was not made");
        MTEST_OK(MPIX_Queue_free(&waits[i]));
        MTEST_OK(MPIX_Signal_test(signals[i], &flag));
        MTEST_EQ(flag, i);
    }
    MTEST_OK(MPIX_Queue_free(&resets));
    MTEST_OK(MPIX_Queue_init(&waits[1], MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_signal_wait(waits[1], signals[1]));
    MTEST_OK(MPIX_Enqueue_signal_reset(waits[1], signals[1]));
    MTEST_OK(MPIX_Enqueue_put(waits[1], &nothing, &here));
    MTEST_OK(MPIX_Enqueue_signal_wait(waits[1], signals[1]));
    MTEST_OK(MPIX_Queue_wait(waits[1]));
    MTEST_OK(MPIX_Queue_free(&waits[1]));
    MTEST_OK(MPIX_Signal_free(&signals[0]));
    MTEST_OK(MPIX_Signal_free(&signals[1]));
}

/* To MPI_PROC_NULL, for which nothing is needed. */
static void enqueue_nothing(MPIX_Queue queue, const MPIX_Blk *local)
{
    MPIX_Plan plan;
    MPIX_Blk null;

    memset(&null, 0, sizeof null);
    MTEST_OK(MPIX_Plan_create(1, local, &null, &plan));
    MTEST_OK(MPIX_Enqueue_put(queue, local, &null));
    MTEST_OK(MPIX_Enqueue_plan_start(queue, plan));
    MTEST_OK(MPIX_Plan_free(&plan));
}

/* What a stream of a GPU cannot do. */
static void test_gpu(MPIX_Queue queue, MPIX_Host_stream stream, int has_ipc)
{
    void *handle = mtest_gpu_stream_of(stream), *executable;
    const char *ops = getenv("MPIXQ_GPU_OPS");
    int by_values = ops != NULL && strcmp(ops, "values") == 0;
    MPIX_Signal signal;
    MPIX_Queue strict;
    MPIX_Plan plan;
    MPIX_Blk blk;

    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, signal, &blk));
    MTEST_OK(MPIX_Plan_create(1, &blk, &blk, &plan));
    if (gpu_graph_open()) {
        gpu_graph_begin(handle, GPU_GRAPH_GLOBAL);
        if (by_values) {
            MTEST_KIND_TEXT(MPIX_Enqueue_put(queue, &blk, &blk), MPIXQ_ERR_UNSUPPORTED, "kernels");
            MTEST_KIND_TEXT(MPIX_Enqueue_plan_start(queue, plan), MPIXQ_ERR_UNSUPPORTED, "kernels");
            MTEST_KIND_TEXT(MPIX_Enqueue_signal_wait(queue, signal), MPIXQ_ERR_UNSUPPORTED,
                            "kernels");
            MTEST_KIND_TEXT(MPIX_Enqueue_signal_reset(queue, signal), MPIXQ_ERR_UNSUPPORTED,
                            "kernels");
            MTEST_KIND_TEXT(MPIX_Enqueue_signal_wait_reset(queue, signal), MPIXQ_ERR_UNSUPPORTED,
                            "kernels");
        }
        enqueue_nothing(queue, &blk);
        executable = gpu_graph_end_executable(handle); /* the capture is still valid */
        gpu_graph_free_executable(executable);
    }
    if (has_ipc) {
        MTEST_OK(MPIX_Queue_init(&strict, MPIX_QUEUE_IPC, &stream));
        MTEST_KIND_TEXT(MPIX_Enqueue_put(strict, &blk, &blk), MPIXQ_ERR_UNSUPPORTED, "fallback");
        enqueue_nothing(strict, &blk);
        MTEST_OK(MPIX_Queue_free(&strict));
    }
    MTEST_OK(MPIX_Plan_free(&plan));
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* A GPU that sends by itself does so behind a reset, which a thread makes that has much to copy
 * before: who gets the message may put to the signal. */
static void test_told(MPIX_Queue queue)
{
    enum { BIG = 16 << 20 };
    int *token = mtest_gpu_alloc(MTEST_PINNED, sizeof *token);
    MPIX_Blk none, from, to, mine, theirs;
    MPIX_Window large;
    MPIX_Signal signal;
    MPI_Request request;
    char *base;

    MTEST_OK(MPIX_Window_allocate(2 * (MPI_Aint)BIG, MPI_COMM_WORLD, MPI_INFO_NULL, &base, &large));
    MTEST_OK(MPIX_Signal_init(large, 1, &signal));
    MTEST_OK(MPIX_Blk_init(large, 0, 0, MPIX_SIGNAL_NULL, &none));
    MTEST_OK(MPIX_Blk_init(large, 0, BIG, MPIX_SIGNAL_NULL, &from));
    MTEST_OK(MPIX_Blk_init(large, BIG, BIG, MPIX_SIGNAL_NULL, &to));
    MTEST_OK(MPIX_Blk_init(large, 0, 0, signal, &mine));
    swap_block(&mine, &theirs);
    MTEST_OK(MPIX_Put(&none, &theirs));
    MTEST_OK(MPIX_Signal_wait(signal));
    if (mtest_rank == 0) {
        *token = 7;
        MPI_Send_init(token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        MTEST_OK(MPIX_Match(&request));
        MTEST_OK(MPIX_Enqueue_put(queue, &from, &to));
        MTEST_OK(MPIX_Enqueue_signal_reset(queue, signal));
        MTEST_OK(MPIX_Enqueue_start(queue, &request));
        MTEST_OK(MPIX_Enqueue_wait(queue, &request));
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        MPI_Recv_init(token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
        MTEST_OK(MPIX_Match(&request));
        MTEST_OK(MPI_Start(&request));
        MTEST_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MTEST_EQ(*token, 7);
        MTEST_OK(MPIX_Put(&none, &theirs));
        MTEST_OK(MPIX_Window_flush(large));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPI_Request_free(&request));
    MTEST_OK(MPIX_Signal_free(&signal));
    MTEST_OK(MPIX_Window_free(&large));
    mtest_gpu_free(MTEST_PINNED, token);
}

/* Any argument: queues of type MPIX_QUEUE_IPC can be made. */
int main(int argc, char **argv)
{
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    int *memory;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = (mtest_rank ^ 1) < mtest_size ? mtest_rank ^ 1 : mtest_rank;
    if (mtest_gpu_kind() == NULL) {
        MTEST_OK(MPIX_Window_allocate(4 * COUNT * sizeof(int), MPI_COMM_WORLD, MPI_INFO_NULL,
                                      &memory, &window));
    } else {
        memory = mtest_gpu_alloc(MTEST_PINNED, 4 * COUNT * sizeof(int));
        MTEST_OK(MPIX_Window_create(memory, 4 * COUNT * sizeof(int), MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &window));
    }
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    make(memory, 1);
    test_rounds(queue, stream, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* the last blocks are read before they are written anew */
    test_rounds(queue, stream, 1);
    test_busy(queue, stream);
    test_fails(stream);
    test_dropped(stream);
    if (mtest_gpu_kind() != NULL) {
        test_gpu(queue, stream, argc > 1);
    }
    if (mtest_gpu_kind() != NULL && mtest_size == 2) {
        test_told(queue);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_OK(MPIX_Window_free(&window));
    if (mtest_gpu_kind() != NULL) {
        mtest_gpu_free(MTEST_PINNED, memory);
    }
    return mtest_end();
}
