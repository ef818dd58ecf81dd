/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * memory.h - what memory.c shares with ops.c, pools.c and chunks.c
 */
#ifndef HIP_DOUBLE_MEMORY_H
#define HIP_DOUBLE_MEMORY_H

#include "double.h"

enum { PAGE = 4096, ALIGNMENT = 256, FILL = 0xdb };

/* Set in addresses for devices of memory that is moved: no address of a program has it. */
#define MOVED ((uintptr_t)1 << 56)

extern pthread_mutex_t hip_memory_lock;
/* Under it, as are the functions. Those that live come first, and then the freed ones. */
extern struct hip_block *hip_blocks;
extern int hip_freed; /* of them, kept as what was there */

static inline size_t hip_round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* The live block of an address, for the host or for devices. */
struct hip_block *hip_find(const void *address, bool *moved_p);
/* The file that is a device's memory, or -1. */
int hip_file_of(int device);
/* Can only devices reach such memory? */
bool hip_of_device(enum hip_kind kind);
bool hip_closed_to_host(const struct hip_block *block);
char *hip_map_pages(size_t bytes, int file, uint64_t file_offset);
void hip_protect(const struct hip_block *block, bool open);
/* ops.c: fill memory that was not written. That of a device by its file, so that no page of it is
 * mapped: to change the rights of some twenty MiB of pages, which the channel ipc has and hardly
 * uses, takes longer than what is tested. */
void hip_fill_new(const struct hip_block *block, int file);
void hip_add(struct hip_block *block);
void hip_forget(struct hip_block *block);
/* Neither host nor devices reach it any more. */
void hip_unmap(struct hip_block *block);
/* Is what is beside it as it was? */
void hip_check_margins(const struct hip_block *block);

/* pools.c: a piece of a pool was freed. */
void hip_piece_freed(struct ihipMemPoolHandle_t *pool);
void hip_pools_reset(int device);
/* chunks.c: a mapping ends; the chunk stays while somebody has it. */
void hip_chunk_unmap(struct hip_block *block);
void hip_chunks_reset(int device);
/* Devices that reach what comes from a pool, a bit for each. */
uint32_t hip_pool_reach(const struct ihipMemPoolHandle_t *pool);

#endif
