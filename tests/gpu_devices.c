/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Several GPUs in a process: queues on streams of each, buffers on any, called with any as the
 * current device, which no call changes; also from a thread that has not chosen it.
 */
#include <pthread.h>

#include "gpu_pair.h"

enum { MOST = 3, ROUNDS = 3, TAG = 40, BYTES = 6000 };

static int n_devices;

/* A call, after which the current device is still this one. */
#define STAYS(device, call)                                                                        \
    do {                                                                                           \
        call;                                                                                      \
        if (mtest_gpu_device() != (device)) {                                                      \
            mtest_fail(__FILE__, __LINE__, "the current device is %d, not %d, after %s",           \
                       mtest_gpu_device(), (device), #call);                                       \
            mtest_gpu_set_device(device);                                                          \
        }                                                                                          \
    } while (0)

struct site {
    void *stream, *copies; /* on the device of the queue, and of the buffer */
    MPIX_Queue queue;
    struct gpu_pair pair;
};

/* The data comes and goes by streams of the buffer's device. */
static void run_round(struct site *s, int current, size_t round)
{
    int flag = 0;

    gpu_pair_put(&s->pair, s->copies, round);
    mtest_gpu_synchronize(s->copies);
    STAYS(current, MTEST_OK(MPIX_Enqueue_start(s->queue, &s->pair.r[0])));
    STAYS(current, MTEST_OK(MPIX_Enqueue_startall(s->queue, 1, &s->pair.r[1])));
    STAYS(current, MTEST_OK(MPIX_Queue_test(s->queue, &flag)));
    STAYS(current, MTEST_OK(MPIX_Enqueue_wait(s->queue, &s->pair.r[1])));
    STAYS(current, MTEST_OK(MPIX_Enqueue_waitall(s->queue, 1, &s->pair.r[0])));
    STAYS(current, MTEST_OK(MPIX_Queue_wait(s->queue)));
    gpu_pair_get(&s->pair, s->copies, round);
    mtest_gpu_synchronize(s->copies);
}

static void match(MPI_Request r[2], int current)
{
    MPI_Request imatch = MPI_REQUEST_NULL;
    int flag = 0;

    STAYS(current, MTEST_OK(MPIX_Imatchall(2, r, &imatch)));
    STAYS(current, MTEST_OK(MPI_Wait(&imatch, MPI_STATUS_IGNORE)));
    STAYS(current, MTEST_OK(MPIX_Is_matched(r[0], &flag)));
    MTEST_EQ(flag, 1);
}

/* A queue on a stream of one device, a buffer of another, while a third is the current one. */
static void test(int of_queue, int of_buffer, int current, int peer)
{
    struct site s = {.stream = NULL};
    void *told = NULL;
    MPI_Status status;
    MPI_Info info;
    int flag = 0;

    mtest_gpu_set_device(of_queue);
    s.stream = mtest_gpu_stream();
    mtest_gpu_set_device(of_buffer);
    s.copies = mtest_gpu_stream();
    gpu_pair_make(&s.pair, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    mtest_gpu_set_device(current);
    STAYS(current, MTEST_OK(mtest_gpu_queue(&s.queue, MPIX_QUEUE_AUTO, &s.stream)));
    match(s.pair.r, current);
    for (size_t round = 0; round < ROUNDS; round++) {
        run_round(&s, current, round);
    }
    STAYS(current, MTEST_OK(MPI_Request_get_status(s.pair.r[0], &flag, &status)));
    STAYS(current, MTEST_OK(MPIX_Queue_get_info(s.queue, &info)));
    MPI_Info_free(&info);
    STAYS(current, MTEST_OK(MPIX_Queue_get_stream(s.queue, &told)));
    MTEST_CHECK(told == s.stream);
    gpu_pair_check(&s.pair, ROUNDS, "several devices");
    STAYS(current, gpu_pair_free(&s.pair));
    STAYS(current, MTEST_OK(MPIX_Queue_free(&s.queue)));
    mtest_gpu_stream_end(s.stream);
    mtest_gpu_stream_end(s.copies);
}

/* One call starts requests whose buffers are on different devices. */
static void test_mixed(int peer)
{
    struct gpu_pair pairs[MOST];
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2 * MOST];
    void *stream;

    for (int d = 0; d < n_devices; d++) {
        mtest_gpu_set_device(d);
        gpu_pair_make(&pairs[d], MTEST_DEVICE, BYTES, peer, TAG + d, 1);
        stream = mtest_gpu_stream();
        gpu_pair_put(&pairs[d], stream, 0);
        mtest_gpu_synchronize(stream);
        mtest_gpu_stream_end(stream);
        r[2 * d] = pairs[d].r[0];
        r[2 * d + 1] = pairs[d].r[1];
    }
    stream = mtest_gpu_stream();
    mtest_gpu_set_device(0);
    STAYS(0, MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream)));
    STAYS(0, MTEST_OK(MPIX_Matchall(2 * n_devices, r)));
    STAYS(0, MTEST_OK(MPIX_Enqueue_startall(queue, 2 * n_devices, r)));
    STAYS(0, MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * n_devices, r)));
    STAYS(0, MTEST_OK(MPIX_Queue_wait(queue)));
    STAYS(0, MTEST_OK(MPIX_Queue_free(&queue)));
    mtest_gpu_stream_end(stream);
    for (int d = 0; d < n_devices; d++) {
        mtest_gpu_set_device(d);
        stream = mtest_gpu_stream();
        gpu_pair_get(&pairs[d], stream, 0);
        mtest_gpu_synchronize(stream);
        mtest_gpu_stream_end(stream);
        gpu_pair_check(&pairs[d], 1, "buffers on several devices");
        gpu_pair_free(&pairs[d]);
    }
}

static void *run_in_thread(void *arg)
{
    struct site *s = arg;
    int current;

    (void)mtest_gpu_kind(); /* on CUDA the thread has a current context from here on */
    current = mtest_gpu_device();
    for (size_t round = 0; round < ROUNDS; round++) {
        run_round(s, current, round);
    }
    return NULL;
}

/* The default stream of a device, too: it is that of the device that was the current one when the
 * queue was made. */
static void test_thread(int device, bool is_default, int peer)
{
    struct site s = {.stream = NULL};
    pthread_t thread;

    mtest_gpu_set_device(device);
    s.stream = is_default ? NULL : mtest_gpu_stream();
    s.copies = mtest_gpu_stream();
    gpu_pair_make(&s.pair, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(mtest_gpu_queue(&s.queue, MPIX_QUEUE_AUTO, &s.stream));
    MTEST_OK(MPIX_Matchall(2, s.pair.r));
    pthread_create(&thread, NULL, run_in_thread, &s);
    pthread_join(thread, NULL);
    gpu_pair_check(&s.pair, ROUNDS, "from another thread");
    gpu_pair_free(&s.pair);
    MTEST_OK(MPIX_Queue_free(&s.queue));
    mtest_gpu_stream_end(s.copies);
    if (!is_default) {
        mtest_gpu_stream_end(s.stream);
    }
}

int main(int argc, char **argv)
{
    int least, peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    n_devices = mtest_gpu_kind() != NULL ? mtest_gpu_devices() : 0;
    n_devices = n_devices < MOST ? n_devices : MOST;
    MPI_Allreduce(&n_devices, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    n_devices = least;
    if (n_devices < 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there is only one");
        return mtest_end();
    }
    peer = mtest_size - 1 - mtest_rank;
    for (int i = 0; i < n_devices * n_devices * n_devices; i++) {
        test(i % n_devices, i / n_devices % n_devices, i / n_devices / n_devices, peer);
    }
    test_mixed(peer);
    for (int device = 0; device < n_devices; device++) {
        test_thread(device, false, peer);
        test_thread(device, true, peer);
    }
    return mtest_end();
}
