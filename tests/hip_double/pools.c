/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pools.c - memory that streams allocate
 *
 * A pool is a file of its own: a page that says what it is, and behind it the pieces. What is freed
 * is given out again, at the same address, to the next one of its size. Another process that has
 * the file maps pieces by where they are in it. All under hip_memory_lock.
 */
#include "memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct ihipMemPoolHandle_t {
    struct ihipMemPoolHandle_t *next;
    int file, device, pieces;
    bool exportable, exported, imported, destroyed;
    uint32_t reach;
    uint64_t end; /* of the file */
};

struct head {
    uint64_t magic;
    int32_t device;
};
/* What is in the data of a piece. */
struct piece {
    uint64_t magic, file_offset, bytes;
};
#define POOL_MAGIC 0x6c6f6f7065756f64u

static struct ihipMemPoolHandle_t *pools;

/* Under the lock: is it one of ours? */
static bool is_pool(hipMemPool_t pool)
{
    const struct ihipMemPoolHandle_t *one = pools;

    while (one != NULL && one != pool) {
        one = one->next;
    }
    return one != NULL && !one->destroyed;
}

static void pool_free(struct ihipMemPoolHandle_t *pool)
{
    struct ihipMemPoolHandle_t **place = &pools;

    while (*place != pool) {
        place = &(*place)->next;
    }
    *place = pool->next;
    for (struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
        block->pool = block->pool == pool ? NULL : block->pool;
    }
    close(pool->file);
    free(pool);
}

static hipError_t pool_add(const struct ihipMemPoolHandle_t *what, hipMemPool_t *pool_p)
{
    struct ihipMemPoolHandle_t *pool = malloc(sizeof(*pool));

    if (pool == NULL || what->file < 0) {
        free(pool);
        return hipErrorOutOfMemory;
    }
    *pool = *what;
    pool->reach = (uint32_t)1 << pool->device;
    pthread_mutex_lock(&hip_memory_lock);
    pool->next = pools;
    pools = pool;
    pthread_mutex_unlock(&hip_memory_lock);
    *pool_p = pool;
    return hipSuccess;
}

HIP_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t *pool, const hipMemPoolProps *props)
{
    struct ihipMemPoolHandle_t new = {.end = PAGE};
    struct head head = {.magic = POOL_MAGIC};

    HIP_ENTER(hipMemPoolCreate);
    if (pool == NULL || props == NULL || props->allocType != hipMemAllocationTypePinned ||
        props->location.type != hipMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= hip_switches.devices ||
        (props->handleTypes != hipMemHandleTypeNone &&
         props->handleTypes != hipMemHandleTypePosixFileDescriptor)) {
        return hip_leave(hipErrorInvalidValue);
    }
    new.device = head.device = props->location.id;
    new.exportable = props->handleTypes == hipMemHandleTypePosixFileDescriptor;
    new.file = memfd_create("hip_double_pool", MFD_CLOEXEC);
    if (new.file < 0 || ftruncate(new.file, PAGE) != 0 ||
        pwrite(new.file, &head, sizeof(head), 0) != sizeof(head)) {
        return hip_leave(hipErrorOutOfMemory);
    }
    return hip_leave(pool_add(&new, pool));
}

HIP_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t pool)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemPoolDestroy);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_pool(pool)) {
        pool->destroyed = true;
        if (pool->pieces == 0) {
            pool_free(pool);
        }
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

void hip_piece_freed(struct ihipMemPoolHandle_t *pool)
{
    pool->pieces--;
    if (pool->pieces == 0 && pool->destroyed) {
        pool_free(pool);
    }
}

/* Their pieces are freed by now. */
void hip_pools_reset(int device)
{
    struct ihipMemPoolHandle_t *next;

    for (struct ihipMemPoolHandle_t *pool = pools; pool != NULL; pool = next) {
        next = pool->next;
        if (pool->device == device && pool->pieces == 0) {
            pool_free(pool);
        }
    }
}

uint32_t hip_pool_reach(const struct ihipMemPoolHandle_t *pool)
{
    return pool->reach;
}

/* Where one of this size was, if any is free. */
static bool find_room(struct ihipMemPoolHandle_t *pool, size_t page_bytes, char **pages_p,
                      uint64_t *file_offset_p)
{
    struct hip_block *block = hip_blocks;

    while (block != NULL &&
           (!block->freed || block->pool != pool || block->page_bytes != page_bytes)) {
        block = block->next;
    }
    if (block == NULL || hip_is_wrong("pool-again")) {
        return false;
    }
    *pages_p = block->pages;
    *file_offset_p = block->file_offset;
    hip_forget(block);
    hip_freed--;
    return true;
}

/* Pages of the pool's file; at_p: where, or NULL. Then *at_p is where they are. */
static bool map_at(const struct ihipMemPoolHandle_t *pool, uint64_t offset, size_t page_bytes,
                   char **at_p)
{
    char *pages = *at_p == NULL ? hip_map_pages(page_bytes, pool->file, offset)
                                : mmap(*at_p, page_bytes, PROT_READ | PROT_WRITE,
                                       MAP_FIXED | MAP_SHARED, pool->file, (off_t)offset);

    if (pages == NULL || pages == MAP_FAILED) {
        return false;
    }
    *at_p = pages;
    return true;
}

/* Under the lock. */
static hipError_t piece_add(struct ihipMemPoolHandle_t *pool, struct hip_block block,
                            void **memory_p)
{
    struct hip_block *new = malloc(sizeof(*new));

    block.page_bytes = hip_round_up(hip_round_up(block.size, ALIGNMENT), PAGE);
    if (new == NULL || !map_at(pool, block.file_offset, block.page_bytes, &block.pages)) {
        free(new);
        return hipErrorOutOfMemory;
    }
    block.base = block.pages + block.page_bytes - hip_round_up(block.size, ALIGNMENT);
    block.device = pool->device;
    block.pool = pool;
    *new = block;
    pool->pieces++;
    hip_add(new);
    *memory_p = new->base;
    return hipSuccess;
}

static hipError_t piece_new(struct ihipMemPoolHandle_t *pool, size_t bytes, void **memory_p)
{
    size_t page_bytes = hip_round_up(hip_round_up(bytes, ALIGNMENT), PAGE);
    struct hip_block block = {.kind = HIP_PIECE, .size = bytes};
    char *pages = NULL;
    hipError_t error;

    if (!find_room(pool, page_bytes, &pages, &block.file_offset)) {
        block.file_offset = pool->end;
        if (ftruncate(pool->file, (off_t)(pool->end + page_bytes)) != 0) {
            return hipErrorOutOfMemory;
        }
        pool->end += page_bytes;
    }
    block.pages = pages;
    error = piece_add(pool, block, memory_p);
    if (error == hipSuccess) {
        memset(hip_blocks->pages, FILL, page_bytes);
        if (hip_closed_to_host(hip_blocks)) {
            hip_protect(hip_blocks, false);
        }
    }
    return error;
}

HIP_EXPORT hipError_t hipMallocFromPoolAsync(void **memory, size_t bytes, hipMemPool_t pool,
                                             hipStream_t stream)
{
    hipError_t error = hipErrorInvalidValue;

    (void)stream; /* it is there at once */
    HIP_ENTER(hipMallocFromPoolAsync);
    pthread_mutex_lock(&hip_memory_lock);
    if (memory != NULL && bytes > 0 && is_pool(pool) && !pool->imported) {
        error = piece_new(pool, bytes, memory);
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

static void run_free(struct hip_op *op)
{
    if (hip_block_free(HIP_CALLS, op->to, false) != hipSuccess) {
        hip_die("memory at %p is freed, and was before", (void *)op->to);
    }
}

HIP_EXPORT hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
    struct hip_block block;
    struct hip_op *op;
    size_t offset;

    HIP_ENTER(hipFreeAsync);
    if (!hip_block_find(memory, &block, &offset) || offset != 0 || block.pool == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    op = hip_op_new("free", run_free, 0);
    op->to = memory;
    return hip_leave(hip_submit(stream, op, NULL, NULL));
}

HIP_EXPORT hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc *list,
                                          size_t count)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemPoolSetAccess);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_pool(pool) && list != NULL && count == 1 &&
        list->location.type == hipMemLocationTypeDevice && list->location.id >= 0 &&
        list->location.id < hip_switches.devices &&
        (list->flags == hipMemAccessFlagsProtReadWrite || list->location.id != pool->device)) {
        uint32_t bit = (uint32_t)1 << list->location.id;

        pool->reach =
            list->flags == hipMemAccessFlagsProtReadWrite ? pool->reach | bit : pool->reach & ~bit;
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t pool,
                                          hipMemLocation *location)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemPoolGetAccess);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_pool(pool) && flags != NULL && location != NULL &&
        location->type == hipMemLocationTypeDevice && location->id >= 0 &&
        location->id < hip_switches.devices) {
        *flags = (pool->reach >> location->id & 1) != 0 ? hipMemAccessFlagsProtReadWrite
                                                        : hipMemAccessFlagsProtNone;
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemPoolExportToShareableHandle(void *handle, hipMemPool_t pool,
                                                        hipMemAllocationHandleType type,
                                                        unsigned flags)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipMemPoolExportToShareableHandle);
    pthread_mutex_lock(&hip_memory_lock);
    if (handle != NULL && flags == 0 && type == hipMemHandleTypePosixFileDescriptor &&
        is_pool(pool) && !pool->imported && (pool->exportable || hip_is_wrong("pool-closed"))) {
        int file = fcntl(pool->file, F_DUPFD, 0);

        if (file >= 0) {
            *(int *)handle = file;
            pool->exported = true;
        }
        error = file >= 0 ? hipSuccess : hipErrorOutOfMemory;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t *pool, void *handle,
                                                          hipMemAllocationHandleType type,
                                                          unsigned flags)
{
    struct ihipMemPoolHandle_t new = {.imported = true};
    struct head head;

    HIP_ENTER(hipMemPoolImportFromShareableHandle);
    if (pool == NULL || type != hipMemHandleTypePosixFileDescriptor || flags != 0 ||
        pread((int)(uintptr_t)handle, &head, sizeof(head), 0) != sizeof(head) ||
        head.magic != POOL_MAGIC || head.device >= hip_switches.devices) {
        return hip_leave(hipErrorInvalidValue);
    }
    new.device = head.device;
    new.file = fcntl((int)(uintptr_t)handle, F_DUPFD_CLOEXEC, 0);
    return hip_leave(pool_add(&new, pool));
}

HIP_EXPORT hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData *data, void *memory)
{
    struct hip_block block;
    struct piece piece;
    size_t offset;

    HIP_ENTER(hipMemPoolExportPointer);
    if (data == NULL || !hip_block_find(memory, &block, &offset) || offset != 0 ||
        block.kind != HIP_PIECE || !block.pool->exportable ||
        (!block.pool->exported && !hip_is_wrong("pool-first"))) {
        return hip_leave(hipErrorInvalidValue);
    }
    piece = (struct piece){POOL_MAGIC, block.file_offset, block.size};
    memset(data, 0, sizeof(*data));
    memcpy(data, &piece, sizeof(piece));
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolImportPointer(void **memory, hipMemPool_t pool,
                                              hipMemPoolPtrExportData *data)
{
    struct hip_block block = {.kind = HIP_IMPORTED};
    hipError_t error = hipErrorInvalidValue;
    struct piece piece;

    HIP_ENTER(hipMemPoolImportPointer);
    if (memory == NULL || data == NULL) {
        return hip_leave(error);
    }
    memcpy(&piece, data, sizeof(piece));
    hip_synchronizing(HIP_CALL_hipMemPoolImportPointer, hip_current(), false);
    pthread_mutex_lock(&hip_memory_lock);
    if (is_pool(pool) && pool->imported && piece.magic == POOL_MAGIC) {
        block.size = (size_t)piece.bytes;
        block.file_offset = piece.file_offset;
        error = piece_add(pool, block, memory);
        if (error == hipSuccess && hip_closed_to_host(hip_blocks)) {
            hip_protect(hip_blocks, false);
        }
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return hip_leave(error);
}
