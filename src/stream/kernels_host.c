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

typedef uint64_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

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

/* One thread is all of the block. */
static inline void meet(void)
{
}

#define IS_FIRST true
#define EACH_PIECE(i, all) for (unsigned i = 0; i < (all).n; i++)
#define EACH_WORD(i, all) for (unsigned i = 0; i < (all).n; i++)
#define PART(all) 0
#define PARTS(all) 1

#include "kernels.inc"
