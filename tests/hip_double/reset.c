/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * reset.c - hipDeviceReset: what this process has on a device is gone
 *
 * Pinned and registered memory and modules belong to the device that was current when they were
 * made, as to a context of CUDA. What was pinned is unmapped: the host faults there, too.
 */
#include "memory.h"

#include <fcntl.h>

/* The pages of device memory, which nobody else has, are not needed any more. */
static void give_back(const struct hip_block *block)
{
    if (block->kind == HIP_DEVICE) {
        (void)fallocate(hip_file_of(block->device), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)block->file_offset, (off_t)block->page_bytes);
    }
}

/* Registered memory stays the program's. */
static void block_reset(struct hip_block *block)
{
    if (block->nics > 0 && !hip_is_wrong("memory-nic")) {
        hip_die("the device is reset, and a NIC has its memory at %p still", (void *)block->base);
    }
    if (block->kind == HIP_REGISTERED) {
        hip_forget(block);
    } else if (block->kind == HIP_CHUNK) {
        hip_chunk_unmap(block);
    } else {
        struct ihipMemPoolHandle_t *pool = block->pool;

        if (hip_closed_to_host(block)) {
            hip_protect(block, true);
        }
        if (block->kind != HIP_IMPORTED && block->kind != HIP_IPC) { /* its owner looks */
            hip_check_margins(block);
        }
        give_back(block);
        hip_unmap(block);
        if (pool != NULL) {
            hip_piece_freed(pool);
        }
    }
}

static struct hip_block *next_of(int device)
{
    struct hip_block *block = hip_blocks;

    while (block != NULL && (block->freed || block->device != device)) {
        block = block->next;
    }
    return block;
}

static void memory_reset(int device)
{
    struct hip_block *block;

    pthread_mutex_lock(&hip_memory_lock);
    while ((block = next_of(device)) != NULL) {
        block_reset(block);
    }
    hip_pools_reset(device);
    hip_chunks_reset(device);
    pthread_mutex_unlock(&hip_memory_lock);
}

static void handles_reset(int device)
{
    pthread_mutex_lock(&hip.lock);
    hip_events_reset(device);
    hip_streams_reset(device);
    for (int peer = 0; peer < HIP_DEVICES; peer++) {
        hip.devices[device].peer[peer] = false;
    }
    pthread_mutex_unlock(&hip.lock);
    hip_modules_reset(device);
}

HIP_EXPORT hipError_t hipDeviceReset(void)
{
    int device = hip_current();

    HIP_ENTER(hipDeviceReset);
    hip_synchronizing(HIP_CALL_hipDeviceReset, device, true);
    if (!hip_is_wrong("reset-handles")) {
        handles_reset(device);
    }
    if (!hip_is_wrong("reset-memory")) {
        memory_reset(device);
    }
    return hip_leave(hipSuccess);
}
