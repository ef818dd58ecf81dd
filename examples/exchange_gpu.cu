/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranks 0 and 1 exchange the arrays in memory of their GPUs ten times, and a kernel adds what came
 * to what was there. The host enqueues all of it and waits once.
 *
 *     nvcc -ccbin mpicxx exchange_gpu.cu $(pkg-config --cflags mpix_queue) \
 *         -L$(pkg-config --variable=libdir mpix_queue) -lmpix_queue
 */
#include <mpix_queue.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, BYTES = N * (int)sizeof(int) };

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

__global__ void add(int *mine, const int *theirs)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    mine[i] += theirs[i];
}

static void exchange(MPI_Request req[2], int *mine, int *theirs, cudaStream_t stream)
{
    MPIX_Queue queue;

    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int i = 0; i < 10; i++) {
        MPIX_Enqueue_startwaitall(queue, 2, req); /* the stream waits, the host goes on */
        add<<<N / 256, 256, 0, stream>>>(mine, theirs);
    }
    cudaStreamSynchronize(stream);
    MPIX_Queue_free(&queue);
}

/* Each rank of a node takes another GPU, as far as there are enough. */
static void choose_gpu(void)
{
    MPI_Comm node;
    int rank, n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    check(cudaGetDeviceCount(&n));
    check(cudaSetDevice(rank % n));
}

int main(int argc, char **argv)
{
    int rank, peer, wrong = 0, *host, *mine, *theirs;
    cudaStream_t stream;
    MPI_Request req[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank < 2 ? 1 - rank : MPI_PROC_NULL;
    choose_gpu();
    host = (int *)malloc(BYTES);
    for (int i = 0; host != NULL && i < N; i++) {
        host[i] = rank + 1;
    }
    check(cudaMalloc((void **)&mine, BYTES));
    check(cudaMalloc((void **)&theirs, BYTES));
    check(cudaMemcpy(mine, host, BYTES, cudaMemcpyHostToDevice));
    check(cudaMemset(theirs, 0, BYTES));
    check(cudaStreamCreate(&stream));
    check(cudaDeviceSynchronize());

    MPI_Send_init(mine, N, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(theirs, N, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);
    exchange(req, mine, theirs, stream);
    check(cudaMemcpy(host, mine, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        wrong += host[i] != (rank < 2 ? 1536 : rank + 1);
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);

    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    check(cudaStreamDestroy(stream));
    check(cudaFree(mine));
    check(cudaFree(theirs));
    free(host);
    MPI_Finalize();
    return wrong != 0;
}
