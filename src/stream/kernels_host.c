/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for the host, where the double of the HIP runtime calls them. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "kernels_host.h"

#define MPIXQ_KERNEL void
#define MPIXQ_INLINE static inline

typedef mpixq_word_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));
typedef unsigned unit_t __attribute__((may_alias));

static inline void store(word_t *word, word_t value)
{
    atomic_store_explicit((_Atomic uint64_t *)word, value, memory_order_release);
}

static inline word_t load(const word_t *word)
{
    return atomic_load_explicit((const _Atomic uint64_t *)word, memory_order_acquire);
}

static inline void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static inline word_t peek(const word_t *word)
{
    return atomic_load_explicit((const _Atomic uint64_t *)word, memory_order_relaxed);
}

static inline void add(word_t *word, word_t value)
{
    (void)atomic_fetch_add((_Atomic uint64_t *)word, value);
}

static inline word_t count(word_t *word, word_t value)
{
    return atomic_fetch_add((_Atomic uint64_t *)word, value);
}

static inline word_t replace(word_t *word, uint64_t expected, word_t value)
{
    (void)atomic_compare_exchange_strong((_Atomic uint64_t *)word, &expected, value);
    return expected;
}

static inline word_t add_here(word_t *word, word_t value)
{
    return atomic_fetch_add((_Atomic uint64_t *)word, value);
}

static inline void store_here(word_t *word, word_t value)
{
    store(word, value);
}

static inline word_t load_here(const word_t *word)
{
    return load(word);
}

/* The thread sanitizer has no fences: each word is put with a release of its own. */
static inline void release(void)
{
}

static inline void release_here(void)
{
}

static inline void put(word_t *word, word_t value)
{
    store(word, value);
}

static inline void store_end(word_t *word, word_t value)
{
    store(word, value);
}

/* One thread is all of the block. */
static inline void meet(void)
{
}

#define AWAIT_EARLIER
#define LET_LATER_COME
#define IS_FIRST true
/* A look takes 70 us with its nap: some ten seconds, as other threads may need the CPUs. */
#define LATE (1u << 12)
#define TURNS 1u
#define TURN 0u
#define EACH_PIECE(i, all) for (unsigned i = 0; i < (all).n; i++)
#define EACH_WORD(i, all) for (unsigned i = 0; i < (all).n; i++)
#define EACH_OF_BLOCK(i, all) for (unsigned i = 0; i < (all).n; i++)
#define PART(all) 0
#define PARTS(all) 1
#define MPIXQ_SHARED
#define ONE_BY_ONE
#define THREAD 0u
#define BLOCK 0u
#define BLOCK_SHARE 0
#define BLOCK_SHARES(all) 1
#define THREADS 1u
#define EACH_BLOCK(block, all) for (unsigned block = 0; block < (all).blocks; block++)
#define BLOCKS_OF(move) ((move).blocks)
#define BLOCKS_OF_ALL(all) 1u
#define PARTS_OF_GROUP(n) 1
#define PART_OF_GROUP(n) 0
#define EACH_OF_GROUP(k, n) for (unsigned k = 0; k < (n); k++)

#include "kernels.inc"
