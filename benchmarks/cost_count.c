/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cost_count.c - the counting of cost.h, with a heap that counts
 */
#include "cost.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The heap of glibc, under the names that are left when a program defines the usual ones. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t num, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

struct heap {
    long allocations;
    long bytes; /* as many as the heap gave */
    long left;  /* of them, less what was freed */
};

/* Of this thread. */
static _Thread_local struct heap of_library; /* by code of libmpix_queue */
static _Thread_local struct heap of_others;

static uintptr_t library_begin, library_end;
static int own_rank;
static atomic_bool discarding;

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "libmpix_queue") == NULL) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            library_begin = info->dlpi_addr + part->p_vaddr;
            library_end = library_begin + part->p_memsz;
        }
    }
    return 1;
}

void cost_init(int rank)
{
    own_rank = rank;
    (void)dl_iterate_phdr(find_library, NULL);
}

void cost_discard(bool discard)
{
    atomic_store(&discarding, discard);
}

static struct heap *heap_of(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;

    return address >= library_begin && address < library_end ? &of_library : &of_others;
}

static void *count(struct heap *heap, void *block)
{
    long bytes = (long)malloc_usable_size(block);

    heap->allocations++;
    heap->bytes += bytes;
    heap->left += bytes;
    return block;
}

#define HEAP heap_of(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    return count(HEAP, __libc_malloc(bytes));
}

void *calloc(size_t num, size_t bytes)
{
    return count(HEAP, __libc_calloc(num, bytes));
}

void *realloc(void *block, size_t bytes)
{
    struct heap *heap = HEAP;
    long old = (long)malloc_usable_size(block);
    void *bigger = __libc_realloc(block, bytes);

    if (bigger == NULL && bytes > 0) {
        return NULL;
    }
    heap->left -= old;
    return count(heap, bigger);
}

void *memalign(size_t alignment, size_t bytes)
{
    return count(HEAP, __libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return count(HEAP, __libc_memalign(alignment, bytes));
}

int posix_memalign(void **block_p, size_t alignment, size_t bytes)
{
    void *block = count(HEAP, __libc_memalign(alignment, bytes));

    if (block == NULL) {
        return ENOMEM;
    }
    *block_p = block;
    return 0;
}

void free(void *block)
{
    HEAP->left -= (long)malloc_usable_size(block);
    __libc_free(block);
}

void cost_reset(void)
{
    of_library = of_others = (struct heap){0};
    CALLGRIND_ZERO_STATS;
}

void cost_write(const char *group, const char *name, int num, long times)
{
    struct heap ours = of_library, others = of_others;
    char text[160];

    if (!atomic_load(&discarding)) {
        (void)snprintf(text, sizeof text, "%d/%s/%s/%d/%ld/%ld/%ld/%ld/%ld", own_rank, group, name,
                       num, times, ours.allocations, ours.bytes, ours.left, others.allocations);
        CALLGRIND_DUMP_STATS_AT(text);
    }
}
