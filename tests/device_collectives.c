/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collectives that kernels of the program start and wait for, in turns with graphs, the queue and
 * the host: sums in memory of the host that the GPU accesses, barriers, and broadcasts in memory of
 * the GPU, which are copied by the kernels. Each round has other data, and all of it is compared.
 * Two ranks, with MTEST_STREAM, on the fallback.
 */
#include <mpix_queue_device.h>
#include <mpix_queue_partitions.h>

#include "mtest.h"

#include "collective_names.h"
#include "device/device_code.h"
#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { N = 777, ROUNDS = 24, THREADS = 64 };

static struct gpu_lanes_side side;

static unsigned run(enum device_do todo, const MPIX_Device_request *r)
{
    struct device_step step = {.todo = (unsigned)todo,
                               .count = 1,
                               .scope = MPIX_DEVICE_BLOCK,
                               .limit_ns = MPIX_DEVICE_FOREVER};

    return device_code_run(side.stream, THREADS, &step, r);
}

/* A start and its wait, by whose turn it is. The stream is idle afterwards. */
static void make_one(int turn, MPI_Request *r, const MPIX_Device_request *handle, void *graph)
{
    switch (turn % 4) {
    case 0:
        MTEST_EQ(run(DEVICE_START, handle), MPIX_DEVICE_SUCCESS);
        MTEST_EQ(run(DEVICE_WAIT, handle), MPIX_DEVICE_SUCCESS);
        break;
    case 1:
        gpu_graph_launch(graph, side.stream);
        break;
    case 2:
        MTEST_OK(MPIX_Enqueue_start(side.queue, r));
        MTEST_OK(MPIX_Enqueue_wait(side.queue, r));
        break;
    default: /* two, one after the other */
        MTEST_EQ(run(DEVICE_START, handle), MPIX_DEVICE_SUCCESS);
        MTEST_EQ(run(DEVICE_WAIT, handle), MPIX_DEVICE_SUCCESS);
        gpu_graph_launch(graph, side.stream);
        break;
    }
    gpu_lanes_side_finish(&side);
}

static void *capture(MPI_Request *r)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_start(side.queue, r));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, r));
    return gpu_graph_end_executable(side.stream);
}

static void make(MPI_Request *r, MPIX_Device_request *handle, void **graph_p)
{
    MTEST_OK(MPIX_Match(r));
    MTEST_OK(MPIX_Device_request_create(1, r, side.queue, handle));
    *graph_p = capture(r);
}

static void end(MPI_Request *r, MPIX_Device_request *handle, void *graph)
{
    MTEST_OK(MPIX_Device_request_free(1, handle));
    MTEST_OK(MPI_Request_free(r));
    gpu_graph_free_executable(graph);
}

/* In place, so that each start has what the one before has made of the data: the sums say how many
 * there were. By the host too. */
static void sums(void)
{
    unsigned *data = mtest_gpu_alloc(MTEST_PINNED, N * sizeof(*data)), factor = 1;
    MPIX_Device_request handle;
    MPI_Request r;
    void *graph;

    MTEST_OK(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data, N, MPI_UNSIGNED, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    make(&r, &handle, &graph);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; round % 8 == 0 && i < N; i++) {
            data[i] = (unsigned)(i + mtest_rank);
            factor = 1;
        }
        make_one(round, &r, &handle, graph);
        factor *= round % 4 == 3 ? 4 : 2;
        if (round % 5 == 0) {
            MTEST_OK(MPI_Start(&r));
            MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
            factor *= 2;
        }
        for (int i = 0; i < N; i++) { /* of i and i + 1, and then of equal ones */
            MTEST_EQ(data[i], (2 * (unsigned)i + 1) * (factor / 2));
        }
    }
    end(&r, &handle, graph);
    mtest_gpu_free(MTEST_PINNED, data);
}

static void barriers(void)
{
    MPIX_Device_request handle;
    MPI_Request r;
    void *graph;

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    make(&r, &handle, &graph);
    for (int round = 0; round < ROUNDS; round++) {
        make_one(round, &r, &handle, graph);
    }
    end(&r, &handle, graph);
}

/* The root's kernel copies before the start, the others' after the wait. */
static void broadcasts(int root)
{
    int *data = mtest_gpu_alloc(MTEST_DEVICE, N * sizeof(*data)), copy[N];
    MPIX_Device_request handle;
    MPI_Request r;
    void *graph;

    MTEST_OK(COLLECTIVE(Bcast_init)(data, N, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    make(&r, &handle, &graph);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            copy[i] = mtest_rank == root ? 1000 * round + i : -1;
        }
        mtest_gpu_copy_now(data, copy, sizeof(copy));
        make_one(round, &r, &handle, graph);
        mtest_gpu_copy_now(copy, data, sizeof(copy));
        for (int i = 0; i < N; i++) {
            MTEST_EQ(copy[i], 1000 * round + i);
        }
    }
    end(&r, &handle, graph);
    mtest_gpu_free(MTEST_DEVICE, data);
}

/* A kernel copies in one direction; partitioned requests belong to queues and the host. */
static void refused(void)
{
    int *data = mtest_gpu_alloc(MTEST_DEVICE, sizeof(*data)), other = 1 - mtest_rank;
    char byte = 0;
    MPIX_Device_request handle;
    MPI_Request r, p;

    MTEST_OK(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    MTEST_KIND_TEXT(MPIX_Device_request_create(1, &r, side.queue, &handle), MPIXQ_ERR_UNSUPPORTED,
                    "writes such as well");
    MTEST_OK(MPIX_Enqueue_start(side.queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, &r));
    gpu_lanes_side_finish(&side);
    MTEST_OK(MPI_Request_free(&r));
    mtest_gpu_free(MTEST_DEVICE, data);

    MTEST_OK(
        mtest_rank == 0
            ? MPIX_Psend_init(&byte, 1, 1, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &p)
            : MPIX_Precv_init(&byte, 1, 1, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &p));
    MTEST_OK(MPIX_Match(&p));
    MTEST_KIND_TEXT(MPIX_Device_request_create(1, &p, side.queue, &handle), MPIXQ_ERR_UNSUPPORTED,
                    "partitioned");
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_KIND_TEXT(MPIX_Enqueue_start(side.queue, &p), MPIXQ_ERR_UNSUPPORTED, "partitioned");
    gpu_graph_end_dropped(side.stream);
    MTEST_OK(MPI_Request_free(&p));
}

int main(int argc, char **argv)
{
    unsigned *results;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!HAVE_COLLECTIVES) {
        mtest_skip("this MPI has no persistent collectives");
        return mtest_end();
    }
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    if (!device_code_open()) {
        mtest_skip("there was no compiler for kernels");
        return mtest_end();
    }
    results = device_code_results(NULL);
    gpu_lanes_side_make(&side);
    sums();
    barriers();
    broadcasts(0);
    broadcasts(1);
    refused();
    gpu_lanes_side_free(&side);
    mtest_gpu_free(MTEST_PINNED, results);
    return mtest_end();
}
