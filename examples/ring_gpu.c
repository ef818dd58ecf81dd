/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A million numbers in the memory of each GPU travel round the ring of all ranks until they are
 * back home. The host enqueues all steps and waits once. No kernel of its own, so any C compiler
 * will do:
 *
 *     mpicc ring_gpu.c $(pkg-config --cflags --libs mpix_queue) \
 *         -I$CUDA/include -L$CUDA/lib64 -lcudart
 *     mpicc -DUSE_HIP -D__HIP_PLATFORM_AMD__ ring_gpu.c $(pkg-config --cflags --libs mpix_queue) \
 *         -I$ROCM/include -L$ROCM/lib -lamdhip64
 */
#include <mpix_queue.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef USE_HIP
#include <hip/hip_runtime_api.h>
#define GPU(name) hip##name
#define STREAM_KIND "hipStream_t"
#else
#include <cuda_runtime_api.h>
#define GPU(name) cuda##name
#define STREAM_KIND "cudaStream_t"
#endif

enum { N = 1 << 20, BYTES = N * (int)sizeof(int) };

typedef GPU(Stream_t) gpu_stream;

static void check(GPU(Error_t) error)
{
    if (error != GPU(Success)) {
        fprintf(stderr, "%s\n", GPU(GetErrorString)(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Each rank of a node takes another GPU, as far as there are enough. */
static void choose_gpu(void)
{
    MPI_Comm node;
    int rank, n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    check(GPU(GetDeviceCount)(&n));
    check(GPU(SetDevice)(rank % n));
}

static MPIX_Queue make_queue(gpu_stream *stream)
{
    MPIX_Queue queue;
    MPI_Info info;

    check(GPU(StreamCreate)(stream));
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", STREAM_KIND);
    MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, stream, info);
    MPI_Info_free(&info);
    return queue;
}

static int count_wrong(const int *numbers, int rank)
{
    int wrong = 0;

    for (int i = 0; i < N; i++) {
        wrong += numbers[i] != i + rank;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, size, *host, *out, *in;
    MPI_Request req[2];
    gpu_stream stream;
    MPIX_Queue queue;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    choose_gpu();
    host = malloc(BYTES); /* not pinned: it is copied while nothing else goes on */
    if (host == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check(GPU(Malloc)((void **)&out, BYTES));
    check(GPU(Malloc)((void **)&in, BYTES));
    for (int i = 0; i < N; i++) {
        host[i] = i + rank;
    }
    check(GPU(Memcpy)(out, host, BYTES, GPU(MemcpyHostToDevice)));
    queue = make_queue(&stream);
    MPI_Send_init(out, N, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(in, N, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);

    for (int step = 0; step < size; step++) {
        MPIX_Enqueue_startall(queue, 2, req);
        MPIX_Enqueue_waitall(queue, 2, req);
        check(GPU(MemcpyAsync)(out, in, BYTES, GPU(MemcpyDeviceToDevice), stream)); /* goes next */
    }
    check(GPU(StreamSynchronize)(stream));
    check(GPU(Memcpy)(host, out, BYTES, GPU(MemcpyDeviceToHost)));
    printf("rank %d: %d of %d numbers are wrong\n", rank, count_wrong(host, rank), N);

    MPIX_Queue_free(&queue);
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    check(GPU(StreamDestroy)(stream));
    check(GPU(Free)(out));
    check(GPU(Free)(in));
    free(host);
    MPI_Finalize();
    return 0;
}
