/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of pools, and memory that the program maps by itself. A shareable handle that is a file
 * is given by its address when it is exported, and by its number when it is imported. */
#include "gpu_files.h"

#include "gpu_calls.h"

static void *number(int file)
{
    return (void *)(uintptr_t)(unsigned)file;
}

static void *handle_of(uint64_t chunk)
{
    return (void *)(uintptr_t)chunk;
}

/* That this place reads and writes. */
static int own_access(const struct mpixq_gpu *gpu, struct mpixq_gpu_access *access_p)
{
    *access_p = (struct mpixq_gpu_access){.location.type = MPIXQ_GPU_AT_DEVICE,
                                          .flags = MPIXQ_GPU_READ_WRITE};
    return mpixq_gpu_cleared(gpu, gpu->calls->device(&access_p->location.device));
}

static bool has_pools(const struct mpixq_gpu_calls *calls)
{
    return calls->pool_export != NULL && calls->pool_import != NULL && calls->pool_access != NULL &&
           calls->pool_set_access != NULL && calls->pool_destroy != NULL &&
           calls->piece_export != NULL && calls->piece_import != NULL && calls->idle != NULL;
}

static bool has_chunks(const struct mpixq_gpu_calls *calls)
{
    return calls->chunk_of != NULL && calls->chunk_release != NULL && calls->chunk_export != NULL &&
           calls->chunk_import != NULL && calls->reserve != NULL && calls->unreserve != NULL &&
           calls->chunk_map != NULL && calls->chunk_unmap != NULL && calls->set_access != NULL &&
           calls->idle != NULL;
}

int mpixq_gpu_pool_of(const struct mpixq_gpu *gpu, const void *address, void **pool_p)
{
    void *pool = NULL;
    int code = has_pools(gpu->calls) ? gpu->ask_pointer(address, MPIXQ_GPU_POOL, &pool)
                                     : MPIXQ_GPU_NOT_SUPPORTED;

    if (code == 0) {
        *pool_p = pool;
    }
    return code;
}

int mpixq_gpu_pool_export(const struct mpixq_gpu *gpu, void *pool, int *file_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->pool_export(file_p, pool, MPIXQ_GPU_BY_FILE, 0));
}

int mpixq_gpu_piece_export(const struct mpixq_gpu *gpu, void *base,
                           struct mpixq_gpu_handle *handle_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->piece_export(handle_p, base));
}

int mpixq_gpu_pool_import(const struct mpixq_gpu *gpu, int file, void **pool_p)
{
    return has_pools(gpu->calls)
               ? mpixq_gpu_cleared(
                     gpu, gpu->calls->pool_import(pool_p, number(file), MPIXQ_GPU_BY_FILE, 0))
               : MPIXQ_GPU_NOT_SUPPORTED;
}

/* At first the GPU that has the memory reaches it, and no other one. */
int mpixq_gpu_pool_reach(const struct mpixq_gpu *gpu, void *pool)
{
    struct mpixq_gpu_access access;
    int flags = 0, code = own_access(gpu, &access);

    code = code != 0 ? code : gpu->calls->pool_access(&flags, pool, &access.location);
    code = code != 0 || flags == MPIXQ_GPU_READ_WRITE
               ? code
               : gpu->calls->pool_set_access(pool, &access, 1);
    return mpixq_gpu_cleared(gpu, code);
}

int mpixq_gpu_piece_import(const struct mpixq_gpu *gpu, void *pool,
                           const struct mpixq_gpu_handle *handle, void **address_p)
{
    struct mpixq_gpu_handle theirs = *handle;

    return mpixq_gpu_cleared(gpu, gpu->calls->piece_import(address_p, pool, &theirs));
}

/* To free it does not wait for kernels. The place may be gone, and what was there with it, here as
 * below. */
void mpixq_gpu_piece_free(const struct mpixq_gpu *gpu, void *address)
{
    (void)mpixq_gpu_cleared(gpu, gpu->calls->idle());
    (void)mpixq_gpu_cleared(gpu, gpu->calls->free(address));
}

void mpixq_gpu_pool_free(const struct mpixq_gpu *gpu, void *pool)
{
    (void)mpixq_gpu_cleared(gpu, gpu->calls->pool_destroy(pool));
}

int mpixq_gpu_chunk_of(const struct mpixq_gpu *gpu, const void *address, uint64_t *chunk_p)
{
    void *chunk = NULL;
    int code = has_chunks(gpu->calls)
                   ? mpixq_gpu_cleared(gpu, gpu->calls->chunk_of(&chunk, (void *)address))
                   : MPIXQ_GPU_NOT_SUPPORTED;

    *chunk_p = (uintptr_t)chunk;
    return code;
}

void mpixq_gpu_chunk_release(const struct mpixq_gpu *gpu, uint64_t chunk)
{
    (void)mpixq_gpu_cleared(gpu, gpu->calls->chunk_release(handle_of(chunk)));
}

int mpixq_gpu_chunk_export(const struct mpixq_gpu *gpu, uint64_t chunk, int *file_p)
{
    return mpixq_gpu_cleared(
        gpu, gpu->calls->chunk_export(file_p, handle_of(chunk), MPIXQ_GPU_BY_FILE, 0));
}

static int map(const struct mpixq_gpu *gpu, void *chunk, void *address, size_t bytes)
{
    struct mpixq_gpu_access access;
    int code = own_access(gpu, &access);

    code = code != 0 ? code
                     : mpixq_gpu_cleared(gpu, gpu->calls->chunk_map(address, bytes, 0, chunk, 0));
    if (code != 0) {
        return code;
    }
    code = mpixq_gpu_cleared(gpu, gpu->calls->set_access(address, bytes, &access, 1));
    if (code != 0) {
        (void)gpu->calls->chunk_unmap(address, bytes); /* it was mapped just now */
    }
    return code;
}

int mpixq_gpu_chunk_map(const struct mpixq_gpu *gpu, int file, size_t bytes, void **address_p)
{
    const struct mpixq_gpu_calls *calls = gpu->calls;
    void *chunk, *address;
    int code = has_chunks(calls) ? calls->chunk_import(&chunk, number(file), MPIXQ_GPU_BY_FILE)
                                 : MPIXQ_GPU_NOT_SUPPORTED;

    if (code != 0) {
        return mpixq_gpu_cleared(gpu, code);
    }
    code = mpixq_gpu_cleared(gpu, calls->reserve(&address, bytes, 0, NULL, 0));
    if (code == 0) {
        code = map(gpu, chunk, address, bytes);
        if (code == 0) {
            *address_p = address;
        } else {
            (void)calls->unreserve(address, bytes); /* it was reserved just now */
        }
    }
    (void)calls->chunk_release(chunk); /* the mapping keeps it */
    return code;
}

void mpixq_gpu_chunk_unmap(const struct mpixq_gpu *gpu, void *address, size_t bytes)
{
    (void)mpixq_gpu_cleared(gpu, gpu->calls->idle());
    (void)mpixq_gpu_cleared(gpu, gpu->calls->chunk_unmap(address, bytes));
    (void)mpixq_gpu_cleared(gpu, gpu->calls->unreserve(address, bytes));
}
