/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A program that resets its device while it has many requests there that graphs have started, or
 * that kernels may start. They belong to no queue; all of them fail, and say why. Two ranks, with
 * MTEST_STREAM and MTEST_BUFFER.
 */
#include <mpix_queue_device.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "gpu_pair.h"

enum { TAG = 40, PAIRS = 150, REQUESTS = 2 * PAIRS }; /* more than the library fails at a time */

static int peer;
static struct gpu_lanes_side side;
static unsigned char *in, *out; /* of each pair a byte */
static unsigned char *data;     /* the same in pinned memory */
static MPI_Request r[REQUESTS]; /* receives and sends */

static void copy(void *to, const void *from)
{
    mtest_gpu_copy(side.stream, to, from, PAIRS);
    mtest_gpu_synchronize(side.stream);
}

static void make(int seed)
{
    data = mtest_gpu_alloc(MTEST_PINNED, PAIRS);
    in = mtest_gpu_alloc(MTEST_DEVICE, PAIRS);
    out = mtest_gpu_alloc(MTEST_DEVICE, PAIRS);
    for (size_t i = 0; i < PAIRS; i++) {
        data[i] = mtest_pattern(seed + mtest_rank, i);
    }
    copy(out, data);
    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(in + i, 1, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(out + i, 1, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD, &r[PAIRS + i]));
    }
    MTEST_OK(MPIX_Matchall(REQUESTS, r));
}

static void replay_once(void)
{
    void *executable;

    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, REQUESTS, r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, REQUESTS, r));
    executable = gpu_graph_end_executable(side.stream);
    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_graph_free_executable(executable);
}

static void expect(int seed)
{
    copy(data, in);
    for (size_t i = 0; i < PAIRS; i++) {
        MTEST_EQ(data[i], mtest_pattern(seed + peer, i));
    }
}

/* Each of them says that the device was reset, and not that the peer has failed. */
static void expect_lost(void)
{
    for (int i = 0; i < REQUESTS; i++) {
        MTEST_KIND_TEXT(MPIX_Enqueue_start(side.queue, &r[i]), MPIXQ_ERR_COMM, "was reset");
        MTEST_KIND_TEXT(MPI_Start(&r[i]), MPIXQ_ERR_COMM, "was reset");
    }
}

static void test_after(void)
{
    enum { BYTES = 3000, ROUNDS = 2 };
    struct gpu_pair p;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, side.queue, side.stream, round);
    }
    gpu_lanes_side_finish(&side);
    gpu_pair_check(&p, ROUNDS, "after others were lost");
    gpu_pair_free(&p);
}

/* Rank 0 resets its device. By a graph that is gone by then, or with handles. */
static void test_lost(bool handles)
{
    static MPIX_Device_request h[REQUESTS];
    MPIX_Queue before;

    gpu_lanes_side_make(&side);
    make(7);
    if (handles) {
        MTEST_OK(MPIX_Device_request_create(REQUESTS, r, side.queue, h));
    } else {
        replay_once();
        expect(7);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the failure would overtake what is under way */
    if (mtest_rank == 0) {
        before = side.queue; /* which hears of their failures */
        mtest_gpu_reset();
        gpu_lanes_side_make(&side);
        expect_lost();
        MTEST_KIND_TEXT(MPIX_Queue_wait(before), MPIXQ_ERR_COMM, "was reset");
        MTEST_OK(MPIX_Queue_free(&before));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (handles) {
        MTEST_OK(MPIX_Device_request_free(REQUESTS, h));
    }
    for (int i = 0; i < REQUESTS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    if (mtest_rank != 0) {
        mtest_gpu_free(MTEST_DEVICE, in);
        mtest_gpu_free(MTEST_DEVICE, out);
        mtest_gpu_free(MTEST_PINNED, data);
    }
    test_after();
    gpu_lanes_side_free(&side);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    test_lost(false);
    test_lost(true);
    return mtest_end();
}
