/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A loop that GPUs end: ranks 0 and 1 have a half of a rod each, whose ends are kept hot and cold,
 * and in each step every point gets the mean of its neighbours, until none changes by much. The
 * steps are the body of a while node of a graph (CUDA 12.4), which the host launches once. With its
 * last point each rank tells the other one whether it goes on, so both end after the same step.
 *
 *     nvcc -ccbin mpicxx loop_gpu.cu $(pkg-config --cflags mpix_queue) \
 *         -L$(pkg-config --variable=libdir mpix_queue) -lmpix_queue
 */
#include <mpix_queue.h>
#include <stdio.h>

enum { N = 256 };

struct half { /* what is sent and received has the last point, and whether this half goes on */
    double point[N], sent[2], received[2];
};

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

__host__ __device__ static double distance(double a, double b)
{
    return a < b ? b - a : a - b;
}

/* A thread for each point. The hot end is the first point of rank 0. */
__global__ void step(struct half *half, int rank)
{
    int i = (int)threadIdx.x, edge = rank == 0 ? N - 1 : 0;
    double left = i > 0 ? half->point[i - 1] : rank == 0 ? 1 : half->received[0];
    double right = i < N - 1 ? half->point[i + 1] : rank == 0 ? half->received[0] : 0;
    double next = (left + right) / 2;
    int goes_on = __syncthreads_or(distance(next, half->point[i]) > 1e-4);

    half->point[i] = next;
    if (i == edge) {
        half->sent[0] = next;
        half->sent[1] = goes_on;
    }
}

__global__ void decide(const struct half *half, cudaGraphConditionalHandle again)
{
    cudaGraphSetConditional(again, half->sent[1] != 0 || half->received[1] != 0);
}

static cudaGraph_t make_loop(struct half *half, int rank, MPI_Request req[2], cudaStream_t stream,
                             MPIX_Queue queue)
{
    cudaGraphNodeParams loop = {cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    cudaGraph_t graph;

    check(cudaGraphCreate(&graph, 0));
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    check(cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1,
                                           cudaGraphCondAssignDefault));
#if CUDART_VERSION >= 13000
    check(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &loop));
#else
    check(cudaGraphAddNode(&node, graph, NULL, 0, &loop));
#endif
    check(cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], NULL, NULL, 0,
                                        cudaStreamCaptureModeGlobal));
    step<<<1, N, 0, stream>>>(half, rank);
    MPIX_Enqueue_startwaitall(queue, 2, req);
    decide<<<1, 1, 0, stream>>>(half, loop.conditional.handle);
    check(cudaStreamEndCapture(stream, NULL));
    return graph;
}

int main(int argc, char **argv)
{
    static struct half found;
    struct half *half;
    cudaGraphExec_t loop;
    cudaGraph_t graph;
    cudaStream_t stream;
    MPI_Request req[2];
    MPIX_Queue queue;
    int rank, n, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(cudaGetDeviceCount(&n));
    check(cudaSetDevice(rank % n)); /* both ranks are on one node */
    check(cudaMalloc((void **)&half, sizeof *half));
    check(cudaMemset(half, 0, sizeof *half));
    check(cudaStreamCreate(&stream));
    MPI_Send_init(half->sent, 2, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(half->received, 2, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    graph = make_loop(half, rank, req, stream, queue);
    check(cudaGraphInstantiate(&loop, graph, 0));
    check(cudaGraphLaunch(loop, stream));
    check(cudaMemcpyAsync(&found, half, sizeof found, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    wrong = found.point[0] <= found.point[N - 1];
    for (int i = 1; i < N - 1; i++) { /* each is the mean of its neighbours, as nearly */
        wrong += distance(found.point[i], (found.point[i - 1] + found.point[i + 1]) / 2) > 1e-4;
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);
    check(cudaGraphExecDestroy(loop));
    MPIX_Queue_free(&queue);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    MPI_Finalize();
    return wrong != 0;
}
