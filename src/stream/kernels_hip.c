/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP: compiled to a code object by clang or hipcc, by itself and without any
 * header. An atomic that names no scope has that of the system. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void

typedef unsigned long long word_t;

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

#include "kernels.inc"
