/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Sums of numbers in memory of GPUs, which NICs bring to each other's memory, and which the kernel
 * that waits adds up, or one behind it: a short one and a long one in each round, with new numbers,
 * and one rank later than the others, each in turn. The sums are those in the order of ranks, bit
 * by bit, and what lies around them is as it was. No other rank is to send what is next before what
 * it has sent is added up.
 *
 *     cxi_sums free       ahead, and with no CPU: rounds are enqueued on a stream that is held;
 *                         then every thread of every rank is stopped, but the NIC, the GPU and the
 *                         stream's executor; and then the stream goes on. All rounds must end so,
 *                         with no completion read, no counter read, no post.
 *     cxi_sums cpu        as free, in a setting where the CPU must do the work, so that this
 *                         program has to find that it did
 *     cxi_sums rounds N   N rounds, some of them started by the host, if it can
 *     cxi_sums queue N    the same without the host
 *     cxi_sums graph N    sums that the queue is waiting for are captured; then N rounds by graphs,
 *                         by the queue and by the host
 *     cxi_sums fails      the last rank does not start: the queues of all others fail (by the
 *                         watchdog), and what they have stays as it was
 *     cxi_sums frees      while a sum is freed, and the NIC takes its time to forget where others
 *                         wrote to, another thread frees something: that memory stays till then (or
 *                         the double of the GPU ends the program) */
#include "mtest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "collective_names.h"
#include "cxi_frozen_rounds.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

enum {
    SHORT = 301,
    LONG = 5003, /* more than one block adds up */
    GUARD = 16,
    LATE_US = 2000
};

/* In memory of the GPU, and copies of the host's. The long one is summed in place. */
static struct sum {
    int n;
    bool in_place;
    double *from, *to, *numbers, *result;
    MPI_Request request;
} sums[2] = {{.n = SHORT}, {.n = LONG, .in_place = true}};

static size_t room(const struct sum *sum)
{
    return ((size_t)sum->n + 2 * GUARD) * sizeof(double);
}

/* Of which sums depend on the order. */
static double number(int rank, int round, int i)
{
    return (double)((rank * 7919 + round * 104729 + i * 31) % 100003) / 3.0 + 1.0 / (1 + rank + i);
}

/* Functions on the stream, or of the program in rounds by the host. */

static void come(void *arg)
{
    (void)arg;
    round_number++;
    for (size_t s = 0; s < 2; s++) {
        for (int i = 0; i < sums[s].n; i++) {
            sums[s].numbers[GUARD + i] = number(mtest_rank, round_number, i);
        }
    }
    if (round_number % mtest_size == mtest_rank) {
        (void)usleep(LATE_US);
    }
}

static double in_order(int round, int i)
{
    double value = number(0, round, i);

    for (int rank = 1; rank < mtest_size; rank++) {
        value = value + number(rank, round, i);
    }
    return value;
}

static void check(void *arg)
{
    (void)arg;
    for (size_t s = 0; s < 2; s++) {
        const struct sum *sum = &sums[s];

        for (int i = -GUARD; i < sum->n + GUARD; i++) {
            double want = i < 0 || i >= sum->n ? -1.0 : in_order(round_number, i);

            wrong += memcmp(&sum->result[GUARD + i], &want, sizeof want) != 0;
        }
        memset(sum->result, 0, room(sum));
    }
}

/* The main thread. */

static void sum_make(struct sum *sum)
{
    sum->to = mtest_gpu_alloc(MTEST_DEVICE, room(sum));
    sum->from = sum->in_place ? sum->to : mtest_gpu_alloc(MTEST_DEVICE, room(sum));
    sum->numbers = mtest_gpu_alloc(MTEST_PINNED, room(sum));
    sum->result = mtest_gpu_alloc(MTEST_PINNED, room(sum));
    for (int i = 0; i < sum->n + 2 * GUARD; i++) {
        sum->numbers[i] = -1.0;
    }
    mtest_gpu_copy_now(sum->to, sum->numbers, room(sum));
    MTEST_OK(COLLECTIVE(Allreduce_init)(sum->in_place ? MPI_IN_PLACE : sum->from + GUARD,
                                        sum->to + GUARD, sum->n, MPI_DOUBLE, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &sum->request));
    MTEST_OK(MPIX_Match(&sum->request));
}

static void sum_free(struct sum *sum)
{
    if (sum->request != MPI_REQUEST_NULL) {
        MTEST_OK(MPI_Request_free(&sum->request));
    }
    if (!sum->in_place) {
        mtest_gpu_free(MTEST_DEVICE, sum->from);
    }
    mtest_gpu_free(MTEST_DEVICE, sum->to);
    mtest_gpu_free(MTEST_PINNED, sum->numbers);
    mtest_gpu_free(MTEST_PINNED, sum->result);
}

static void put_numbers(void *stream)
{
    for (size_t s = 0; s < 2; s++) {
        mtest_gpu_copy(stream, sums[s].from, sums[s].numbers, room(&sums[s]));
    }
}

static void get_results(void *stream)
{
    for (size_t s = 0; s < 2; s++) {
        mtest_gpu_copy(stream, sums[s].result, sums[s].to, room(&sums[s]));
    }
}

/* Both at once, or one after the other: then the kernel that waits adds up the short one. */
static void enqueue_sums(MPIX_Queue queue, int round)
{
    MPI_Request both[2] = {sums[0].request, sums[1].request};

    if (round % 3 == 0) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, both));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, both));
        return;
    }
    for (int s = 0; s < 2; s++) {
        if (round % 3 == 1) {
            MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &both[s]));
        } else {
            MTEST_OK(MPIX_Enqueue_start(queue, &both[s]));
            MTEST_OK(MPIX_Enqueue_wait(queue, &both[s]));
        }
    }
}

static void enqueue_round(MPIX_Queue queue, MPIX_Host_stream stream, int round)
{
    void *of_gpu = mtest_gpu_stream_of(stream);

    MTEST_OK(MPIX_Host_stream_launch(stream, come, NULL));
    put_numbers(of_gpu);
    enqueue_sums(queue, round);
    get_results(of_gpu);
    MTEST_OK(MPIX_Host_stream_launch(stream, check, NULL));
}

static void host_round(MPIX_Host_stream stream)
{
    void *of_gpu = mtest_gpu_stream_of(stream);
    MPI_Request both[2] = {sums[0].request, sums[1].request};

    come(NULL);
    put_numbers(of_gpu);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_OK(MPI_Startall(2, both));
    MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    get_results(of_gpu);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    check(NULL);
}

static void run_rounds(MPIX_Queue queue, MPIX_Host_stream stream, int n, bool by_host)
{
    enum { AHEAD = 6, BY_HOST = 2 };

    for (int round = 0; round < n; round++) {
        if (!by_host || round % (AHEAD + BY_HOST) < AHEAD) {
            enqueue_round(queue, stream, round);
            continue;
        }
        synchronize(queue, stream);
        host_round(stream);
    }
    synchronize(queue, stream);
    MTEST_EQ(wrong, 0);
    MTEST_EQ(round_number, n);
}

/* One after the other, as a launch may have words of the other's that come. */
static void run_failing(MPIX_Queue queue, MPIX_Host_stream stream)
{
    void *of_gpu = mtest_gpu_stream_of(stream);
    int changed = 0;

    if (mtest_rank < mtest_size - 1) {
        come(NULL);
        put_numbers(of_gpu);
        for (size_t s = 2; s-- > 0;) {
            mtest_forgive(MPIX_Enqueue_start(queue, &sums[s].request) != MPI_SUCCESS);
            mtest_forgive(MPIX_Enqueue_wait(queue, &sums[s].request) != MPI_SUCCESS);
        }
        mtest_gpu_synchronize(of_gpu);
        MTEST_CLASS(MPIX_Queue_wait(queue), MTEST_ANY_CLASS);
        get_results(of_gpu);
        mtest_gpu_synchronize(of_gpu);
        for (size_t s = 0; s < 2; s++) {
            for (int i = 0; i < sums[s].n; i++) {
                double want = sums[s].in_place ? number(mtest_rank, round_number, i) : -1.0;

                changed += memcmp(&sums[s].result[GUARD + i], &want, sizeof want) != 0;
            }
        }
        MTEST_EQ(changed, 0);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A rank comes when all others have seen that they still wait. */
static void replay_round(MPIX_Queue queue, MPIX_Host_stream stream, void *graph, int round)
{
    enum { SOON_US = 5000 };
    void *of_gpu = mtest_gpu_stream_of(stream), *event;
    int late = round % mtest_size;

    MTEST_OK(MPIX_Host_stream_launch(stream, come, NULL));
    put_numbers(of_gpu);
    if (mtest_rank == late) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (graph != NULL) {
        gpu_graph_launch(graph, of_gpu);
    } else {
        enqueue_sums(queue, round);
    }
    event = mtest_gpu_event(of_gpu);
    if (mtest_rank != late) {
        (void)usleep(SOON_US);
        MTEST_CHECK(!mtest_gpu_event_fired(event));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    mtest_gpu_event_end(event);
    get_results(of_gpu);
    MTEST_OK(MPIX_Host_stream_launch(stream, check, NULL));
}

static void *capture(MPIX_Queue queue, void *of_gpu, int round)
{
    gpu_graph_begin(of_gpu, GPU_GRAPH_GLOBAL);
    enqueue_sums(queue, round);
    return gpu_graph_end_executable(of_gpu);
}

static void run_captured(MPIX_Queue queue, MPIX_Host_stream stream, int n)
{
    enum { LOOKS_US = 20000, SETTLED = 4 };
    void *of_gpu = mtest_gpu_stream_of(stream), *graphs[3];

    enqueue_round(queue, stream, 0);
    if (mtest_rank != 0) {
        enqueue_round(queue, stream, 1);
    }
    for (int i = 0; i < 3; i++) {
        graphs[i] = capture(queue, of_gpu, i);
    }
    (void)usleep(LOOKS_US);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        enqueue_round(queue, stream, 1);
    }
    for (int round = 2; round < n; round++) {
        replay_round(queue, stream, round % 3 == 2 ? NULL : graphs[round / 3 % 3], round);
        if (round % SETTLED == 0) {
            synchronize(queue, stream);
            host_round(stream);
        }
    }
    synchronize(queue, stream);
    MTEST_EQ(wrong, 0);
    for (int i = 0; i < 3; i++) {
        gpu_graph_free_executable(graphs[i]);
    }
}

static void *free_other(void *request)
{
    unsigned tries = 0;

    while (hooks->holding() == 0) {
        mtest_backoff(&tries);
    }
    MTEST_OK(MPI_Request_free(request));
    return NULL;
}

/* The other is a pair that no NIC serves. */
static void run_frees(void)
{
    enum { REGION_US = 50000 };
    MPI_Request pair[2];
    pthread_t thread;

    hooks = cxi_hooks();
    MTEST_OK(MPI_Recv_init(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &pair[0]));
    MTEST_OK(MPI_Send_init(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &pair[1]));
    MTEST_OK(MPIX_Matchall(2, pair));
    if (hooks != NULL) {
        hooks->regions(REGION_US);
        MTEST_CHECK(pthread_create(&thread, NULL, free_other, &pair[0]) == 0);
        MTEST_OK(MPI_Request_free(&sums[0].request));
        pthread_join(thread, NULL);
        hooks->regions(0);
        MTEST_OK(MPI_Request_free(&pair[1]));
    }
}

static void run(const char *mode, int n)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_gpu_set_device(0);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    for (size_t s = 0; s < 2; s++) {
        sum_make(&sums[s]);
    }
    if (strcmp(mode, "rounds") == 0 || strcmp(mode, "queue") == 0) {
        run_rounds(queue, stream, n, mode[0] == 'r');
    } else if (strcmp(mode, "fails") == 0) {
        run_failing(queue, stream);
    } else if (strcmp(mode, "graph") == 0) {
        if (gpu_graph_open()) {
            run_captured(queue, stream, n);
        } else {
            mtest_skip("there are no graphs");
        }
    } else if (strcmp(mode, "frees") == 0) {
        run_rounds(queue, stream, 1, false);
        run_frees();
    } else {
        hooks = cxi_hooks();
        if (hooks != NULL) {
            run_frozen(queue, stream, strcmp(mode, "cpu") == 0, enqueue_round);
        }
    }
    for (size_t s = 0; s < 2; s++) {
        sum_free(&sums[s]);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

int main(int argc, char **argv)
{
    MPI_Win window;
    MPI_Aint bytes;
    int unit;

    freezer_begin();
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    apart_begin();
    MTEST_OK(MPI_Win_allocate_shared(mtest_rank == 0 ? (MPI_Aint)sizeof *all : 0, 1, MPI_INFO_NULL,
                                     MPI_COMM_WORLD, &all, &window));
    MTEST_OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &all));
    if (!HAVE_COLLECTIVES || mtest_gpu_kind() == NULL) {
        mtest_skip("this MPI has no persistent collectives, or MTEST_STREAM names no GPU");
    } else {
        run(argc > 1 ? argv[1] : "rounds", argc > 2 ? atoi(argv[2]) : 20);
    }
    MTEST_OK(MPI_Win_free(&window));
    freezer_end();
    return mtest_end();
}
