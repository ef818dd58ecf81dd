/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A halo exchange in one kernel: a ring of ranks shares the rows of a grid, each number becomes the
 * sum of those above and below, and one launch makes all steps. The threads put the rows at the
 * edges straight to the neighbours. For CUDA and HIP (doc/gpu.md); one node, a GPU for each rank.
 */
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#else
#define GPU(name) cuda##name
#endif
#include <mpix_queue_device.h>
#include <numeric>
#include <stdio.h>
#include <vector>

enum { COLUMNS = 256, ROWS = 16, N = ROWS * COLUMNS, BYTES = N * (int)sizeof(unsigned) };
enum { STEPS = 1000, TO_UP = 0, TO_DOWN, FROM_UP, FROM_DOWN, REQUESTS };

struct handles { MPIX_Device_request of[REQUESTS]; };

static void check(GPU(Error_t) error)
{
    if (error != GPU(Success)) {
        fprintf(stderr, "%s\n", GPU(GetErrorString)(error));
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
            unsigned old = column[row * COLUMNS];
            column[row * COLUMNS] = above + (row < ROWS - 1 ? column[(row + 1) * COLUMNS] : last);
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
            std::swap(above, column[row]);
            column[row] += row < rows - 1 ? column[row + 1] : first;
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
    GPU(Stream_t) stream;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<unsigned> numbers(N), whole(size * ROWS);
    std::iota(whole.begin(), whole.end(), 0);
    for (int i = 0; i < N; i++) {
        numbers[i] = whole[rank * ROWS + i / COLUMNS];
    }
    check(GPU(StreamCreate)(&stream));
    check(GPU(Malloc)((void **)&grid, BYTES + REQUESTS * COLUMNS * sizeof(unsigned)));
    check(GPU(Memcpy)(grid, numbers.data(), BYTES, GPU(MemcpyHostToDevice)));
    for (int i = 0; i < 2; i++) { /* what goes up has tag 0, and what goes down 1 */
        int peer = (rank + (i == TO_UP ? size - 1 : 1)) % size;
        unsigned *edge = grid + N + i * COLUMNS;
        MPI_Send_init(edge, COLUMNS, MPI_UNSIGNED, peer, i, MPI_COMM_WORLD, &req[TO_UP + i]);
        MPI_Recv_init(edge + 2 * COLUMNS, COLUMNS, MPI_UNSIGNED, peer, 1 - i, MPI_COMM_WORLD,
                      &req[FROM_UP + i]);
    }
    MPIX_Matchall(REQUESTS, req);
    MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream);
    MPIX_Device_request_create(REQUESTS, req, queue, all.of);
    make_steps<<<1, COLUMNS, 0, stream>>>(all, grid);
    check(GPU(StreamSynchronize)(stream));
    MPIX_Queue_wait(queue);
    check(GPU(Memcpy)(numbers.data(), grid, BYTES, GPU(MemcpyDeviceToHost)));
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
