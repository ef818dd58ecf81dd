/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues on a GPU that no other process has queues on are driven by kernels, else by stream memory
 * operations: from the next match on, or after some starts; if MPIXQ_GPU_OPS says so, or leaves it
 * to the library on CUDA. Else they are driven as it says, or by kernels on HIP. Data arrives all
 * the same.
 *
 * On CUDA, MPS must not serve the GPUs, and no other program with the library use them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_pair.h"

enum { ROUNDS = 3, BYTES = 5000, TAG = 60, STARTS = 140 };

/* "kernels" or "values", if that does not change, or NULL. */
static const char *settled(void)
{
    const char *asked = getenv("MPIXQ_GPU_OPS");

    if (asked != NULL && strcmp(asked, "auto") != 0) {
        return strcmp(asked, "unshared") == 0 ? NULL : asked;
    }
    return strcmp(mtest_gpu_kind(), "cudaStream_t") == 0 ? NULL : "kernels";
}

static void expect(MPIX_Queue queue, bool shared, int line)
{
    const char *wanted = settled();
    char found[MPI_MAX_INFO_VAL + 1] = "";

    wanted = wanted != NULL ? wanted : shared ? "values" : "kernels";
    MTEST_CHECK(mtest_queue_info(queue, "mpixq_stream_by", found));
    if (strcmp(found, wanted) != 0) {
        mtest_fail(__FILE__, line, "the queue is driven by %s, not by %s", found, wanted);
    }
}

#define EXPECT(queue, shared) expect((queue), (shared), __LINE__)

struct site {
    void *stream;
    MPIX_Queue queue;
};

static void site_open(struct site *s, int device)
{
    mtest_gpu_set_device(device);
    s->stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&s->queue, MPIX_QUEUE_AUTO, &s->stream));
}

static void site_close(struct site *s)
{
    MTEST_OK(MPIX_Queue_free(&s->queue));
    mtest_gpu_stream_end(s->stream);
}

/* A match and some exchanges with a rank, or with ourselves. */
static void exchange(struct site *s, int peer, const char *what)
{
    struct gpu_pair p;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, s->queue, s->stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(s->queue));
    mtest_gpu_synchronize(s->stream);
    gpu_pair_check(&p, ROUNDS, what);
    gpu_pair_free(&p);
}

static void test_own_devices(void)
{
    struct site s;

    site_open(&s, mtest_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(&s, 1 - mtest_rank, "each on a GPU of its own");
    EXPECT(s.queue, false);
    MPI_Barrier(MPI_COMM_WORLD);
    site_close(&s);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The second comes, and a match tells the first; it goes, and so does another match. */
static void test_match(void)
{
    struct site s;

    if (mtest_rank == 0) {
        site_open(&s, 0);
        EXPECT(s.queue, false);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 1) {
        site_open(&s, 0);
        EXPECT(s.queue, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(&s, 1 - mtest_rank, "both on one GPU");
    EXPECT(s.queue, true);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 1) {
        site_close(&s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 0) {
        exchange(&s, 0, "alone again");
        EXPECT(s.queue, false);
        site_close(&s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void start_many(struct site *s, MPI_Request r[2])
{
    for (int i = 0; i < STARTS; i++) {
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(s->queue));
    }
}

/* The same without any match of the first in between. */
static void test_starts(void)
{
    struct gpu_pair p;
    struct site s;

    if (mtest_rank == 0) {
        site_open(&s, 0);
        gpu_pair_make(&p, MTEST_PINNED, BYTES, 0, TAG, 1);
        MTEST_OK(MPIX_Matchall(2, p.r));
        gpu_pair_exchange(&p, s.queue, s.stream, 0);
        EXPECT(s.queue, false);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 1) {
        site_open(&s, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 0) {
        start_many(&s, p.r);
        EXPECT(s.queue, true);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 1) {
        site_close(&s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_rank == 0) {
        start_many(&s, p.r);
        EXPECT(s.queue, false);
        mtest_gpu_synchronize(s.stream);
        gpu_pair_check(&p, 1, "whoever uses the GPU");
        gpu_pair_free(&p);
        site_close(&s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    char domain[32];
    int number = (int)getpid(), n = 0, least;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_size != 2) {
        mtest_skip("there are not two ranks");
        return mtest_end();
    }
    /* GPUs that no other test has, if it is the double, which reads this at its first call. */
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    (void)snprintf(domain, sizeof domain, "%d", number);
    (void)setenv("HIP_DOUBLE_DOMAIN", domain, 1);
    n = mtest_gpu_kind() != NULL ? mtest_gpu_devices() : 0;
    MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (least < 1) {
        mtest_skip("MTEST_STREAM names no GPU");
        return mtest_end();
    }
    if (least > 1) {
        test_own_devices();
    }
    test_match();
    test_starts();
    return mtest_end();
}
