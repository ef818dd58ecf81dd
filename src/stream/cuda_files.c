/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of pools, and memory that the program maps by itself. A shareable handle that is a file
 * is given by its address when it is exported, and by its number when it is imported. */
#include <string.h>

#include "cuda_driver.h"
#include "cuda_share.h"

_Static_assert(sizeof(uint64_t) == sizeof(unsigned long long), "chunk");

static void *number(int file)
{
    return (void *)(uintptr_t)(unsigned)file;
}

/* That this place reads and writes. */
static int own_access(struct mpixq_cuda_access *access_p)
{
    *access_p = (struct mpixq_cuda_access){.location.type = MPIXQ_CU_AT_DEVICE,
                                           .flags = MPIXQ_CU_READ_WRITE};
    return mpixq_cuda.device(&access_p->location.device);
}

static bool has_pools(void)
{
    return mpixq_cuda.pool_export != NULL && mpixq_cuda.pool_import != NULL &&
           mpixq_cuda.pool_access != NULL && mpixq_cuda.pool_set_access != NULL &&
           mpixq_cuda.pool_destroy != NULL && mpixq_cuda.piece_export != NULL &&
           mpixq_cuda.piece_import != NULL && mpixq_cuda.idle != NULL;
}

static bool has_chunks(void)
{
    return mpixq_cuda.chunk_of != NULL && mpixq_cuda.chunk_release != NULL &&
           mpixq_cuda.chunk_export != NULL && mpixq_cuda.chunk_import != NULL &&
           mpixq_cuda.reserve != NULL && mpixq_cuda.unreserve != NULL &&
           mpixq_cuda.chunk_map != NULL && mpixq_cuda.chunk_unmap != NULL &&
           mpixq_cuda.set_access != NULL && mpixq_cuda.idle != NULL;
}

static int pool_of(const void *address, void **pool_p)
{
    int attribute = MPIXQ_CU_POOL;
    void *pool = NULL, *value = &pool;
    int code = has_pools() ? mpixq_cuda.pointer_attributes(1, &attribute, &value, address)
                           : MPIXQ_CU_NOT_SUPPORTED;

    if (code == 0) {
        *pool_p = pool;
    }
    return code;
}

static int pool_export(void *pool, int *file_p)
{
    return mpixq_cuda.pool_export(file_p, pool, MPIXQ_CU_BY_FILE, 0);
}

static int piece_export(void *base, struct mpixq_gpu_handle *handle_p)
{
    struct mpixq_cuda_handle handle;
    int code = mpixq_cuda.piece_export(&handle, base);

    memcpy(handle_p, &handle, sizeof handle);
    return code;
}

static int pool_import(int file, void **pool_p)
{
    return has_pools() ? mpixq_cuda.pool_import(pool_p, number(file), MPIXQ_CU_BY_FILE, 0)
                       : MPIXQ_CU_NOT_SUPPORTED;
}

/* At first the GPU that has the memory reaches it, and no other one. */
static int pool_reach(void *pool)
{
    struct mpixq_cuda_access access;
    int flags = 0, code = own_access(&access);

    code = code != 0 ? code : mpixq_cuda.pool_access(&flags, pool, &access.location);
    return code != 0 || flags == MPIXQ_CU_READ_WRITE ? code
                                                     : mpixq_cuda.pool_set_access(pool, &access, 1);
}

static int piece_import(void *pool, const struct mpixq_gpu_handle *handle, void **address_p)
{
    struct mpixq_cuda_handle theirs;

    memcpy(&theirs, handle, sizeof theirs);
    return mpixq_cuda.piece_import(address_p, pool, &theirs);
}

/* To free it does not wait for kernels. */
static void piece_free(void *address)
{
    (void)mpixq_cuda.idle(); /* the context may be gone, and the memory with it */
    (void)mpixq_cuda.free(address);
}

static void pool_free(void *pool)
{
    (void)mpixq_cuda.pool_destroy(pool); /* likewise */
}

static int chunk_of(const void *address, uint64_t *chunk_p)
{
    unsigned long long chunk = 0;
    int code = has_chunks() ? mpixq_cuda.chunk_of(&chunk, (void *)address) : MPIXQ_CU_NOT_SUPPORTED;

    *chunk_p = chunk;
    return code;
}

static void chunk_release(uint64_t chunk)
{
    (void)mpixq_cuda.chunk_release(chunk); /* it was retained; the context may be gone */
}

static int chunk_export(uint64_t chunk, int *file_p)
{
    return mpixq_cuda.chunk_export(file_p, chunk, MPIXQ_CU_BY_FILE, 0);
}

static int map(unsigned long long chunk, void *address, size_t bytes)
{
    struct mpixq_cuda_access access;
    int code = own_access(&access);

    code = code != 0 ? code : mpixq_cuda.chunk_map(address, bytes, 0, chunk, 0);
    if (code != 0) {
        return code;
    }
    code = mpixq_cuda.set_access(address, bytes, &access, 1);
    if (code != 0) {
        (void)mpixq_cuda.chunk_unmap(address, bytes); /* it was mapped just now */
    }
    return code;
}

static int chunk_map(int file, size_t bytes, void **address_p)
{
    unsigned long long chunk;
    void *address;
    int code = has_chunks() ? mpixq_cuda.chunk_import(&chunk, number(file), MPIXQ_CU_BY_FILE)
                            : MPIXQ_CU_NOT_SUPPORTED;

    if (code != 0) {
        return code;
    }
    code = mpixq_cuda.reserve(&address, bytes, 0, NULL, 0);
    if (code == 0) {
        code = map(chunk, address, bytes);
        if (code == 0) {
            *address_p = address;
        } else {
            (void)mpixq_cuda.unreserve(address, bytes); /* it was reserved just now */
        }
    }
    (void)mpixq_cuda.chunk_release(chunk); /* the mapping keeps it */
    return code;
}

static void chunk_unmap(void *address, size_t bytes)
{
    (void)mpixq_cuda.idle(); /* likewise */
    (void)mpixq_cuda.chunk_unmap(address, bytes);
    (void)mpixq_cuda.unreserve(address, bytes);
}

const struct mpixq_gpu_files mpixq_cuda_files = {
    .pool_of = pool_of,
    .pool_export = pool_export,
    .piece_export = piece_export,
    .pool_import = pool_import,
    .pool_reach = pool_reach,
    .piece_import = piece_import,
    .piece_free = piece_free,
    .pool_free = pool_free,
    .chunk_of = chunk_of,
    .chunk_release = chunk_release,
    .chunk_export = chunk_export,
    .chunk_map = chunk_map,
    .chunk_unmap = chunk_unmap,
};
