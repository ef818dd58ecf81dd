/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * chunks.c - memory that the program maps to addresses by itself
 *
 * A chunk is a file of its own, with a page behind it that says what it is. It lives as long as
 * somebody has it: by a handle, by a mapping, or as a file in any process. All under
 * hip_memory_lock.
 */
#include "memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANULARITY = 65536 };

struct ihipMemGenericAllocationHandle {
    struct ihipMemGenericAllocationHandle *next;
    int file, device, handles, mappings;
    size_t size;
    bool exportable;
};

struct tail {
    uint64_t magic, size;
    int32_t device;
};
#define CHUNK_MAGIC 0x6b6e75686365756fu

struct range {
    struct range *next;
    char *base;
    size_t size;
};

static struct ihipMemGenericAllocationHandle *chunks;
static struct range *ranges;

static bool is_whole(size_t bytes)
{
    return bytes > 0 && bytes % GRANULARITY == 0;
}

static bool is_chunk(const struct ihipMemGenericAllocationHandle *handle)
{
    const struct ihipMemGenericAllocationHandle *one = chunks;

    while (one != NULL && one != handle) {
        one = one->next;
    }
    return one != NULL && one->handles > 0;
}

static void chunk_leave(struct ihipMemGenericAllocationHandle *chunk)
{
    struct ihipMemGenericAllocationHandle **place = &chunks;

    if (chunk->handles > 0 || chunk->mappings > 0) {
        return;
    }
    while (*place != chunk) {
        place = &(*place)->next;
    }
    *place = chunk->next;
    close(chunk->file);
    free(chunk);
}

static hipError_t chunk_add(const struct tail *tail, int file, bool exportable,
                            hipMemGenericAllocationHandle_t *handle_p)
{
    struct ihipMemGenericAllocationHandle *chunk = calloc(1, sizeof(*chunk));

    if (chunk == NULL || file < 0) {
        free(chunk);
        return hipErrorOutOfMemory;
    }
    chunk->file = file;
    chunk->device = tail->device;
    chunk->size = (size_t)tail->size;
    chunk->exportable = exportable;
    chunk->handles = 1;
    pthread_mutex_lock(&hip_memory_lock);
    chunk->next = chunks;
    chunks = chunk;
    pthread_mutex_unlock(&hip_memory_lock);
    *handle_p = chunk;
    return hipSuccess;
}

static bool are_known(const hipMemAllocationProp *props)
{
    return props != NULL && props->type == hipMemAllocationTypePinned &&
           props->location.type == hipMemLocationTypeDevice && props->location.id >= 0 &&
           props->location.id < hip_switches.devices &&
           (props->requestedHandleType == hipMemHandleTypeNone ||
            props->requestedHandleType == hipMemHandleTypePosixFileDescriptor);
}

HIP_EXPORT hipError_t hipMemGetAllocationGranularity(size_t *bytes,
                                                     const hipMemAllocationProp *props,
                                                     hipMemAllocationGranularity_flags option)
{
    (void)option; /* both are the same */
    HIP_ENTER(hipMemGetAllocationGranularity);
    if (bytes == NULL || !are_known(props)) {
        return hip_leave(hipErrorInvalidValue);
    }
    *bytes = GRANULARITY;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t bytes,
                                   const hipMemAllocationProp *props, unsigned long long flags)
{
    struct tail tail = {.magic = CHUNK_MAGIC, .size = bytes};
    int file;

    HIP_ENTER(hipMemCreate);
    if (handle == NULL || !is_whole(bytes) || !are_known(props) || flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    tail.device = props->location.id;
    file = memfd_create("hip_double_chunk", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)(bytes + PAGE)) != 0 ||
        pwrite(file, &tail, sizeof(tail), (off_t)bytes) != sizeof(tail)) {
        return hip_leave(hipErrorOutOfMemory);
    }
    return hip_leave(chunk_add(
        &tail, file, props->requestedHandleType == hipMemHandleTypePosixFileDescriptor, handle));
}

HIP_EXPORT hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemRelease);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_chunk(handle)) {
        handle->handles--;
        chunk_leave(handle);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemAddressReserve(void **address, size_t bytes, size_t alignment,
                                           void *wanted, unsigned long long flags)
{
    size_t room = bytes + 2 * GRANULARITY;
    struct range *range;
    char *base;

    (void)wanted; /* a wish */
    HIP_ENTER(hipMemAddressReserve);
    if (address == NULL || !is_whole(bytes) || alignment > GRANULARITY || flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    range = malloc(sizeof(*range));
    base = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == NULL || base == MAP_FAILED) {
        free(range);
        return hip_leave(hipErrorOutOfMemory);
    }
    /* With a gap behind it, and mostly before. */
    range->base = base + (GRANULARITY - (uintptr_t)base % GRANULARITY);
    range->size = bytes;
    pthread_mutex_lock(&hip_memory_lock);
    range->next = ranges;
    ranges = range;
    pthread_mutex_unlock(&hip_memory_lock);
    *address = range->base;
    return hip_leave(hipSuccess);
}

/* Mapped bytes of a range of addresses, in mappings that are all in it; 0 if one is not. */
static size_t mapped_in(const char *address, size_t bytes)
{
    size_t sum = 0;

    for (const struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
        if (block->kind != HIP_CHUNK || block->base >= address + bytes ||
            block->base + block->size <= address) {
            continue;
        }
        if (block->base < address || block->base + block->size > address + bytes) {
            return 0;
        }
        sum += block->size;
    }
    return sum;
}

static bool is_free(const char *address, size_t bytes)
{
    for (const struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
        if (block->kind == HIP_CHUNK && block->base < address + bytes &&
            block->base + block->size > address) {
            return false;
        }
    }
    return true;
}

/* The addresses are not given out again: who uses them later is found. */
HIP_EXPORT hipError_t hipMemAddressFree(void *address, size_t bytes)
{
    hipError_t error = hipErrorInvalidValue;
    struct range **place = &ranges, *range;

    HIP_ENTER(hipMemAddressFree);
    pthread_mutex_lock(&hip_memory_lock);
    while (*place != NULL && (*place)->base != address) {
        place = &(*place)->next;
    }
    range = *place;
    if (range != NULL && range->size == bytes && is_free(address, bytes)) {
        *place = range->next;
        free(range);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

static bool is_reserved(const char *address, size_t bytes)
{
    const struct range *range = ranges;

    while (range != NULL &&
           (address < range->base || address + bytes > range->base + range->size)) {
        range = range->next;
    }
    return range != NULL;
}

/* Under the lock. */
static hipError_t map(char *address, size_t bytes, struct ihipMemGenericAllocationHandle *chunk)
{
    struct hip_block *block = calloc(1, sizeof(*block));

    if (block == NULL || mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED,
                              chunk->file, 0) == MAP_FAILED) {
        free(block);
        return hipErrorOutOfMemory;
    }
    *block = (struct hip_block){.kind = HIP_CHUNK,
                                .device = chunk->device,
                                .base = address,
                                .size = bytes,
                                .pages = address,
                                .page_bytes = bytes,
                                .chunk = chunk};
    if (hip_closed_to_host(block)) {
        hip_protect(block, false);
    }
    chunk->mappings++;
    hip_add(block);
    return hipSuccess;
}

HIP_EXPORT hipError_t hipMemMap(void *address, size_t bytes, size_t offset,
                                hipMemGenericAllocationHandle_t handle, unsigned long long flags)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemMap);
    hip_synchronizing(HIP_CALL_hipMemMap, hip_current(), false);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_chunk(handle) && offset == 0 && flags == 0 && is_whole(bytes) && bytes <= handle->size &&
        (uintptr_t)address % GRANULARITY == 0 && is_reserved(address, bytes) &&
        is_free(address, bytes)) {
        error = map(address, bytes, handle);
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

/* Under the lock: one that is there, of which all is between these addresses. */
static struct hip_block *next_in(const char *address, size_t bytes)
{
    struct hip_block *block = hip_blocks;

    while (block != NULL &&
           (block->kind != HIP_CHUNK || block->base < address || block->base >= address + bytes)) {
        block = block->next;
    }
    return block;
}

void hip_chunk_unmap(struct hip_block *block)
{
    if (mmap(block->pages, block->page_bytes, PROT_NONE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
        hip_die("mmap of %p", (void *)block->pages);
    }
    block->chunk->mappings--;
    chunk_leave(block->chunk);
    hip_forget(block);
}

/* Their mappings have ended by now. */
void hip_chunks_reset(int device)
{
    struct ihipMemGenericAllocationHandle *next;

    for (struct ihipMemGenericAllocationHandle *chunk = chunks; chunk != NULL; chunk = next) {
        next = chunk->next;
        if (chunk->device == device) {
            chunk->handles = 0;
            chunk_leave(chunk);
        }
    }
}

HIP_EXPORT hipError_t hipMemUnmap(void *address, size_t bytes)
{
    hipError_t error = hipErrorInvalidValue;
    struct hip_block *block;

    HIP_ENTER(hipMemUnmap);
    hip_synchronizing(HIP_CALL_hipMemUnmap, hip_current(), true);
    pthread_mutex_lock(&hip_memory_lock);
    if (bytes > 0 && mapped_in(address, bytes) == bytes) {
        while ((block = next_in(address, bytes)) != NULL) {
            hip_chunk_unmap(block);
        }
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

/* Nothing reaches what was mapped just now. */
HIP_EXPORT hipError_t hipMemSetAccess(void *address, size_t bytes, const hipMemAccessDesc *list,
                                      size_t count)
{
    hipError_t error = hipErrorInvalidValue;
    char *first = address;

    HIP_ENTER(hipMemSetAccess);
    pthread_mutex_lock(&hip_memory_lock);
    if (list != NULL && count == 1 && list->location.type == hipMemLocationTypeDevice &&
        list->location.id >= 0 && list->location.id < hip_switches.devices && bytes > 0 &&
        mapped_in(address, bytes) == bytes) {
        uint32_t bit = (uint32_t)1 << list->location.id;

        for (struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
            if (block->kind == HIP_CHUNK && block->base >= first && block->base < first + bytes) {
                block->reach = list->flags == hipMemAccessFlagsProtReadWrite ? block->reach | bit
                                                                             : block->reach & ~bit;
            }
        }
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle,
                                                   void *memory)
{
    hipError_t error = hipErrorInvalidValue;
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipMemRetainAllocationHandle);
    if (handle != NULL && hip_block_find(memory, &block, &offset) && block.kind == HIP_CHUNK) {
        pthread_mutex_lock(&hip_memory_lock);
        block.chunk->handles++;
        pthread_mutex_unlock(&hip_memory_lock);
        *handle = block.chunk;
        error = hipSuccess;
    }
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemExportToShareableHandle(void *out,
                                                    hipMemGenericAllocationHandle_t handle,
                                                    hipMemAllocationHandleType type,
                                                    unsigned long long flags)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemExportToShareableHandle);
    pthread_mutex_lock(&hip_memory_lock);
    if (out != NULL && flags == 0 && type == hipMemHandleTypePosixFileDescriptor &&
        is_chunk(handle) && (handle->exportable || hip_is_wrong("chunk-closed"))) {
        int file = fcntl(handle->file, F_DUPFD, 0);

        if (file >= 0) {
            *(int *)out = file;
        }
        error = file >= 0 ? hipSuccess : hipErrorOutOfMemory;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle,
                                                      void *in, hipMemAllocationHandleType type)
{
    int file = (int)(uintptr_t)in;
    struct stat status;
    struct tail tail;

    HIP_ENTER(hipMemImportFromShareableHandle);
    if (handle == NULL || type != hipMemHandleTypePosixFileDescriptor ||
        fstat(file, &status) != 0 || status.st_size <= PAGE ||
        pread(file, &tail, sizeof(tail), status.st_size - PAGE) != sizeof(tail) ||
        tail.magic != CHUNK_MAGIC || tail.device >= hip_switches.devices) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(chunk_add(&tail, fcntl(file, F_DUPFD_CLOEXEC, 0), true, handle));
}
