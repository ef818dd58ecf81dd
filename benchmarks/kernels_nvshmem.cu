/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_nvshmem.cu - puts with a signal, and waits for them, by NVSHMEM within a kernel
 *
 * Compiled by nvshmem.sh, with the headers and the device library of the NVSHMEM that is used when
 * it runs. A row of blocks has a message, a block a part of it, with a signal of its own. Those of
 * Jacobi's method put from registers, as far as a block has computed.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include "kernels.h"
#include "kernels_jacobi.h"

/* What the kernels of Jacobi's method need, as cuda.inc has it. */
#define MPIXQ_INLINE static __device__ inline
#define THREAD ((word_t)threadIdx.x)
#define THREADS BENCH_JACOBI_THREADS
#define BLOCK_X ((word_t)blockIdx.x)
#define BLOCKS_X gridDim.x
#define BLOCK_MEMORY static __shared__
#define UNROLL _Pragma("unroll")

typedef unsigned long long word_t;

MPIXQ_INLINE void join(void)
{
    __syncthreads();
}

MPIXQ_INLINE word_t count_one(word_t *word)
{
    word_t before;

    asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], 1;" : "=l"(before) : "l"(word) : "memory");
    return before;
}

#include "kernels_sum.inc"

#include "kernels_cells.inc"

/* The benchmarks launch kernels early on GPUs that can do that, as those of kernels.inc. */
static __device__ void await_earlier(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ void let_later_come(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Copy, two words at a time, and add to each. Parts begin at multiples of 16 bytes. */
static __device__ void copy_words(void *to, const void *from, size_t bytes, unsigned long long add)
{
    const ulonglong2 *source = (const ulonglong2 *)from;
    ulonglong2 *target = (ulonglong2 *)to;

    for (size_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
        ulonglong2 pair = source[i];

        pair.x += add;
        pair.y += add;
        target[i] = pair;
    }
    if (threadIdx.x == 0 && bytes % 16 != 0) {
        size_t last = bytes / 8 - 1;

        ((unsigned long long *)to)[last] = ((const unsigned long long *)from)[last] + add;
    }
}

/* The bytes of a part; 0: the message has not so many. */
static __device__ size_t part_bytes(const struct bench_put *message, unsigned part)
{
    size_t first = part * message->each;
    size_t left = first < message->bytes ? message->bytes - first : 0;

    return left < message->each ? left : message->each;
}

static __device__ void put(const struct bench_put *message, unsigned part, unsigned long long value)
{
    size_t first = part * message->each, bytes = part_bytes(message, part);

    if (bytes == 0) {
        return;
    }
    if (message->data != NULL) {
        copy_words(message->here + first, message->data + first, bytes, 1);
        __syncthreads();
    }
    nvshmemx_putmem_signal_block(message->there + first, message->here + first, bytes,
                                 (uint64_t *)message->signals + part, value, NVSHMEM_SIGNAL_SET,
                                 (int)message->peer);
}

static __device__ void wait_for(const struct bench_put *message, unsigned part,
                                unsigned long long value)
{
    (void)nvshmem_signal_wait_until((uint64_t *)message->signals + part, NVSHMEM_CMP_GE, value);
}

static __device__ void take(const struct bench_put *message, unsigned part,
                            unsigned long long value)
{
    size_t first = part * message->each, bytes = part_bytes(message, part);

    if (bytes == 0) {
        return;
    }
    if (threadIdx.x == 0) {
        wait_for(message, part, value);
    }
    __syncthreads();
    if (message->data != NULL) {
        copy_words(message->data + first, message->here + first, bytes, 0);
    }
}

/* Pack, put, wait and unpack: no block waits for what another one of this kernel has yet to do. */
extern "C" __global__ void bench_nvshmem_fused(struct bench_puts all)
{
    await_earlier();
    let_later_come();
    for (int turn = 0; turn < 2; turn++) {
        if (turn == (all.follows != 0)) {
            put(&all.sends[blockIdx.y], blockIdx.x, all.sent);
        } else {
            take(&all.recvs[blockIdx.y], blockIdx.x, all.received);
        }
    }
}

/* Put, and wait in the first block, for any numbers of messages. */
extern "C" __global__ void bench_nvshmem_put(struct bench_puts all)
{
    await_earlier();
    let_later_come();
    if (blockIdx.y < all.num_sends) {
        put(&all.sends[blockIdx.y], blockIdx.x, all.sent);
    }
    if (blockIdx.x > 0 || blockIdx.y > 0) {
        return;
    }
    for (size_t i = threadIdx.x; i < all.num_recvs * all.parts; i += blockDim.x) {
        const struct bench_put *message = &all.recvs[i / all.parts];
        unsigned part = (unsigned)(i % all.parts);

        if (part_bytes(message, part) > 0) {
            wait_for(message, part, all.received);
        }
    }
}

/* A ping-pong of so many round trips by one block, which puts whole messages. */
extern "C" __global__ void bench_nvshmem_loop(struct bench_puts all)
{
    const struct bench_put *send = all.sends, *recv = all.recvs;

    await_earlier();
    let_later_come();
    for (unsigned long long hop = 0; hop < 2 * all.rounds; hop++) {
        if (hop % 2 == (all.follows != 0)) {
            nvshmemx_putmem_signal_block(send->there, send->here, send->bytes,
                                         (uint64_t *)send->signals, ++all.sent, NVSHMEM_SIGNAL_SET,
                                         (int)send->peer);
            continue;
        }
        all.received++;
        if (threadIdx.x == 0) {
            wait_for(recv, 0, all.received);
        }
        __syncthreads();
    }
}

/* Its part of the first row or of the last one, beside what has come from the rank next to it, to
 * which it puts what it computes: each thread a cell, and behind all of them a signal. */
static __device__ double exchange_edges(const struct bench_jacobi_puts *all, word_t block)
{
    word_t each = BENCH_JACOBI_EDGE_BLOCKS(all->cells.columns), is_last = block >= each;
    word_t part = block - is_last * each, column = part * BENCH_JACOBI_THREADS + threadIdx.x;
    const double *beyond = is_last ? all->cells.below : all->cells.above;
    int peer = (int)all->peers[is_last];
    struct edge_cell cell = {};
    double sum = 0;

    if (column < all->cells.columns) {
        cell = load_edge(&all->cells, is_last, column);
    }
    if (threadIdx.x == 0) {
        (void)nvshmem_signal_wait_until((uint64_t *)all->came + block, NVSHMEM_CMP_GE, all->value);
    }
    __syncthreads();
    if (column < all->cells.columns) {
        double value = compute_edge(&all->cells, cell, beyond[column], &sum);

        nvshmem_double_p(all->there[is_last] + column, value, peer);
        nvshmem_fence();
    }
    __syncthreads();
    if (threadIdx.x == 0) { /* what is first here is below the last row there */
        nvshmemx_signal_op((uint64_t *)all->came + (is_last ? 0 : each) + part, all->value + 1,
                           NVSHMEM_SIGNAL_SET, peer);
    }
    return sum;
}

/* A thread for each of the other ranks. */
static __device__ void put_sum(const struct bench_jacobi_puts *all, double sum)
{
    word_t next = all->summed + 1, edges = 2 * BENCH_JACOBI_EDGE_BLOCKS(all->cells.columns);
    double *place = all->sums + next % BENCH_JACOBI_SUMS * all->ranks + all->rank;

    if (threadIdx.x == 0) {
        *place = sum;
    }
    for (word_t rank = threadIdx.x; rank < all->ranks; rank += blockDim.x) {
        if (rank != all->rank) {
            nvshmem_double_p(place, sum, (int)rank);
            nvshmem_fence();
            nvshmemx_signal_op((uint64_t *)all->came + edges + all->rank, next, NVSHMEM_SIGNAL_SET,
                               (int)rank);
        }
    }
}

/* Those of the step before, added up in the order of the ranks. */
static __device__ void get_sums(const struct bench_jacobi_puts *all)
{
    word_t edges = 2 * BENCH_JACOBI_EDGE_BLOCKS(all->cells.columns);
    const volatile double *sums = all->sums + all->summed % BENCH_JACOBI_SUMS * all->ranks;

    for (word_t rank = threadIdx.x; rank < all->ranks; rank += blockDim.x) {
        if (rank != all->rank) {
            (void)nvshmem_signal_wait_until((uint64_t *)all->came + edges + rank, NVSHMEM_CMP_GE,
                                            all->summed);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;

        for (word_t rank = 0; rank < all->ranks; rank++) {
            total += sums[rank];
        }
        *all->total = total;
    }
}

/* A whole step, of the same blocks as bench_jacobi_fused: no block waits for what another one of
 * this launch, or of that at another rank, has yet to do. */
extern "C" __global__ void bench_nvshmem_jacobi(struct bench_jacobi_puts all)
{
    __shared__ double memory[THREADS];
    word_t edges = 2 * BENCH_JACOBI_EDGE_BLOCKS(all.cells.columns), block = blockIdx.x;
    double sum;

    await_earlier();
    let_later_come();
    sum = block < edges ? exchange_edges(&all, block) : compute_block(&all.cells, block - edges);
    if (all.cells.adds) {
        keep_partial(&all.cells, memory, block, sum);
        if (add_up(&all.cells, memory, &sum)) {
            put_sum(&all, sum);
        }
    }
    if (all.gets && block == 0) {
        get_sums(&all);
    }
}
