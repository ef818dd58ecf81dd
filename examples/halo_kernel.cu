/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A halo exchange inside of one kernel: the rows of a grid are spread over the ring of ranks, each
 * number becomes the sum of those above and below it, and one launch makes all steps. The threads
 * put the rows at the edges straight to the neighbours and get theirs, without a buffer in between.
 * Build it as exchange_gpu.cu is built, and launch it on one node, so that each rank has a GPU of
 * its own.
 */
#include <mpix_queue_device.h>
#include <numeric>
#include <stdio.h>
#include <vector>

enum { COLUMNS = 256, ROWS = 16, N = ROWS * COLUMNS, BYTES = N * (int)sizeof(unsigned) };
enum { STEPS = 1000, TO_UP = 0, TO_DOWN, FROM_UP, FROM_DOWN, REQUESTS };

struct handles { MPIX_Device_request of[REQUESTS]; };

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* One block, of which each thread has a column. */
__global__ void make_steps(struct handles all, unsigned *grid)
{
    MPIX_Device_access access[REQUESTS];
    unsigned me = threadIdx.x, *column = grid + me;

    for (int step = 0, error = 0; step < STEPS; step++) {
        for (int i = 0; i < REQUESTS; i++) {
            error |= MPIX_Device_begin(&access[i], &all.of[i], 1, MPIX_DEVICE_FOREVER,
                                       MPIX_DEVICE_BLOCK);
        }
        if (__syncthreads_or(error)) { /* MPIX_Queue_wait says why */
            return;
        }
        MPIX_Device_put(&access[TO_UP], me, column[0]);
        MPIX_Device_put(&access[TO_DOWN], me, column[(ROWS - 1) * COLUMNS]);
        unsigned above = MPIX_Device_get(&access[FROM_UP], me);
        unsigned last = MPIX_Device_get(&access[FROM_DOWN], me);
        for (int row = 0; row < ROWS; row++) {
            unsigned below = row < ROWS - 1 ? column[(row + 1) * COLUMNS] : last;
            unsigned old = column[row * COLUMNS];
            column[row * COLUMNS] = above + below;
            above = old;
        }
        for (int i = 0; i < REQUESTS; i++) {
            error |= MPIX_Device_end(&access[i], MPIX_DEVICE_BLOCK);
        }
    }
}

/* What the steps make of the whole grid, of which all columns are the same. */
static void compute(std::vector<unsigned> &column, int rows)
{
    for (int step = 0; step < STEPS; step++) {
        unsigned first = column[0], above = column[rows - 1];
        for (int row = 0; row < rows; row++) {
            unsigned old = column[row];
            column[row] = above + (row < rows - 1 ? column[row + 1] : first);
            above = old;
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    unsigned *grid; /* and behind it what would be the buffers of the messages */
    MPIX_Queue queue;
    MPI_Request req[REQUESTS];
    struct handles all;
    cudaStream_t stream;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<unsigned> numbers(N), whole(size * ROWS);
    std::iota(whole.begin(), whole.end(), 0);
    for (int i = 0; i < N; i++) {
        numbers[i] = whole[rank * ROWS + i / COLUMNS];
    }
    check(cudaStreamCreate(&stream));
    check(cudaMalloc((void **)&grid, BYTES + REQUESTS * COLUMNS * sizeof(unsigned)));
    check(cudaMemcpy(grid, numbers.data(), BYTES, cudaMemcpyHostToDevice));
    for (int i = 0; i < REQUESTS; i++) { /* what goes up has tag 0, and what goes down 1 */
        int peer = (rank + (i % 2 == 0 ? size - 1 : 1)) % size, tag = i < FROM_UP ? i : 3 - i;
        unsigned *edge = grid + N + i * COLUMNS;
        if (i < FROM_UP) {
            MPI_Send_init(edge, COLUMNS, MPI_UNSIGNED, peer, tag, MPI_COMM_WORLD, &req[i]);
        } else {
            MPI_Recv_init(edge, COLUMNS, MPI_UNSIGNED, peer, tag, MPI_COMM_WORLD, &req[i]);
        }
    }
    MPIX_Matchall(REQUESTS, req);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    MPIX_Device_request_create(REQUESTS, req, queue, all.of);
    make_steps<<<1, COLUMNS, 0, stream>>>(all, grid);
    check(cudaStreamSynchronize(stream));
    MPIX_Queue_wait(queue);
    check(cudaMemcpy(numbers.data(), grid, BYTES, cudaMemcpyDeviceToHost));
    compute(whole, size * ROWS);
    for (int i = 0; i < N; i++) {
        wrong += numbers[i] != whole[rank * ROWS + i / COLUMNS];
    }
    printf("rank %d: %d of %d numbers are wrong\n", rank, wrong, N);
    MPIX_Device_request_free(REQUESTS, all.of);
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request_free(&req[i]);
    }
    MPIX_Queue_free(&queue);
    MPI_Finalize();
    return wrong != 0;
}
