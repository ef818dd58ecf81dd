/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory that a share gives to peers, and what it has open of theirs.
 */
#include "share_files.h"
#include "share_internal.h"
#include "stream/gpu_share.h"

const char *mpixq_share_export(const struct mpixq_share *share, const void *buffer, size_t bytes,
                               struct mpixq_gpu_export *export_p, uint64_t *offset_p)
{
    const struct mpixq_gpu *gpu = share->gpu;
    struct mpixq_gpu_export export = {.kind = MPIXQ_SHARED_HANDLE, .file = -1};
    const char *why = NULL;
    void *before, *base;
    size_t room;
    int code = gpu->enter(share->place, &before);

    if (code != 0) {
        return gpu->text(code);
    }
    code = mpixq_gpu_span(gpu, buffer, &base, &room);
    if (code != 0) {
        why = gpu->text(code);
    } else if (mpixq_gpu_share(gpu, base, &export.handle) != 0) {
        why = mpixq_files_export(gpu, mpixq_share_life(share), buffer, bytes, &export);
    }
    gpu->leave(share->place, before);
    if (why == NULL) {
        *export_p = export;
        *offset_p = (uint64_t)((const char *)buffer - (const char *)base);
    }
    return why;
}

uint64_t mpixq_share_allocation_id(const struct mpixq_share *share, const void *buffer)
{
    const struct mpixq_gpu *gpu = share->gpu;
    uint64_t id = 0;
    void *before;

    if (gpu->enter(share->place, &before) == 0) {
        id = mpixq_gpu_allocation_id(gpu, buffer);
        gpu->leave(share->place, before);
    }
    return id;
}

void *mpixq_share_open(const struct mpixq_share *share, const struct mpixq_gpu_owner *owner,
                       const struct mpixq_gpu_export *export, int file, const char **why_p)
{
    const struct mpixq_gpu *gpu = share->gpu;
    void *before, *address = NULL;
    int code = gpu->enter(share->place, &before);

    if (code == 0) {
        code = export->kind == MPIXQ_SHARED_HANDLE
                   ? mpixq_gpu_open_shared(gpu, &export->handle, &address)
                   : mpixq_files_open(gpu, mpixq_share_life(share), owner, export, file, &address);
        gpu->leave(share->place, before);
    }
    if (code != 0) {
        *why_p = gpu->text(code);
    }
    return code == 0 ? address : NULL;
}

void mpixq_share_close(const struct mpixq_share *share, void *address)
{
    void *before;

    if (share->gpu->enter(share->place, &before) == 0) {
        if (!mpixq_files_close(address)) {
            mpixq_gpu_close_shared(share->gpu, address);
        }
        share->gpu->leave(share->place, before);
    }
}

void mpixq_share_forget(void *address)
{
    mpixq_files_forget(address);
}

void *mpixq_share_map(const struct mpixq_share *share, void *memory, size_t bytes,
                      const char **why_p)
{
    const struct mpixq_gpu *gpu = share->gpu;
    void *before, *address = NULL;
    int code = gpu->enter(share->place, &before);

    if (code == 0) {
        code = mpixq_gpu_map(gpu, memory, bytes, false);
        code = code != 0 ? code : mpixq_gpu_address(gpu, memory, &address);
        gpu->leave(share->place, before);
    }
    if (code != 0) {
        *why_p = gpu->text(code);
    }
    return code == 0 ? address : NULL;
}

bool mpixq_share_unmap(const struct mpixq_share *share, void *memory)
{
    void *before;
    int code = share->gpu->enter(share->place, &before);

    if (code == 0) {
        code = mpixq_gpu_unmap(share->gpu, memory);
        share->gpu->leave(share->place, before);
    }
    return code == 0;
}
