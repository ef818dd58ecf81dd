/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog reports waits for signals that last, by the host and by queues, and flushes, and
 * what is missing; with MPIXQ_WATCHDOG_ACTION=error it ends waits for signals. Two ranks: rank 0
 * waits.
 *
 *     rma_watchdog report       waits go on once the events come
 *     rma_watchdog error        they fail, and other signals of the window work
 *     rma_watchdog noticed      without MPIXQ_WATCHDOG_S a line says it once
 *     rma_watchdog flush        below MPI_THREAD_MULTIPLE: a put whose target does not take part
 *
 * With a second argument the window is in memory of GPUs, and the host waits.
 */
#include "capture.h"
#include "mtest.h"

#include <mpix_queue_rma.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { EVENTS = 2, LARGE = 4 << 20, WORD = 64 };

static MPIX_Window window;
static int peer, is_mapped;
static char *memory;

/* What both ranks do with a signal of rank 0. */
struct pair {
    MPIX_Signal signal;
    MPIX_Blk from, to;
};

static void open_window(size_t bytes)
{
    memory = mtest_gpu_kind() != NULL
                 ? mtest_gpu_alloc(is_mapped ? MTEST_DEVICE : MTEST_PINNED, bytes)
                 : calloc(1, bytes);
    MTEST_OK(MPIX_Window_create(memory, (MPI_Aint)bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &window));
}

static void close_window(void)
{
    MTEST_OK(MPIX_Window_free(&window));
    if (mtest_gpu_kind() != NULL) {
        mtest_gpu_free(is_mapped ? MTEST_DEVICE : MTEST_PINNED, memory);
    } else {
        free(memory);
    }
}

static void begin(struct pair *pair, MPI_Aint bytes)
{
    MPIX_Blk mine;

    MTEST_OK(MPIX_Signal_init(window, EVENTS, &pair->signal));
    MTEST_OK(MPIX_Blk_init(window, 0, bytes, MPIX_SIGNAL_NULL, &pair->from));
    MTEST_OK(MPIX_Blk_init(window, bytes, bytes, pair->signal, &mine));
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, peer, 0, &pair->to, sizeof pair->to, MPI_BYTE, peer,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end(struct pair *pair)
{
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&pair->signal));
}

static void put(const struct pair *pair, int n)
{
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Put(&pair->from, &pair->to));
    }
}

/* The first event comes, and the second when rank 0 has been reported to wait for it. */
static void test_host(void)
{
    struct pair pair;

    begin(&pair, 8);
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Signal_wait(pair.signal));
        MTEST_EQ(CAPTURE_COUNT(0, "waited", "2 of 2 events"), 0);
    } else {
        put(&pair, 1);
        CAPTURE_WAIT(0, 1, "error: watchdog: the host has waited ",
                     " for signal 1 of window 1: ", "1 of 2 events are outstanding");
        /* Once more when it is twice as old. */
        CAPTURE_WAIT(0, 2, "error: watchdog: the host has waited ", "for signal 1 of window 1: ");
        put(&pair, 1);
    }
    end(&pair);
}

/* The report of a queue has come, with this. */
static void await_report(MPIX_Queue queue, const char *missing)
{
    char name[WORD];

    (void)snprintf(name, sizeof name, "watchdog: queue %ld has waited ",
                   mtest_queue_count(queue, "mpixq_queue_number"));
    CAPTURE_WAIT(0, 1, name, " of window 1: ", missing);
}

/* A stream waits; and another one for a round that begins with a reset behind such a wait. */
static void test_queue(void)
{
    MPIX_Queue queues[3];
    struct pair first, second;

    begin(&first, 8);
    begin(&second, 8);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, NULL));
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_signal_wait(queues[0], first.signal));
        await_report(queues[0], "2 of 2 events are outstanding");
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Queue_wait(queues[0]));
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queues[1], second.signal));
        MTEST_OK(MPIX_Enqueue_signal_reset(queues[1], first.signal));
        MTEST_OK(MPIX_Enqueue_signal_wait_reset(queues[2], first.signal));
        await_report(queues[1], "2 of 2 events are outstanding");
        await_report(queues[2], "its reset is enqueued, and no stream has come to it");
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Queue_wait(queues[1]));
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Queue_wait(queues[2]));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        put(&first, EVENTS);
        MPI_Barrier(MPI_COMM_WORLD);
        put(&second, EVENTS);
        MPI_Barrier(MPI_COMM_WORLD);
        put(&first, EVENTS);
    }
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Queue_free(&queues[i]));
    }
    end(&first);
    end(&second);
}

/* A launch of a graph waits. */
static void test_graph_error(const struct pair *pair, const char *text)
{
    void *stream = mtest_gpu_stream(), *graph;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_signal_wait(queue, pair->signal));
    graph = gpu_graph_end_executable(stream);
    gpu_graph_launch(graph, stream);
    mtest_gpu_synchronize(stream);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT, text);
    gpu_graph_free_executable(graph);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

/* The wait of a thread, of a queue, of a graph, and one for events that come. */
static void test_error(void)
{
    const char *text = "waited longer than 1 s: 2 of 2 events are outstanding";
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct pair first, second, third, fourth;

    begin(&first, 8);
    begin(&second, 8);
    begin(&third, 8);
    begin(&fourth, 8);
    if (mtest_rank == 0) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(first.signal), MPIXQ_ERR_TIMEOUT, text);
        MTEST_KIND_TEXT(MPIX_Signal_wait(first.signal), MPIXQ_ERR_TIMEOUT, "signal 1 of window 1");
        MTEST_KIND(MPIX_Signal_reset(first.signal), MPIXQ_ERR_TIMEOUT);
        MTEST_KIND(MPIX_Signal_wait_reset(first.signal), MPIXQ_ERR_TIMEOUT);
    }
    if (mtest_rank == 0 && !is_mapped) {
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, second.signal));
        MTEST_KIND_TEXT(MPIX_Queue_wait(queue), MPIXQ_ERR_TIMEOUT, text);
        MTEST_OK(MPIX_Queue_free(&queue));
        if (gpu_graph_open()) {
            test_graph_error(&fourth, text);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Signal_wait(third.signal));
    } else {
        put(&third, EVENTS);
    }
    end(&first);
    end(&second);
    end(&third);
    end(&fourth);
}

static void sleep_s(int s)
{
    struct timespec left = {.tv_sec = s};

    while (nanosleep(&left, &left) != 0) {
    }
}

static void test_noticed(void)
{
    struct pair pair;

    begin(&pair, 8);
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Signal_wait(pair.signal));
    } else {
        CAPTURE_WAIT(0, 1, "warning: the host has waited ",
                     "2 of 2 events are outstanding. The peers may just need as long. "
                     "MPIXQ_WATCHDOG_S reports more, MPIXQ_NOTICE_S=0 nothing");
        sleep_s(3); /* long enough for another */
        MTEST_EQ(CAPTURE_COUNT(0, "has waited"), 1);
        put(&pair, EVENTS);
    }
    end(&pair);
}

/* Rank 1 waits outside of the library, and then for the puts. */
static void test_flush(void)
{
    struct pair pair;

    begin(&pair, LARGE);
    if (mtest_rank == 0) {
        put(&pair, EVENTS);
        MTEST_OK(MPIX_Window_flush(window));
    } else {
        CAPTURE_WAIT(0, 1, "watchdog: MPIX_Window_flush of window 1 has waited ",
                     "2 puts and gets of this process are under way");
        MTEST_OK(MPIX_Signal_wait(pair.signal));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_flush = strcmp(what, "flush") == 0;

    mtest_begin(&argc, &argv, is_flush ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE);
    capture_begin();
    peer = 1 - mtest_rank;
    is_mapped = argc > 2;
    open_window(2 * (size_t)(is_flush ? LARGE : 8));
    if (is_flush) {
        test_flush();
    } else if (strcmp(what, "error") == 0) {
        test_error();
    } else if (strcmp(what, "noticed") == 0) {
        test_noticed();
    } else {
        MTEST_CHECK(strcmp(what, "report") == 0);
        test_host();
        if (!is_mapped) {
            test_queue();
        }
    }
    close_window();
    capture_end();
    return mtest_end();
}
