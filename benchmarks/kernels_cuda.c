/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. Release and
 * acquire at the scope of the system are of PTX 6.0 and sm_70. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void
#define MPIXQ_INLINE static __attribute__((device)) inline

typedef unsigned long long word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

/* Blocks of 256 threads, in rows. */
MPIXQ_INLINE word_t index_x(void)
{
    return (word_t)__nvvm_read_ptx_sreg_ctaid_x() * 256 + __nvvm_read_ptx_sreg_tid_x();
}

MPIXQ_INLINE void store(word_t *word, word_t value)
{
    __asm__ volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

MPIXQ_INLINE word_t load(const word_t *word)
{
    word_t value;

    __asm__ volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/* The threads of a block, which orders what each wrote before what any does next. */
MPIXQ_INLINE void meet(void)
{
    __asm__ volatile("bar.sync 0;" ::: "memory");
}

MPIXQ_INLINE void nap(void)
{
}

MPIXQ_INLINE word_t clock_ns(void)
{
    word_t now;

    __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#define THREAD ((word_t)__nvvm_read_ptx_sreg_tid_x())
#define THREADS 256
#define PATIENCE (1ull << 24) /* loads: some 10 s */

#define EACH_X(i, n) for (word_t i = index_x(); i < (n); i = (n))
#define EACH_Y(i, n) for (word_t i = __nvvm_read_ptx_sreg_ctaid_y(); i < (n); i = (n))

#include "kernels.inc"
