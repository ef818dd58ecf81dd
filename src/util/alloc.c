/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* One that is longer than a limit of the process ends that by a signal, also in memory. */
int mpixq_alloc_file(const char *name, uint64_t bytes)
{
    struct rlimit limit;
    int file;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        (limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)) {
        return -1;
    }
    file = memfd_create(name, MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        (void)close(file);
        file = -1;
    }
    return file;
}
