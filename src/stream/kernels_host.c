/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for the host, where the double of the HIP runtime calls them. */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "kernels_host.h"

#define MPIXQ_KERNEL void

typedef uint64_t word_t;

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

#include "kernels.inc"
