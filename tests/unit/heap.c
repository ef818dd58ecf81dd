/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * heap.c - counts the blocks of the library's heap: the linker sends its calls here (--wrap)
 */
#include <stdatomic.h>

#include "util/alloc.h"
#include "unit.h"

void *__real_mpixq_alloc(size_t bytes);
void *__real_mpixq_realloc(void *block, size_t bytes);
void *__real_mpixq_alloc_aligned(size_t alignment, size_t bytes);
void __real_mpixq_free(void *block);
void *__wrap_mpixq_alloc(size_t bytes);
void *__wrap_mpixq_realloc(void *block, size_t bytes);
void *__wrap_mpixq_alloc_aligned(size_t alignment, size_t bytes);
void __wrap_mpixq_free(void *block);

static atomic_long live;

long unit_live_blocks(void)
{
    return atomic_load(&live);
}

static void *count(void *block)
{
    if (block != NULL) {
        atomic_fetch_add(&live, 1);
    }
    return block;
}

void *__wrap_mpixq_alloc(size_t bytes)
{
    return count(__real_mpixq_alloc(bytes));
}

void *__wrap_mpixq_realloc(void *block, size_t bytes)
{
    void *bigger = __real_mpixq_realloc(block, bytes);

    return block == NULL ? count(bigger) : bigger;
}

void *__wrap_mpixq_alloc_aligned(size_t alignment, size_t bytes)
{
    return count(__real_mpixq_alloc_aligned(alignment, bytes));
}

void __wrap_mpixq_free(void *block)
{
    if (block != NULL) {
        atomic_fetch_sub(&live, 1);
    }
    __real_mpixq_free(block);
}
