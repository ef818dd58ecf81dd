/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that are captured and freed, again and again: nothing of them is lost, and what takes
 * their place is not mixed up with them. Two ranks, with MTEST_STREAM and MTEST_BUFFER.
 *
 *     graph_anew [few]    few: not more requests than there are words for, as a NIC has not room
 */
#include <string.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, TIMES = 200, KEPT = 5, PAIRS_AT_ONCE = 300, ENDS = 16384 };

static int peer;
static struct gpu_lanes_side side;

/* Graphs that are freed before their requests, and others that are freed long after them: what
 * takes their place is not mixed up with them. */
static void test_made_anew(void)
{
    static const size_t sizes[] = {300, 100000};
    static struct gpu_lanes l;
    void *kept[KEPT] = {NULL};

    for (int i = 0; i < TIMES; i++) {
        void **last = &kept[i / 2 % KEPT], *executable;

        gpu_lanes_make(&l, MTEST_SEND, 2, sizes, peer, TAG, mtest_rank == 0);
        gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
        gpu_lanes_exchange(&l, side.queue, side.stream);
        executable = gpu_graph_end_executable(side.stream);
        gpu_graph_launch(executable, side.stream);
        gpu_graph_launch(executable, side.stream);
        gpu_lanes_side_finish(&side);
        gpu_lanes_check(&l, 2, "made anew");
        if (i % 2 == 0) {
            gpu_graph_free_executable(executable);
            gpu_lanes_free(&l);
            continue;
        }
        gpu_lanes_free(&l);
        if (*last != NULL) {
            gpu_graph_free_executable(*last);
        }
        *last = executable;
    }
    for (int i = 0; i < KEPT; i++) {
        gpu_graph_free_executable(kept[i]);
    }
}

/* More pairs than there are words for, one lot after the other: they are used again once the graph
 * is gone. */
static void test_words(void)
{
    struct mtest_buf in, out;
    static MPI_Request r[2 * PAIRS_AT_ONCE];
    int n = PAIRS_AT_ONCE;

    mtest_buf_make(&in, MPI_BYTE, n);
    mtest_buf_make(&out, MPI_BYTE, n);
    for (int pairs = 0; pairs < ENDS / 2 + 3 * n; pairs += n) {
        void *executable;

        mtest_buf_fill(&out, pairs + mtest_rank);
        mtest_buf_clear(&in);
        for (int i = 0; i < n; i++) {
            MTEST_OK(mtest_init_raw(MTEST_RECV, (char *)in.buf + i, 1, MPI_BYTE, peer, TAG + i,
                                    MPI_COMM_WORLD, &r[i]));
            MTEST_OK(mtest_init_raw(MTEST_SEND, (char *)out.buf + i, 1, MPI_BYTE, peer, TAG + i,
                                    MPI_COMM_WORLD, &r[n + i]));
        }
        MTEST_OK(MPIX_Matchall(2 * n, r));
        gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
        MTEST_OK(MPIX_Enqueue_startall(side.queue, 2 * n, r));
        MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2 * n, r));
        executable = gpu_graph_end_executable(side.stream);
        gpu_graph_launch(executable, side.stream);
        gpu_lanes_side_finish(&side);
        MTEST_FULL(&in, pairs + peer);
        if (pairs / n % 2 == 0) {
            gpu_graph_free_executable(executable);
        }
        for (int i = 0; i < 2 * n; i++) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
        if (pairs / n % 2 != 0) {
            gpu_graph_free_executable(executable);
        }
    }
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    gpu_lanes_side_make(&side);
    test_made_anew();
    if (argc < 2 || strcmp(argv[1], "few") != 0) {
        test_words();
    }
    gpu_lanes_side_free(&side);
    return mtest_end();
}
