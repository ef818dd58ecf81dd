/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * find.c - which allocation an address is of */
#include "memory.h"

/* What is found comes to the front, as it is likely to be what is looked for next. */
static struct hip_block *bring_forward(struct hip_block **place)
{
    struct hip_block *block = *place;

    *place = block->next;
    block->next = hip_blocks;
    hip_blocks = block;
    return block;
}

struct hip_block *hip_find(const void *address, bool *moved_p)
{
    uintptr_t within = (uintptr_t)address & ~MOVED;
    bool moved = ((uintptr_t)address & MOVED) != 0;

    for (struct hip_block **place = &hip_blocks; *place != NULL && !(*place)->freed;
         place = &(*place)->next) {
        const struct hip_block *block = *place;
        uintptr_t base = (uintptr_t)block->base;

        if (within >= base && within < base + block->size && (!moved || block->moved)) {
            *moved_p = moved;
            return bring_forward(place);
        }
    }
    return NULL;
}

bool hip_block_find(const void *address, struct hip_block *block_p, size_t *offset_p)
{
    const struct hip_block *block;
    bool moved;

    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(address, &moved);
    if (block != NULL) {
        *block_p = *block;
        *offset_p = ((uintptr_t)address & ~MOVED) - (uintptr_t)block->base;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return block != NULL;
}

void *hip_moved(const struct hip_block *block, size_t offset)
{
    return (void *)((uintptr_t)(block->base + offset) | (block->moved ? MOVED : 0));
}
