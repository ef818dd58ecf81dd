/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * nics.c - device memory that a NIC accesses
 */
#include <sys/mman.h>

#include "memory.h"

/* Under hip_memory_lock. */
static struct hip_block *find_device(const void *address)
{
    bool moved;
    struct hip_block *block = hip_find(address, &moved);

    return block != NULL && block->kind == HIP_DEVICE ? block : NULL;
}

/* A mapping of its own of the pages: the other one stays closed to the host. */
HIP_EXPORT int hip_double_nic_open(const void *address, size_t bytes, void **alias_p)
{
    struct hip_block *block;
    char *pages = NULL;
    int rc = -1;

    pthread_mutex_lock(&hip_memory_lock);
    block = find_device(address);
    if (block != NULL) {
        size_t within = (size_t)((const char *)address - block->base);

        if (bytes <= block->size - within) {
            pages = mmap(NULL, block->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                         hip_file_of(block->device), (off_t)block->file_offset);
        }
        rc = pages == NULL || pages == MAP_FAILED;
        if (rc == 0) {
            block->nics++;
            *alias_p = pages + (block->base - block->pages) + within;
        }
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return rc;
}

HIP_EXPORT void hip_double_nic_close(const void *address, size_t bytes, void *alias)
{
    struct hip_block *block;

    (void)bytes;
    pthread_mutex_lock(&hip_memory_lock);
    block = find_device(address);
    if (block != NULL) {
        block->nics--;
        munmap((char *)alias - ((const char *)address - block->pages), block->page_bytes);
    }
    pthread_mutex_unlock(&hip_memory_lock);
}

HIP_EXPORT void hip_double_nic_range(const void *address, const void **base_p, size_t *bytes_p)
{
    const struct hip_block *block;

    pthread_mutex_lock(&hip_memory_lock);
    block = find_device(address);
    *base_p = block != NULL ? block->base : address;
    *bytes_p = block != NULL ? block->size : 0;
    pthread_mutex_unlock(&hip_memory_lock);
}
