/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. Release and
 * acquire at the scope of the system are of PTX 6.0 and sm_70. */
#define MPIXQ_KERNEL extern "C" __attribute__((global, launch_bounds(1024))) void
#define MPIXQ_INLINE static __attribute__((device, always_inline)) inline

typedef unsigned long long word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

static __attribute__((device)) inline void store(word_t *word, word_t value)
{
    __asm__ volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

static __attribute__((device)) inline word_t load(const word_t *word)
{
    word_t value;

    __asm__ volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

static __attribute__((device)) inline void nap(void)
{
}

/* The threads of the block meet, which orders what each wrote before what any does next: a release
 * by one of them then is one for all. */
static __attribute__((device)) inline void meet(void)
{
    __asm__ volatile("bar.sync 0;" ::: "memory");
}

#define THREAD ((unsigned)__nvvm_read_ptx_sreg_tid_x())
#define IS_FIRST (THREAD == 0)
#define EACH_PIECE(i, all) for (unsigned i = THREAD / (all).each; i < (all).n; i = (all).n)
#define EACH_WORD(i, all) for (unsigned i = THREAD; i < (all).n; i = (all).n)
#define PART(all) (THREAD % (all).each)
#define PARTS(all) ((all).each)

#include "kernels.inc"
