/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mpixq_allocs mpixq_allocs;

static bool must_fail(void)
{
    atomic_fetch_add_explicit(&mpixq_allocs.count, 1, memory_order_relaxed);
    if (atomic_load_explicit(&mpixq_allocs.fail_in, memory_order_relaxed) <= 0) {
        return false;
    }
    return atomic_fetch_sub(&mpixq_allocs.fail_in, 1) == 1;
}

void *mpixq_alloc(size_t bytes)
{
    return must_fail() ? NULL : calloc(1, bytes);
}

void *mpixq_realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : realloc(block, bytes);
}

void *mpixq_alloc_aligned(size_t alignment, size_t bytes)
{
    void *block = must_fail() ? NULL : aligned_alloc(alignment, bytes);

    return block != NULL ? memset(block, 0, bytes) : NULL;
}

void mpixq_free(void *block)
{
    free(block);
}
