/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A program that has synchronised its stream, or an event in it, needs nothing else to know that
 * its waits have completed: at once requests are free and the queue is idle. The peer comes late,
 * so that threads of the library that wait beside the GPU are asleep when it goes on.
 */
#include <time.h>

#include "gpu_pair.h"

enum { ROUNDS = 4, TAG = 31, LATE_MS = 20 };

/* What is done at once. At an event: the stream has other things to do behind it. */
enum deed { TEST_QUEUE, FREE_REQUESTS, FREE_AT_EVENT, FREE_QUEUE, DEEDS };

static const char *const names[] = {"the queue is tested", "requests are freed",
                                    "requests are freed at an event", "the queue is freed"};

static void sleep_a_while(void *arg)
{
    static const struct timespec delay = {.tv_nsec = LATE_MS * 1000000};

    (void)arg;
    (void)nanosleep(&delay, NULL);
}

static void do_at_once(enum deed deed, MPIX_Queue *queue, struct gpu_pair *p)
{
    int flag = 0;

    switch (deed) {
    case TEST_QUEUE:
        MTEST_OK(MPIX_Queue_test(*queue, &flag));
        MTEST_CHECK(flag);
        break;
    case FREE_REQUESTS:
    case FREE_AT_EVENT:
        MTEST_OK(MPI_Request_free(&p->r[0]));
        MTEST_OK(MPI_Request_free(&p->r[1]));
        break;
    default:
        MTEST_OK(MPIX_Queue_free(queue));
    }
}

/* Rank late is behind the other one, which waits for it. */
static void test(enum deed deed, size_t bytes, int late)
{
    void *stream = mtest_gpu_stream();
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct gpu_pair p;
    void *event = NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    gpu_pair_make(&p, MTEST_DEVICE, bytes, 1 - mtest_rank, TAG, 1);
    MTEST_OK(MPIX_Matchall(2, p.r));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == late) {
        sleep_a_while(NULL);
    }
    gpu_pair_exchange(&p, queue, stream, 0);
    if (deed == FREE_AT_EVENT) {
        event = mtest_gpu_event(stream);
        mtest_gpu_launch(stream, sleep_a_while, NULL);
        mtest_gpu_event_synchronize(event);
    } else {
        mtest_gpu_synchronize(stream);
    }
    do_at_once(deed, &queue, &p);
    if (deed == FREE_AT_EVENT) {
        mtest_gpu_event_end(event);
        mtest_gpu_synchronize(stream);
    }
    gpu_pair_check(&p, 1, names[deed]);
    gpu_pair_free(&p);
    if (queue != MPIX_QUEUE_NULL) {
        MTEST_OK(MPIX_Queue_free(&queue));
    }
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1 << 17};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int deed = TEST_QUEUE; deed < DEEDS; deed++) {
            for (size_t i = 0; i < 2; i++) {
                test((enum deed)deed, sizes[i], round % 2);
            }
        }
    }
    return mtest_end();
}
