/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests whose data the host moves, of a peer and within the process, started by graphs and, in
 * any order, by all others who can: the queue that was captured, a queue on a host stream, and the
 * host. Where a rank has two GPUs, not by a graph of the other one, which leaves its capture valid.
 * Two ranks, with MTEST_STREAM and MTEST_BUFFER=pinned or pageable.
 *
 *     graph_elsewhere [ROUNDS]   so many exchanges of each pair (100)
 */
#include <stdlib.h>
#include <string.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 70, ROUNDS = 100, BYTES = 3000 };

enum way { REPLAY, ON_QUEUE, ON_HOST_STREAM, BY_HOST, WAYS };

static struct gpu_lanes_side side;
static MPIX_Queue host_queue = MPIX_QUEUE_NULL;

struct pair {
    int peer;
    unsigned char *out, *in;
    MPI_Request r[2];
    void *executable;
};

static void pair_make(struct pair *p, int peer)
{
    p->peer = peer;
    p->out = mtest_gpu_alloc(mtest_gpu_memory(), BYTES);
    p->in = mtest_gpu_alloc(mtest_gpu_memory(), BYTES);
    MTEST_OK(MPI_Recv_init(p->in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(MPI_Send_init(p->out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &p->r[1]));
    MTEST_OK(MPIX_Matchall(2, p->r));
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, p->r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, p->r));
    p->executable = gpu_graph_end_executable(side.stream);
}

static void pair_free(struct pair *p)
{
    gpu_graph_free_executable(p->executable);
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
    mtest_gpu_free(mtest_gpu_memory(), p->out);
    mtest_gpu_free(mtest_gpu_memory(), p->in);
}

/* One exchange, which has ended when this returns. */
static void exchange(struct pair *p, enum way way)
{
    MPIX_Queue queue = way == ON_QUEUE ? side.queue : host_queue;

    switch (way) {
    case REPLAY:
        gpu_graph_launch(p->executable, side.stream);
        mtest_gpu_synchronize(side.stream);
        break;
    case BY_HOST:
        MTEST_OK(MPI_Startall(2, p->r));
        MTEST_OK(MPI_Waitall(2, p->r, MPI_STATUSES_IGNORE));
        break;
    default:
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, p->r));
        MTEST_OK(MPIX_Queue_wait(queue));
        break;
    }
}

/* Each rank chooses by itself. */
static void test_pair(int peer, int rounds)
{
    unsigned long long state = 5 + (unsigned long long)mtest_rank;
    struct pair p;
    size_t wrong = 0;

    pair_make(&p, peer);
    for (int i = 0; i < rounds; i++) {
        for (size_t k = 0; k < BYTES; k++) {
            p.out[k] = mtest_pattern(1000 * mtest_rank + i, k);
            p.in[k] = (unsigned char)~mtest_pattern(1000 * peer + i, k);
        }
        exchange(&p, (enum way)(i < WAYS ? i : (int)(mtest_random(&state) % WAYS)));
        for (size_t k = 0; k < BYTES; k++) {
            wrong += p.in[k] != mtest_pattern(1000 * peer + i, k);
        }
    }
    MTEST_EQ(wrong, 0);
    MTEST_OK(MPIX_Queue_wait(side.queue));
    pair_free(&p);
}

static void test_other_gpu(int peer)
{
    int device = mtest_gpu_device(), devices = mtest_gpu_devices();
    struct gpu_lanes_side other;
    struct pair p;

    pair_make(&p, peer);
    mtest_gpu_set_device((device + 1) % devices);
    gpu_lanes_side_make(&other);
    gpu_graph_begin(other.stream, GPU_GRAPH_GLOBAL);
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(other.queue, 2, p.r), MPIXQ_ERR_UNSUPPORTED, "one GPU");
    MTEST_CHECK(gpu_graph_is_valid(other.stream));
    gpu_graph_end_dropped(other.stream);
    gpu_lanes_side_free(&other);
    mtest_gpu_set_device(device);
    memset(p.out, mtest_rank + 1, BYTES);
    exchange(&p, REPLAY);
    MTEST_EQ(p.in[0], peer + 1);
    MTEST_EQ(p.in[BYTES - 1], peer + 1);
    MTEST_OK(MPIX_Queue_wait(side.queue));
    pair_free(&p);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    gpu_lanes_side_make(&side);
    MTEST_OK(MPIX_Queue_init(&host_queue, MPIX_QUEUE_AUTO, NULL));
    test_pair(1 - mtest_rank, rounds);
    test_pair(mtest_rank, rounds);
    if (mtest_gpu_devices() > 1) {
        test_other_gpu(1 - mtest_rank);
        test_other_gpu(mtest_rank);
    }
    MTEST_OK(MPIX_Queue_free(&host_queue));
    gpu_lanes_side_free(&side);
    return mtest_end();
}
