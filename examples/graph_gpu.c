/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Steps of communication that are captured into a graph: numbers go round the ring of ranks, STEPS
 * ranks further with each launch. Nothing of this library is called while the graph runs. Here "to
 * compute" is a copy, so any C compiler will do: build it as ring_gpu.c is built, and launch it on
 * one node, so that each rank has a GPU of its own.
 */
#include <mpix_queue.h>
#include <stdio.h>

#ifdef USE_HIP
#include <hip/hip_runtime_api.h>
#define GPU(name) hip##name
#else
#include <cuda_runtime_api.h>
#define GPU(name) cuda##name
#endif

enum { N = 1 << 12, BYTES = N * (int)sizeof(int), STEPS = 4, LAUNCHES = 250 };

static void check(GPU(Error_t) error)
{
    if (error != GPU(Success)) {
        fprintf(stderr, "%s\n", GPU(GetErrorString)(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static GPU(GraphExec_t)
    capture(GPU(Stream_t) stream, MPIX_Queue queue, MPI_Request req[2], int *out, const int *in)
{
    GPU(Graph_t) graph;
    GPU(GraphExec_t) steps;

    check(GPU(StreamBeginCapture)(stream, GPU(StreamCaptureModeGlobal)));
    for (int i = 0; i < STEPS; i++) {
        MPIX_Enqueue_startall(queue, 2, req);
        MPIX_Enqueue_waitall(queue, 2, req);
        check(GPU(MemcpyAsync)(out, in, BYTES, GPU(MemcpyDeviceToDevice), stream));
    }
    check(GPU(StreamEndCapture)(stream, &graph));
    check(GPU(GraphInstantiateWithFlags)(&steps, graph, 0));
    check(GPU(GraphDestroy)(graph)); /* steps lives on */
    return steps;
}

int main(int argc, char **argv)
{
    static int numbers[N];
    int rank, size, from, wrong = 0;
    int *out, *in;
    GPU(Stream_t) stream;
    GPU(GraphExec_t) steps;
    MPIX_Queue queue;
    MPI_Request req[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++) {
        numbers[i] = i + rank;
    }
    check(GPU(StreamCreateWithFlags)(&stream, GPU(StreamNonBlocking)));
    check(GPU(Malloc)((void **)&out, BYTES));
    check(GPU(Malloc)((void **)&in, BYTES));
    check(GPU(Memcpy)(out, numbers, BYTES, GPU(MemcpyHostToDevice)));
    MPI_Send_init(out, N, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(in, N, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);

    steps = capture(stream, queue, req, out, in);
    for (int i = 0; i < LAUNCHES; i++) {
        check(GPU(GraphLaunch)(steps, stream));
    }
    check(GPU(StreamSynchronize)(stream));
    MPIX_Queue_wait(queue); /* would tell what the replays have met */

    check(GPU(Memcpy)(numbers, out, BYTES, GPU(MemcpyDeviceToHost)));
    from = (rank + size - STEPS * LAUNCHES % size) % size;
    for (int i = 0; i < N; i++) {
        wrong += numbers[i] != i + from;
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);
    check(GPU(GraphExecDestroy)(steps));
    MPIX_Queue_free(&queue);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    check(GPU(StreamDestroy)(stream));
    check(GPU(Free)(out));
    check(GPU(Free)(in));
    MPI_Finalize();
    return wrong != 0;
}
