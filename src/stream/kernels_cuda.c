/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. Release and
 * acquire at the scope of the system are of PTX 6.0 and sm_70. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void

typedef unsigned long long word_t;

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

#include "kernels.inc"
