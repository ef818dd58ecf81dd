/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Two queues on two streams, and events between them and a third stream that computes: numbers go
 * round the ring of ranks both ways at once. What comes from the left is used while what comes from
 * the right may still be on its way. Here "to compute" is a copy, so any C compiler will do: build
 * it as ring_gpu.c is built, and launch it so that each rank sees a GPU of its own.
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

enum { N = 1 << 16, BYTES = N * (int)sizeof(int) };

static void check(GPU(Error_t) error)
{
    if (error != GPU(Success)) {
        fprintf(stderr, "%s\n", GPU(GetErrorString)(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* One way round: a stream with a queue, and the events that tie it to the stream that computes. */
struct way {
    GPU(Stream_t) stream;
    GPU(Event_t) arrived, used;
    MPIX_Queue queue;
    MPI_Request req[2];
    int *out, *in;
};

static void open_way(struct way *way, int tag, int from, int to, const int *numbers)
{
    check(GPU(StreamCreateWithFlags)(&way->stream, GPU(StreamNonBlocking)));
    check(GPU(EventCreateWithFlags)(&way->arrived, GPU(EventDisableTiming)));
    check(GPU(EventCreateWithFlags)(&way->used, GPU(EventDisableTiming)));
    check(GPU(Malloc)((void **)&way->out, BYTES));
    check(GPU(Malloc)((void **)&way->in, BYTES));
    check(GPU(Memcpy)(way->out, numbers, BYTES, GPU(MemcpyHostToDevice)));
    MPI_Send_init(way->out, N, MPI_INT, to, tag, MPI_COMM_WORLD, &way->req[0]);
    MPI_Recv_init(way->in, N, MPI_INT, from, tag, MPI_COMM_WORLD, &way->req[1]);
    MPIX_Queue_init(&way->queue, MPIX_QUEUE_AUTO, &way->stream);
}

static void enqueue_exchange(struct way *way)
{
    MPIX_Enqueue_startall(way->queue, 2, way->req);
    MPIX_Enqueue_waitall(way->queue, 2, way->req);
    check(GPU(EventRecord)(way->arrived, way->stream)); /* passed when the data is there */
}

/* The stream that computes waits for this way only; the next exchange waits for what it does. */
static void enqueue_use(struct way *way, GPU(Stream_t) compute)
{
    check(GPU(StreamWaitEvent)(compute, way->arrived, 0));
    check(GPU(MemcpyAsync)(way->out, way->in, BYTES, GPU(MemcpyDeviceToDevice), compute));
    check(GPU(EventRecord)(way->used, compute));
    check(GPU(StreamWaitEvent)(way->stream, way->used, 0));
}

static int close_way(struct way *way, int *numbers, int rank)
{
    int wrong = 0;

    check(GPU(StreamSynchronize)(way->stream));
    check(GPU(Memcpy)(numbers, way->out, BYTES, GPU(MemcpyDeviceToHost)));
    for (int i = 0; i < N; i++) {
        wrong += numbers[i] != i + rank;
    }
    MPIX_Queue_free(&way->queue);
    MPI_Request_free(&way->req[0]);
    MPI_Request_free(&way->req[1]);
    check(GPU(EventDestroy)(way->arrived));
    check(GPU(EventDestroy)(way->used));
    check(GPU(StreamDestroy)(way->stream));
    check(GPU(Free)(way->out));
    check(GPU(Free)(way->in));
    return wrong;
}

int main(int argc, char **argv)
{
    static int numbers[N];
    int rank, size, wrong;
    GPU(Stream_t) compute;
    struct way way[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++) {
        numbers[i] = i + rank;
    }
    check(GPU(StreamCreateWithFlags)(&compute, GPU(StreamNonBlocking)));
    open_way(&way[0], 0, (rank + size - 1) % size, (rank + 1) % size, numbers);
    open_way(&way[1], 1, (rank + 1) % size, (rank + size - 1) % size, numbers);
    MPIX_Matchall(2, way[0].req);
    MPIX_Matchall(2, way[1].req);
    for (int step = 0; step < size; step++) { /* until all is home again */
        enqueue_exchange(&way[0]);
        enqueue_exchange(&way[1]);
        enqueue_use(&way[0], compute);
        enqueue_use(&way[1], compute);
    }
    wrong = close_way(&way[0], numbers, rank) + close_way(&way[1], numbers, rank);
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, 2 * N);
    check(GPU(StreamDestroy)(compute));
    MPI_Finalize();
    return wrong != 0;
}
