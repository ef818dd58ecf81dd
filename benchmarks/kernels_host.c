/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for the host, where the double of the HIP runtime calls them. */
#include "kernels_host.h"

#include <stdatomic.h>
#include <time.h>

#define MPIXQ_KERNEL void
#define MPIXQ_INLINE static inline

typedef uint64_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

static inline void store(unsigned long long *word, word_t value)
{
    atomic_store_explicit((_Atomic unsigned long long *)word, value, memory_order_release);
}

static inline word_t load(const unsigned long long *word)
{
    return atomic_load_explicit((const _Atomic unsigned long long *)word, memory_order_acquire);
}

/* One thread is all of the block. */
static inline void meet(void)
{
}

static inline void join(void)
{
}

static inline word_t count_one(unsigned long long *word)
{
    word_t before = *word;

    *word = before + 1;
    return before;
}

static inline void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static inline word_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (word_t)now.tv_sec * 1000000000 + (word_t)now.tv_nsec;
}

#define AWAIT_EARLIER
#define LET_LATER_COME
#define THREADS 1
#define BLOCK_MEMORY static _Thread_local /* of the one thread that a block is */
#define UNROLL
#define PATIENCE (1ull << 20)

#define EACH_X(i, n) for (word_t i = 0; i < (n); i++)
#define EACH_Y(i, n) for (word_t i = 0; i < (n); i++)

/* One thread is all of the grid, unless a test has blocks of its own. */
#ifndef BLOCK_X
#define BLOCK_X 0
#define BLOCKS_X 1u
#define THREAD 0
#define THREADS_X 1u
#define WARP_HAS(n) (n)
#define EACH_WARP(i, n) EACH_X(i, n)
#endif
#define BLOCK_Y 0
#define EACH_STRIDE(i, n) EACH_X(i, n)
#define LANES 1
#define LANE 0
#define FEW_REGISTERS

#include "kernels.inc"
