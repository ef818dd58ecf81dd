/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A program that has synchronised its stream, or an event in it, needs nothing else to know that
 * its waits have completed: at once requests are free and the queue is idle. The peer comes late,
 * so that threads of the library that wait beside the GPU are asleep when it goes on.
 *
 * With the argument "host" MPI_Start follows, which takes requests without staging buffers.
 */
#include <string.h>
#include <time.h>

#include "gpu_pair.h"

enum { REPEATS = 4, TAG = 31, LATE_MS = 20 };

/* What is done at once. At an event: the stream has other things to do behind it. */
enum deed { TEST_QUEUE, OTHER_QUEUE, FREE_REQUESTS, FREE_AT_EVENT, FREE_QUEUE, HOST_STARTS };

static const char *const names[] = {"the queue is tested", "another queue starts them",
                                    "requests are freed",  "requests are freed at an event",
                                    "the queue is freed",  "the host starts them"};

static void sleep_a_while(void *arg)
{
    static const struct timespec delay = {.tv_nsec = LATE_MS * 1000000};

    (void)arg;
    (void)nanosleep(&delay, NULL);
}

/* The buffers are the stream's before and afterwards. */
static void start_by_host(struct gpu_pair *p, void *stream)
{
    gpu_pair_put(p, stream, 1);
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPI_Startall(2, p->r));
    MTEST_OK(MPI_Waitall(2, p->r, MPI_STATUSES_IGNORE));
    gpu_pair_get(p, stream, 1);
    mtest_gpu_synchronize(stream);
}

/* The second queue has done nothing so far. */
static void do_at_once(enum deed deed, MPIX_Queue queues[2], void *other, struct gpu_pair *p)
{
    int flag = 0;

    switch (deed) {
    case TEST_QUEUE:
        MTEST_OK(MPIX_Queue_test(queues[0], &flag));
        MTEST_CHECK(flag);
        break;
    case OTHER_QUEUE:
        gpu_pair_exchange(p, queues[1], other, 1);
        mtest_gpu_synchronize(other);
        break;
    case FREE_REQUESTS:
    case FREE_AT_EVENT:
        MTEST_OK(MPI_Request_free(&p->r[0]));
        MTEST_OK(MPI_Request_free(&p->r[1]));
        break;
    case FREE_QUEUE:
        MTEST_OK(MPIX_Queue_free(&queues[0]));
        break;
    default:
        start_by_host(p, other);
    }
}

/* Synchronises the stream or, with more to do behind it, an event in it. */
static void await(enum deed deed, void *stream)
{
    void *event;

    if (deed != FREE_AT_EVENT) {
        mtest_gpu_synchronize(stream);
        return;
    }
    event = mtest_gpu_event(stream);
    mtest_gpu_launch(stream, sleep_a_while, NULL);
    mtest_gpu_event_synchronize(event);
    mtest_gpu_event_end(event);
}

/* Rank late is behind the other one, which waits for it. */
static void test(enum deed deed, size_t bytes, int late)
{
    void *streams[2] = {mtest_gpu_stream(), mtest_gpu_stream()};
    MPIX_Queue queues[2] = {MPIX_QUEUE_NULL, MPIX_QUEUE_NULL};
    struct gpu_pair p;

    for (int i = 0; i < 2; i++) {
        MTEST_OK(mtest_gpu_queue(&queues[i], MPIX_QUEUE_AUTO, &streams[i]));
    }
    gpu_pair_make(&p, MTEST_DEVICE, bytes, 1 - mtest_rank, TAG, 2);
    MTEST_OK(MPIX_Matchall(2, p.r));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == late) {
        sleep_a_while(NULL);
    }
    gpu_pair_exchange(&p, queues[0], streams[0], 0);
    await(deed, streams[0]);
    do_at_once(deed, queues, streams[1], &p);
    mtest_gpu_synchronize(streams[0]);
    gpu_pair_check(&p, deed == OTHER_QUEUE || deed == HOST_STARTS ? 2 : 1, names[deed]);
    gpu_pair_free(&p);
    for (int i = 0; i < 2; i++) {
        if (queues[i] != MPIX_QUEUE_NULL) {
            MTEST_OK(MPIX_Queue_free(&queues[i]));
        }
        mtest_gpu_stream_end(streams[i]);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1 << 17};
    int first = TEST_QUEUE, last = FREE_QUEUE;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    if (argc > 1 && strcmp(argv[1], "host") == 0) {
        first = last = HOST_STARTS;
    }
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        for (int deed = first; deed <= last; deed++) {
            for (size_t i = 0; i < 2; i++) {
                test((enum deed)deed, sizes[i], repeat % 2);
            }
        }
    }
    return mtest_end();
}
