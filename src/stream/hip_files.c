/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of pools, and memory that the program maps by itself, as in cuda_files.c. */
#include <string.h>

#include "hip_runtime.h"
#include "hip_share.h"

#define cleared mpixq_hip_cleared

static void *number(int file)
{
    return (void *)(uintptr_t)(unsigned)file;
}

/* That this place reads and writes. */
static int own_access(struct mpixq_hip_access *access_p)
{
    *access_p = (struct mpixq_hip_access){.location.type = MPIXQ_HIP_AT_DEVICE,
                                          .flags = MPIXQ_HIP_READ_WRITE};
    return cleared(mpixq_hip.device(&access_p->location.device));
}

static bool has_pools(void)
{
    return mpixq_hip.pool_export != NULL && mpixq_hip.pool_import != NULL &&
           mpixq_hip.pool_access != NULL && mpixq_hip.pool_set_access != NULL &&
           mpixq_hip.pool_destroy != NULL && mpixq_hip.piece_export != NULL &&
           mpixq_hip.piece_import != NULL && mpixq_hip.pointer_attribute != NULL &&
           mpixq_hip.idle != NULL;
}

static bool has_chunks(void)
{
    return mpixq_hip.chunk_of != NULL && mpixq_hip.chunk_release != NULL &&
           mpixq_hip.chunk_export != NULL && mpixq_hip.chunk_import != NULL &&
           mpixq_hip.reserve != NULL && mpixq_hip.unreserve != NULL &&
           mpixq_hip.chunk_map != NULL && mpixq_hip.chunk_unmap != NULL &&
           mpixq_hip.set_access != NULL && mpixq_hip.idle != NULL;
}

static int pool_of(const void *address, void **pool_p)
{
    void *pool = NULL;
    int code = has_pools() ? mpixq_hip.pointer_attribute(&pool, MPIXQ_HIP_POOL, (void *)address)
                           : MPIXQ_HIP_NOT_SUPPORTED;

    if (code == 0) {
        *pool_p = pool;
    }
    return cleared(code);
}

static int pool_export(void *pool, int *file_p)
{
    return cleared(mpixq_hip.pool_export(file_p, pool, MPIXQ_HIP_BY_FILE, 0));
}

static int piece_export(void *base, struct mpixq_gpu_handle *handle_p)
{
    struct mpixq_hip_handle handle;
    int code = cleared(mpixq_hip.piece_export(&handle, base));

    memcpy(handle_p, &handle, sizeof handle);
    return code;
}

static int pool_import(int file, void **pool_p)
{
    return has_pools() ? cleared(mpixq_hip.pool_import(pool_p, number(file), MPIXQ_HIP_BY_FILE, 0))
                       : MPIXQ_HIP_NOT_SUPPORTED;
}

/* At first the GPU that has the memory reaches it, and no other one. */
static int pool_reach(void *pool)
{
    struct mpixq_hip_access access;
    int flags = 0, code = own_access(&access);

    code = code != 0 ? code : mpixq_hip.pool_access(&flags, pool, &access.location);
    code = code != 0 || flags == MPIXQ_HIP_READ_WRITE ? code
                                                      : mpixq_hip.pool_set_access(pool, &access, 1);
    return cleared(code);
}

static int piece_import(void *pool, const struct mpixq_gpu_handle *handle, void **address_p)
{
    struct mpixq_hip_handle theirs;

    memcpy(&theirs, handle, sizeof theirs);
    return cleared(mpixq_hip.piece_import(address_p, pool, &theirs));
}

static void piece_free(void *address)
{
    (void)cleared(mpixq_hip.idle()); /* the process is about to end, or it is ours */
    (void)cleared(mpixq_hip.free(address));
}

static void pool_free(void *pool)
{
    (void)cleared(mpixq_hip.pool_destroy(pool)); /* likewise */
}

static int chunk_of(const void *address, uint64_t *chunk_p)
{
    void *chunk = NULL;
    int code = has_chunks() ? mpixq_hip.chunk_of(&chunk, (void *)address) : MPIXQ_HIP_NOT_SUPPORTED;

    *chunk_p = (uintptr_t)chunk;
    return cleared(code);
}

static void chunk_release(uint64_t chunk)
{
    (void)cleared(mpixq_hip.chunk_release((void *)(uintptr_t)chunk)); /* it was retained */
}

static int chunk_export(uint64_t chunk, int *file_p)
{
    return cleared(mpixq_hip.chunk_export(file_p, (void *)(uintptr_t)chunk, MPIXQ_HIP_BY_FILE, 0));
}

static int map(void *chunk, void *address, size_t bytes)
{
    struct mpixq_hip_access access;
    int code = own_access(&access);

    code = code != 0 ? code : cleared(mpixq_hip.chunk_map(address, bytes, 0, chunk, 0));
    if (code != 0) {
        return code;
    }
    code = cleared(mpixq_hip.set_access(address, bytes, &access, 1));
    if (code != 0) {
        (void)mpixq_hip.chunk_unmap(address, bytes); /* it was mapped just now */
    }
    return code;
}

static int chunk_map(int file, size_t bytes, void **address_p)
{
    void *chunk, *address;
    int code = has_chunks() ? mpixq_hip.chunk_import(&chunk, number(file), MPIXQ_HIP_BY_FILE)
                            : MPIXQ_HIP_NOT_SUPPORTED;

    if (code != 0) {
        return cleared(code);
    }
    code = cleared(mpixq_hip.reserve(&address, bytes, 0, NULL, 0));
    if (code == 0) {
        code = map(chunk, address, bytes);
        if (code == 0) {
            *address_p = address;
        } else {
            (void)mpixq_hip.unreserve(address, bytes); /* it was reserved just now */
        }
    }
    (void)mpixq_hip.chunk_release(chunk); /* the mapping keeps it */
    return code;
}

static void chunk_unmap(void *address, size_t bytes)
{
    (void)cleared(mpixq_hip.idle()); /* likewise */
    (void)cleared(mpixq_hip.chunk_unmap(address, bytes));
    (void)cleared(mpixq_hip.unreserve(address, bytes));
}

const struct mpixq_gpu_files mpixq_hip_files = {
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
