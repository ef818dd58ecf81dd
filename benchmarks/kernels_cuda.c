/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. */
#define MPIXQ_KERNEL extern "C" __attribute__((global)) void
#define MPIXQ_INLINE static __attribute__((device)) inline

typedef unsigned long long word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

/* Blocks of 256 threads, in rows. */
MPIXQ_INLINE word_t index_x(void)
{
    return (word_t)__nvvm_read_ptx_sreg_ctaid_x() * 256 + __nvvm_read_ptx_sreg_tid_x();
}

#define EACH_X(i, n) for (word_t i = index_x(); i < (n); i = (n))
#define EACH_Y(i, n) for (word_t i = __nvvm_read_ptx_sreg_ctaid_y(); i < (n); i = (n))

#include "kernels.inc"
