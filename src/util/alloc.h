/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The library's heap: one place, so that tests can make the n-th allocation fail.
 */
#ifndef MPIXQ_ALLOC_H
#define MPIXQ_ALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-filled memory, or NULL. */
void *mpixq_alloc(size_t bytes);
/* As realloc; on failure the old block stays. The new part is not cleared. */
void *mpixq_realloc(void *block, size_t bytes);
/* As mpixq_alloc, at a multiple of alignment, which is a power of two and divides bytes. */
void *mpixq_alloc_aligned(size_t alignment, size_t bytes);
void mpixq_free(void *block);
/* A file in memory of so many bytes, which other processes may open; or -1. */
int mpixq_alloc_file(const char *name, uint64_t bytes);

/* Of this process; any thread. */
struct mpixq_allocs {
    atomic_ulong count; /* allocations made so far */
    /* For tests: when above 0, counts down with each allocation, and the one that reaches 0
     * fails. */
    atomic_long fail_in;
};
extern struct mpixq_allocs mpixq_allocs;

#endif
