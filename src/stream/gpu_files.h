/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory that a process gives to others by a file. Any of this may not be there, and is an error
 * then. Two kinds have no handle: pieces of a pool, from which the library allocates in the order
 * of streams, and chunks, which the program maps to addresses by itself. Both vendors do this in
 * the same way (gpu.h).
 */
#ifndef MPIXQ_GPU_FILES_H
#define MPIXQ_GPU_FILES_H

#include "gpu.h"

/* The pool that the memory at an address is a piece of; NULL: none. */
int mpixq_gpu_pool_of(const struct mpixq_gpu *gpu, const void *address, void **pool_p);
int mpixq_gpu_pool_export(const struct mpixq_gpu *gpu, void *pool, int *file_p);
int mpixq_gpu_piece_export(const struct mpixq_gpu *gpu, void *base,
                           struct mpixq_gpu_handle *handle_p);
int mpixq_gpu_pool_import(const struct mpixq_gpu *gpu, int file, void **pool_p);
/* Let kernels of this place reach what comes from it. */
int mpixq_gpu_pool_reach(const struct mpixq_gpu *gpu, void *pool);
int mpixq_gpu_piece_import(const struct mpixq_gpu *gpu, void *pool,
                           const struct mpixq_gpu_handle *handle, void **address_p);
void mpixq_gpu_piece_free(const struct mpixq_gpu *gpu, void *address); /* when the GPU is idle */
void mpixq_gpu_pool_free(const struct mpixq_gpu *gpu, void *pool);

/* The chunk that is mapped at an address; it is kept until it is released. */
int mpixq_gpu_chunk_of(const struct mpixq_gpu *gpu, const void *address, uint64_t *chunk_p);
void mpixq_gpu_chunk_release(const struct mpixq_gpu *gpu, uint64_t chunk);
int mpixq_gpu_chunk_export(const struct mpixq_gpu *gpu, uint64_t chunk, int *file_p);
/* So many bytes of one, for kernels of this place; and back, when the GPU is idle. */
int mpixq_gpu_chunk_map(const struct mpixq_gpu *gpu, int file, size_t bytes, void **address_p);
void mpixq_gpu_chunk_unmap(const struct mpixq_gpu *gpu, void *address, size_t bytes);

#endif
