/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP: compiled to a code object by clang or hipcc, by itself and without any
 * header. An atomic that names no scope has that of the system. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void
#define MPIXQ_INLINE static __attribute__((device)) inline

typedef unsigned long long word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

/* Blocks of 256 threads, in rows. */
MPIXQ_INLINE word_t index_x(void)
{
    return (word_t)__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

MPIXQ_INLINE void store(word_t *word, word_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

MPIXQ_INLINE word_t load(const word_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The threads of a block. What each wavefront wrote has left for the system by then: the release by
 * the first waits for its own stores only. */
MPIXQ_INLINE void meet(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
}

/* For memory that only the block has. */
MPIXQ_INLINE void join(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* Add one; what was there. What any thread of this GPU has written before it did so is there for
 * those that see it, and for those that they meet. */
MPIXQ_INLINE word_t count_one(word_t *word)
{
    return __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
}

MPIXQ_INLINE void nap(void)
{
    __builtin_amdgcn_s_sleep(1);
}

/* A counter of 100 MHz. */
MPIXQ_INLINE word_t clock_ns(void)
{
    return (word_t)__builtin_amdgcn_s_memrealtime() * 10;
}

#define AWAIT_EARLIER
#define LET_LATER_COME
#define THREAD ((word_t)__builtin_amdgcn_workitem_id_x())
#define THREADS 256
#define BLOCK_MEMORY static __attribute__((shared))
#define UNROLL _Pragma("unroll")
#define PATIENCE (1ull << 24)

#define EACH_X(i, n) for (word_t i = index_x(); i < (n); i = (n))
#define EACH_Y(i, n) for (word_t i = __builtin_amdgcn_workgroup_id_y(); i < (n); i = (n))

/* Of the blocks of a row, all of their threads together; the packet by which the kernel was
 * launched has their numbers. */
#define PACKET ((const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_dispatch_ptr())
#define BLOCK_X ((word_t)__builtin_amdgcn_workgroup_id_x())
#define BLOCK_Y ((word_t)__builtin_amdgcn_workgroup_id_y())
#define THREADS_X (PACKET[1] & 0xffffu)
#define BLOCKS_X (PACKET[3] / THREADS_X)
#define EACH_STRIDE(i, n)                                                                          \
    for (word_t i = (word_t)__builtin_amdgcn_workgroup_id_x() * THREADS_X +                        \
                    __builtin_amdgcn_workitem_id_x();                                              \
         i < (n); i += PACKET[3])

/* Of the warps of a block each has one, if there are as many warps. */
#define LANES ((word_t)MPIXQ_DEV_WARP)
#define LANE (THREAD % LANES)
#define WARP_HAS(n) 1
#define FEW_REGISTERS
#define EACH_WARP(i, n) for (word_t i = THREAD / LANES; i < (n); i = (n))

#include "kernels.inc"
