/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP: compiled to a code object by clang or hipcc, by itself and without any
 * header. An atomic that names no scope has that of the system. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void
#define MPIXQ_INLINE static __attribute__((device, always_inline)) inline

#include "pieces.h"

typedef mpixq_word_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));
typedef unsigned unit_t __attribute__((may_alias));

static __attribute__((device)) inline void store(word_t *word, word_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static __attribute__((device)) inline word_t load(const word_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static __attribute__((device)) inline void nap(void)
{
    __builtin_amdgcn_s_sleep(1);
}

/* In no order with anything else. */
static __attribute__((device)) inline word_t peek(const word_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static __attribute__((device)) inline void add(word_t *word, word_t value)
{
    (void)__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

/* These return what was there before; the first two are in no order with anything else. */
static __attribute__((device)) inline word_t count(word_t *word, word_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

static __attribute__((device)) inline word_t replace(word_t *word, word_t expected, word_t value)
{
    (void)__atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
    return expected;
}

static __attribute__((device)) inline word_t add_here(word_t *word, word_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

static __attribute__((device)) inline void store_here(word_t *word, word_t value)
{
    store(word, value);
}

static __attribute__((device)) inline word_t load_here(const word_t *word)
{
    return load(word);
}

/* One release for several words that are put after it. */
static __attribute__((device)) inline void release(void)
{
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
}

static __attribute__((device)) inline void release_here(void)
{
    release();
}

static __attribute__((device)) inline void put(word_t *word, word_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Not as in cuda.inc: whether the end of a kernel flushes what hosts see is up to the runtime. */
static __attribute__((device)) inline void store_end(word_t *word, word_t value)
{
    store(word, value);
}

/* The threads of the block meet. What each wavefront wrote has left for the system by then: the
 * release by the first waits for its own stores only. */
static __attribute__((device)) inline void meet(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define AWAIT_EARLIER
#define LET_LATER_COME
#define ONE_BY_ONE _Pragma("nounroll")
#define MPIXQ_SHARED static __attribute__((shared))
#define THREAD ((unsigned)__builtin_amdgcn_workitem_id_x())
#define THREADS (MPIXQ_BLOCK_OF_MOVES)
#define BLOCK ((unsigned)__builtin_amdgcn_workgroup_id_x())
#define IS_FIRST (THREAD == 0)
#define LATE (1u << 14) /* one second, or less */
#define TURNS 32u
#define TURN (THREAD / 64 % TURNS)
#define EACH_PIECE(i, all) for (unsigned i = THREAD / (all).each; i < (all).n; i = (all).n)
#define EACH_WORD(i, all) for (unsigned i = THREAD / (all).each; i < (all).n; i = (all).n)
/* The same of several blocks. */
#define EACH_OF_BLOCK(i, all)                                                                      \
    for (unsigned i = THREAD / (all).each * (all).blocks + BLOCK; i < (all).n; i = (all).n)
#define PART(all) (THREAD % (all).each)
#define PARTS(all) ((all).each)
/* Of a block with words. */
#define BLOCK_SHARE THREAD
#define BLOCK_SHARES(all) ((all).n * (all).each)
#define EACH_BLOCK(block, all) for (unsigned block = BLOCK, left = 1; left > 0; left--)
#define BLOCKS_OF(move) ((move).blocks)
#define BLOCKS_OF_ALL(all) ((all).blocks)
/* Whole warps for each move of a group. */
#define PARTS_OF_GROUP(n) (THREADS / (n) / 32 * 32)
#define PART_OF_GROUP(n) (THREAD % PARTS_OF_GROUP(n))
#define EACH_OF_GROUP(k, n) for (unsigned k = THREAD / PARTS_OF_GROUP(n); k < (n); k = (n))

#include "kernels.inc"
