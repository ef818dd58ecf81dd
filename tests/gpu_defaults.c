/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues on streams of a GPU that the program has not created, and on such with a priority: the
 * default stream of the device by both of its handles, and that of the thread, which nobody else
 * can enqueue on. Work of the program on that stream keeps its order with ours.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_pair.h"

enum { ROUNDS = 3, TAG = 50, BYTES = 5000 };

/* The vendors' handles. */
#define LEGACY ((void *)1)
#define PER_THREAD ((void *)2)

static int peer;

/* What stands before a start in the stream is held for a while, so that a start in any other stream
 * would send old data. */
static void exchange(MPIX_Queue queue, void *stream, const char *what)
{
    struct gpu_pair p;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        struct mtest_gate gate = {0};
        int flag = 1;

        mtest_gpu_launch(stream, mtest_gate_fn, &gate);
        gpu_pair_exchange(&p, queue, stream, round);
        for (unsigned tries = 0; tries < 10;) {
            MTEST_OK(MPIX_Queue_test(queue, &flag));
            MTEST_EQ(flag, 0);
            mtest_backoff(&tries);
        }
        mtest_gate_open(&gate);
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
    }
    gpu_pair_check(&p, ROUNDS, what);
    gpu_pair_free(&p);
}

static void test_stream(void *stream, const char *what)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    exchange(queue, stream, what);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* Both are used at the same time. */
static void test_priorities(void)
{
    void *streams[2] = {mtest_gpu_stream_of_priority(false), mtest_gpu_stream_of_priority(true)};
    MPIX_Queue queues[2] = {MPIX_QUEUE_NULL, MPIX_QUEUE_NULL};
    struct gpu_pair pairs[2];

    for (int i = 0; i < 2; i++) {
        MTEST_OK(mtest_gpu_queue(&queues[i], MPIX_QUEUE_AUTO, &streams[i]));
        gpu_pair_make(&pairs[i], MTEST_DEVICE, BYTES, peer, TAG + i, ROUNDS);
        MTEST_OK(MPIX_Matchall(2, pairs[i].r));
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&pairs[0], queues[0], streams[0], round);
        gpu_pair_exchange(&pairs[1], queues[1], streams[1], round);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Queue_wait(queues[i]));
        mtest_gpu_synchronize(streams[i]);
        gpu_pair_check(&pairs[i], ROUNDS, i == 0 ? "low priority" : "high priority");
        gpu_pair_free(&pairs[i]);
        test_stream(streams[i], "one priority");
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        mtest_gpu_stream_end(streams[i]);
    }
}

/* A null handle, whose kind is said or found out; no handle, with a kind that is said. */
static void test_null(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    void *stream = NULL;

    test_stream(NULL, "the default stream");
    MTEST_OK(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    exchange(queue, stream, "the default stream, recognised");
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, NULL));
    exchange(queue, NULL, "the default stream, without an address");
    MTEST_OK(MPIX_Queue_free(&queue));
}

struct owned {
    MPIX_Queue queue;
    struct gpu_pair pair;
};

/* Another thread than the queue's. */
static void *disturb(void *arg)
{
    struct owned *o = arg;
    int flag = 0;

    MTEST_KIND_TEXT(MPIX_Enqueue_startall(o->queue, 2, o->pair.r), MPIXQ_ERR_STATE, "thread");
    MTEST_KIND_TEXT(MPIX_Enqueue_start(o->queue, &o->pair.r[0]), MPIXQ_ERR_STATE, "thread");
    MTEST_EQ(mtest_queue_count(o->queue, "mpixq_starts"), 0);
    MTEST_EQ(mtest_queue_count(o->queue, "mpixq_launches"), 0);
    MTEST_OK(MPIX_Queue_test(o->queue, &flag));
    MTEST_EQ(flag, 1);
    return NULL;
}

/* Nor can it enqueue the wait; it may wait itself. */
static void *disturb_waits(void *arg)
{
    struct owned *o = arg;

    MTEST_KIND_TEXT(MPIX_Enqueue_waitall(o->queue, 2, o->pair.r), MPIXQ_ERR_STATE, "thread");
    MTEST_EQ(mtest_queue_count(o->queue, "mpixq_waits"), 0);
    MTEST_KIND(MPI_Request_free(&o->pair.r[0]), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Queue_wait(o->queue));
    return NULL;
}

static void *free_it(void *arg)
{
    MTEST_OK(MPIX_Queue_free(&((struct owned *)arg)->queue));
    return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    pthread_create(&thread, NULL, fn, arg);
    pthread_join(thread, NULL);
}

static void test_per_thread(void)
{
    void *stream = PER_THREAD;
    struct owned o = {.queue = MPIX_QUEUE_NULL};

    test_stream(PER_THREAD, "the default stream of the thread");
    MTEST_OK(mtest_gpu_queue(&o.queue, MPIX_QUEUE_AUTO, &stream));
    gpu_pair_make(&o.pair, MTEST_DEVICE, BYTES, peer, TAG, 1);
    MTEST_OK(MPIX_Matchall(2, o.pair.r));
    in_thread(disturb, &o);
    gpu_pair_put(&o.pair, stream, 0);
    MTEST_OK(MPIX_Enqueue_startall(o.queue, 2, o.pair.r));
    in_thread(disturb_waits, &o);
    MTEST_OK(MPIX_Enqueue_waitall(o.queue, 2, o.pair.r));
    gpu_pair_get(&o.pair, stream, 0);
    MTEST_OK(MPIX_Queue_wait(o.queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&o.pair, 1, "the default stream of the thread, disturbed");
    gpu_pair_free(&o.pair);
    in_thread(free_it, &o);
}

/* One that was made by another thread is its own. */
static void *run_per_thread(void *arg)
{
    (void)arg;
    test_stream(PER_THREAD, "the default stream of another thread");
    return NULL;
}

/* HIP has this handle since version 6. */
static bool has_legacy(void)
{
    const char *version = getenv("HIP_DOUBLE_VERSION");

    return strcmp(mtest_gpu_kind(), "cudaStream_t") == 0 ||
           (version != NULL && strcmp(version, "6") == 0);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("MTEST_STREAM names no GPU");
        return mtest_end();
    }
    peer = mtest_size - 1 - mtest_rank;
    test_priorities();
    test_null();
    if (has_legacy()) {
        test_stream(LEGACY, "the default stream by its handle");
    }
    test_per_thread();
    in_thread(run_per_thread, NULL);
    return mtest_end();
}
