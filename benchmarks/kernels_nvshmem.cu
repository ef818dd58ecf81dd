/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_nvshmem.cu - puts with a signal, and waits for them, by NVSHMEM within a kernel
 *
 * Compiled by nvshmem.sh, with the headers and the device library of the NVSHMEM that is used when
 * it runs. A row of blocks has a message, a block a part of it, with a signal of its own.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include "kernels.h"

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
