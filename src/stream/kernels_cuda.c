/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. Release and
 * acquire at the scope of the system are of PTX 6.0 and sm_70. */
#define MPIXQ_KERNEL extern "C" __attribute__((global, launch_bounds(1024))) void
#define MPIXQ_INLINE static __attribute__((device, always_inline)) inline

#include "pieces.h"

typedef mpixq_word_t word_t;
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

/* Both return what was there before; acquire and release. */
static __attribute__((device)) inline word_t add(word_t *word, word_t value)
{
    word_t before;

    __asm__ volatile("atom.acq_rel.sys.add.u64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(word), "l"(value)
                     : "memory");
    return before;
}

/* The same, in no order with anything else. */
static __attribute__((device)) inline word_t count(word_t *word, word_t value)
{
    word_t before;

    __asm__ volatile("atom.relaxed.sys.add.u64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(word), "l"(value)
                     : "memory");
    return before;
}

static __attribute__((device)) inline word_t replace(word_t *word, word_t expected, word_t value)
{
    word_t before;

    __asm__ volatile("atom.acq_rel.sys.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(before)
                     : "l"(word), "l"(expected), "l"(value)
                     : "memory");
    return before;
}

/* One release for several words that are put after it. */
static __attribute__((device)) inline void release(void)
{
    __asm__ volatile("fence.acq_rel.sys;" ::: "memory");
}

static __attribute__((device)) inline void put(word_t *word, word_t value)
{
    __asm__ volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* The threads of the block meet, which orders what each wrote before what any does next: a release
 * by one of them then is one for all. */
static __attribute__((device)) inline void meet(void)
{
    __asm__ volatile("bar.sync 0;" ::: "memory");
}

#define MPIXQ_SHARED static __attribute__((shared))
#define THREAD ((unsigned)__nvvm_read_ptx_sreg_tid_x())
#define THREADS ((unsigned)__nvvm_read_ptx_sreg_ntid_x())
#define BLOCK ((unsigned)__nvvm_read_ptx_sreg_ctaid_x())
#define IS_FIRST (THREAD == 0)
#define EACH_PIECE(i, all) for (unsigned i = THREAD / (all).each; i < (all).n; i = (all).n)
#define EACH_WORD(i, all) for (unsigned i = THREAD; i < (all).n; i = (all).n)
#define PART(all) (THREAD % (all).each)
#define PARTS(all) ((all).each)
#define EACH_BLOCK(block, all) for (unsigned block = BLOCK, left = 1; left > 0; left--)
#define BLOCKS_OF(move) ((move).blocks)
#define BLOCKS_OF_ALL(all) ((all).blocks)
/* Whole warps for each move of a group. */
#define PARTS_OF_GROUP(n) (THREADS / (n) / 32 * 32)
#define PART_OF_GROUP(n) (THREAD % PARTS_OF_GROUP(n))
#define EACH_OF_GROUP(k, n) for (unsigned k = THREAD / PARTS_OF_GROUP(n); k < (n); k = (n))

#include "kernels.inc"
