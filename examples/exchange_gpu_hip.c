/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange_gpu.cu for HIP: ranks 0 and 1 exchange the arrays in memory of their GPUs ten times, and
 * a kernel adds what came to what was there. The kernel is compiled when the program runs, so any C
 * compiler will do (with hipcc it may stand in the program as it does in exchange_gpu.cu):
 *
 *     mpicc -D__HIP_PLATFORM_AMD__ exchange_gpu_hip.c $(pkg-config --cflags --libs mpix_queue) \
 *         -I$ROCM/include -L$ROCM/lib -lamdhip64 -lhiprtc
 */
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <mpix_queue.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, BYTES = N * (int)sizeof(int) };

static const char source[] =
    "extern \"C\" __global__ void add_numbers(int *mine, const int *theirs)"
    "{"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;"
    "    mine[i] += theirs[i];"
    "}";

static void check(hipError_t error)
{
    if (error != hipSuccess) {
        fprintf(stderr, "%s\n", hipGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static hipFunction_t compile(void)
{
    hiprtcProgram program;
    hipFunction_t kernel;
    hipModule_t module;
    size_t bytes = 0;
    char *code;

    if (hiprtcCreateProgram(&program, source, "add.hip", 0, NULL, NULL) != HIPRTC_SUCCESS ||
        hiprtcCompileProgram(program, 0, NULL) != HIPRTC_SUCCESS ||
        hiprtcGetCodeSize(program, &bytes) != HIPRTC_SUCCESS || (code = malloc(bytes)) == NULL ||
        hiprtcGetCode(program, code) != HIPRTC_SUCCESS) {
        fprintf(stderr, "the kernel cannot be compiled\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    hiprtcDestroyProgram(&program);
    check(hipModuleLoadData(&module, code));
    free(code);
    check(hipModuleGetFunction(&kernel, module, "add_numbers"));
    return kernel;
}

static void exchange(MPI_Request req[2], int *mine, int *theirs, hipStream_t stream)
{
    void *arguments[] = {&mine, &theirs};
    hipFunction_t add = compile(); /* before the stream waits for anything */
    MPIX_Queue queue;

    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    for (int i = 0; i < 10; i++) {
        MPIX_Enqueue_startwaitall(queue, 2, req); /* the stream waits, the host goes on */
        check(hipModuleLaunchKernel(add, N / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
    }
    check(hipStreamSynchronize(stream));
    MPIX_Queue_free(&queue);
}

int main(int argc, char **argv)
{
    int rank, peer, n, wrong = 0, *host, *mine, *theirs;
    hipStream_t stream;
    MPI_Request req[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank < 2 ? 1 - rank : MPI_PROC_NULL;
    check(hipGetDeviceCount(&n));
    check(hipSetDevice(rank % n)); /* on one node; ring_gpu.c does it on several */
    check(hipHostMalloc((void **)&host, BYTES, 0));
    for (int i = 0; i < N; i++) {
        host[i] = i + rank;
    }
    check(hipMalloc((void **)&mine, BYTES));
    check(hipMalloc((void **)&theirs, BYTES));
    check(hipMemcpy(mine, host, BYTES, hipMemcpyHostToDevice));
    check(hipMemset(theirs, 0, BYTES));
    check(hipStreamCreate(&stream));
    check(hipDeviceSynchronize());
    MPI_Send_init(mine, N, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Recv_init(theirs, N, MPI_INT, peer, 0, MPI_COMM_WORLD, &req[1]);
    MPIX_Matchall(2, req);
    exchange(req, mine, theirs, stream);
    check(hipMemcpy(host, mine, BYTES, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        wrong += host[i] != (rank < 2 ? (2 * i + 1) * 512 : i + rank);
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);

    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    check(hipStreamDestroy(stream));
    check(hipFree(mine));
    check(hipFree(theirs));
    check(hipHostFree(host));
    MPI_Finalize();
    return wrong != 0;
}
