/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for the host, where the double of the HIP runtime calls them. */
#include "kernels_host.h"

#define MPIXQ_KERNEL void
#define MPIXQ_INLINE static inline

typedef uint64_t word_t;
typedef word_t pair_t __attribute__((vector_size(16), may_alias));

#define EACH_X(i, n) for (word_t i = 0; i < (n); i++)
#define EACH_Y(i, n) for (word_t i = 0; i < (n); i++)

#include "kernels.inc"
