/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What section GPUS of mpix_queue(7) promises of progress: a program goes on if every local start
 * that a wait depends on, also through the peer, was enqueued before that wait, on any stream. With
 * more streams than hardware queues, with one hardware queue and with launches that block too, as
 * the environment says. What may wait for the GPU waits for no more than that.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_pair.h"

enum { LANES = 6, ROUNDS = 4, TAG = 20, BYTES = 5000 };

struct lane {
    void *stream;
    MPIX_Queue queue;
};

static struct lane lanes[LANES];
static int peer;

static void lanes_make(void)
{
    for (int i = 0; i < LANES; i++) {
        lanes[i].stream = mtest_gpu_stream();
        MTEST_OK(mtest_gpu_queue(&lanes[i].queue, MPIX_QUEUE_AUTO, &lanes[i].stream));
    }
}

static void lanes_wait(void)
{
    for (int i = 0; i < LANES; i++) {
        MTEST_OK(MPIX_Queue_wait(lanes[i].queue));
        mtest_gpu_synchronize(lanes[i].stream);
    }
}

static void lanes_free(void)
{
    for (int i = 0; i < LANES; i++) {
        MTEST_OK(MPIX_Queue_free(&lanes[i].queue));
        mtest_gpu_stream_end(lanes[i].stream);
    }
}

/* Do launches last until they have run? */
static int launches_block(void)
{
    const char *hip = getenv("HIP_LAUNCH_BLOCKING"), *cuda = getenv("CUDA_LAUNCH_BLOCKING");

    return (hip != NULL && strcmp(hip, "1") == 0) || (cuda != NULL && strcmp(cuda, "1") == 0);
}

static void match_all(struct gpu_pair *pairs, int n)
{
    MPI_Request both[2 * LANES];

    for (int i = 0; i < n; i++) {
        both[2 * i] = pairs[i].r[0];
        both[2 * i + 1] = pairs[i].r[1];
    }
    MTEST_OK(MPIX_Matchall(2 * n, both));
}

/* A message comes back before the next one leaves, each on another stream than its answer. Rank 1
 * waits on one stream, and what rank 0 needs it then starts on another. */
static void test_replies(void)
{
    struct gpu_pair pairs[LANES];

    for (int i = 0; i < LANES; i++) {
        gpu_pair_make(&pairs[i], MTEST_DEVICE, BYTES, peer, TAG + i, ROUNDS);
    }
    match_all(pairs, LANES);
    for (int k = 0; k < ROUNDS * LANES; k++) {
        struct gpu_pair *p = &pairs[k % LANES];
        struct lane *sends = &lanes[k % LANES], *recvs = &lanes[(k + 1) % LANES];
        size_t round = (size_t)(k / LANES);

        MTEST_OK(MPIX_Enqueue_start(recvs->queue, &p->r[0]));
        if (mtest_rank != 0) {
            MTEST_OK(MPIX_Enqueue_wait(recvs->queue, &p->r[0]));
            gpu_pair_get(p, recvs->stream, round);
        }
        gpu_pair_put(p, sends->stream, round);
        MTEST_OK(MPIX_Enqueue_start(sends->queue, &p->r[1]));
        if (mtest_rank == 0) {
            MTEST_OK(MPIX_Enqueue_wait(recvs->queue, &p->r[0]));
            gpu_pair_get(p, recvs->stream, round);
        }
        MTEST_OK(MPIX_Enqueue_wait(sends->queue, &p->r[1]));
    }
    lanes_wait();
    for (int i = 0; i < LANES; i++) {
        gpu_pair_check(&pairs[i], ROUNDS, "replies");
        gpu_pair_free(&pairs[i]);
    }
}

static void shuffle(int order[2 * LANES], unsigned long long *state)
{
    for (int i = 0; i < 2 * LANES; i++) {
        order[i] = i;
    }
    for (int i = 2 * LANES - 1; i > 0; i--) {
        int j = (int)(mtest_random(state) % (unsigned)(i + 1)), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* All starts before all waits, in any order and on any streams, also of messages to itself. */
static void test_any_order(void)
{
    unsigned long long state = 4711 + (unsigned)mtest_rank;
    struct gpu_pair pairs[LANES];
    int order[2 * LANES];

    for (int i = 0; i < LANES; i++) {
        gpu_pair_make(&pairs[i], MTEST_DEVICE, BYTES, i % 2 == 0 ? peer : mtest_rank, TAG + i,
                      ROUNDS);
    }
    match_all(pairs, LANES);
    for (size_t round = 0; round < ROUNDS; round++) {
        unsigned shift = mtest_random(&state);

        shuffle(order, &state);
        for (int i = 0; i < 2 * LANES; i++) {
            struct gpu_pair *p = &pairs[order[i] / 2];
            struct lane *lane = &lanes[((unsigned)order[i] + shift) % LANES];

            if (order[i] % 2 == 1) {
                gpu_pair_put(p, lane->stream, round);
            }
            MTEST_OK(MPIX_Enqueue_start(lane->queue, &p->r[order[i] % 2]));
        }
        shuffle(order, &state);
        for (int i = 0; i < 2 * LANES; i++) {
            struct gpu_pair *p = &pairs[order[i] / 2];
            struct lane *lane = &lanes[((unsigned)order[i] + shift) % LANES];

            MTEST_OK(MPIX_Enqueue_wait(lane->queue, &p->r[order[i] % 2]));
            if (order[i] % 2 == 0) {
                gpu_pair_get(p, lane->stream, round);
            }
        }
        lanes_wait();
    }
    for (int i = 0; i < LANES; i++) {
        gpu_pair_check(&pairs[i], ROUNDS, "any order");
        gpu_pair_free(&pairs[i]);
    }
}

/* Opens a gate after a while, whatever the rest of the program is in. */
static void *open_later(void *gate)
{
    struct timespec while_ = {0, 100000000};

    mtest_gate_wait_reached(gate);
    (void)nanosleep(&while_, NULL);
    mtest_gate_open(gate);
    return NULL;
}

/* Both ranks match requests that need memory of the GPU, make a queue and free one while they wait
 * for each other: that may take until the waits are over, and hinders them in nothing. */
static void test_match_meanwhile(void)
{
    struct lane other = {.stream = mtest_gpu_stream()}, unused = {.stream = mtest_gpu_stream()};
    struct gpu_pair first, second;
    struct mtest_gate gate = {0};
    pthread_t opener;

    gpu_pair_make(&first, MTEST_DEVICE, BYTES, peer, TAG, 1);
    gpu_pair_make(&second, MTEST_DEVICE, 100 * BYTES, peer, TAG + 1, 1);
    MTEST_OK(MPIX_Matchall(2, first.r));
    MTEST_OK(mtest_gpu_queue(&unused.queue, MPIX_QUEUE_AUTO, &unused.stream));
    pthread_create(&opener, NULL, open_later, &gate);
    mtest_gpu_launch(lanes[0].stream, mtest_gate_fn, &gate);
    gpu_pair_exchange(&first, lanes[0].queue, lanes[0].stream, 0);
    MTEST_OK(MPIX_Matchall(2, second.r));
    MTEST_OK(mtest_gpu_queue(&other.queue, MPIX_QUEUE_AUTO, &other.stream));
    MTEST_OK(MPIX_Queue_free(&unused.queue));
    gpu_pair_exchange(&second, other.queue, other.stream, 0);
    lanes_wait();
    MTEST_OK(MPIX_Queue_wait(other.queue));
    mtest_gpu_synchronize(other.stream);
    pthread_join(opener, NULL);
    gpu_pair_check(&first, 1, "the first set");
    gpu_pair_check(&second, 1, "the second set");
    gpu_pair_free(&first);
    gpu_pair_free(&second);
    MTEST_OK(MPIX_Queue_free(&other.queue));
    mtest_gpu_stream_end(other.stream);
    mtest_gpu_stream_end(unused.stream);
}

/* All other calls do not wait for the GPU: the stream goes on only when they have returned. */
static void test_no_call_waits(void)
{
    struct lane unused = {.stream = mtest_gpu_stream()};
    struct gpu_pair held, idle, more;
    struct mtest_gate gate = {0};
    int flag = 1, is_matched = 0;
    MPI_Status status;

    gpu_pair_make(&held, MTEST_DEVICE, BYTES, peer, TAG, 1);
    gpu_pair_make(&more, MTEST_DEVICE, BYTES, peer, TAG + 1, 1);
    gpu_pair_make(&idle, MTEST_DEVICE, BYTES, peer, TAG + 2, 1);
    MTEST_OK(MPIX_Matchall(2, held.r));
    MTEST_OK(MPIX_Matchall(2, more.r));
    MTEST_OK(MPIX_Matchall(2, idle.r));
    MTEST_OK(mtest_gpu_queue(&unused.queue, MPIX_QUEUE_AUTO, &unused.stream));
    MPI_Barrier(MPI_COMM_WORLD);
    mtest_gpu_launch(lanes[0].stream, mtest_gate_fn, &gate);
    gpu_pair_exchange(&held, lanes[0].queue, lanes[0].stream, 0);
    gpu_pair_exchange(&more, lanes[1].queue, lanes[1].stream, 0);
    MTEST_OK(MPIX_Queue_test(lanes[0].queue, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPI_Request_get_status(held.r[0], &flag, &status));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPIX_Is_matched(held.r[1], &is_matched));
    MTEST_EQ(is_matched, 1);
    MTEST_KIND(MPI_Request_free(&held.r[0]), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_free(&lanes[0].queue), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Queue_free(&unused.queue));
    MTEST_OK(MPI_Request_free(&idle.r[0]));
    MTEST_OK(MPI_Request_free(&idle.r[1]));
    mtest_gate_open(&gate);
    lanes_wait();
    gpu_pair_check(&held, 1, "behind the gate");
    gpu_pair_check(&more, 1, "on another stream");
    gpu_pair_free(&held);
    gpu_pair_free(&more);
    gpu_pair_free(&idle);
    mtest_gpu_stream_end(unused.stream);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    lanes_make();
    test_replies();
    test_any_order();
    test_match_meanwhile();
    if (!launches_block()) {
        test_no_call_waits();
    }
    lanes_free();
    return mtest_end();
}
