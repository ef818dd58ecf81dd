/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP: compiled to a code object by clang or hipcc, by itself and without any
 * header. An atomic that names no scope has that of the system. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void
#define MPIXQ_INLINE static __attribute__((device, always_inline)) inline

typedef unsigned long long word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

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

/* The threads of the block meet. What each wavefront wrote has left for the system by then: the
 * release by the first waits for its own stores only. */
static __attribute__((device)) inline void meet(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define THREAD ((unsigned)__builtin_amdgcn_workitem_id_x())
#define IS_FIRST (THREAD == 0)
#define EACH_PIECE(i, all) for (unsigned i = THREAD / (all).each; i < (all).n; i = (all).n)
#define EACH_WORD(i, all) for (unsigned i = THREAD; i < (all).n; i = (all).n)
#define PART(all) (THREAD % (all).each)
#define PARTS(all) ((all).each)

#include "kernels.inc"
