/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A part of the table for a vendor (gpu.h).
 */
#ifndef MPIXQ_GPU_FILES_H
#define MPIXQ_GPU_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Memory of a GPU, for another process to open. */
struct mpixq_gpu_handle {
    unsigned char bytes[64];
};

/* Memory that a process gives to others by a file. Any of this may not be there, and is an error
 * then. Two kinds have no handle: pieces of a pool, from which the library allocates in the order
 * of streams, and chunks, which the program maps to addresses by itself. */
struct mpixq_gpu_files {
    /* The pool that the memory at an address is a piece of; NULL: none. */
    int (*pool_of)(const void *address, void **pool_p);
    int (*pool_export)(void *pool, int *file_p);
    int (*piece_export)(void *base, struct mpixq_gpu_handle *handle_p);
    int (*pool_import)(int file, void **pool_p);
    /* Let kernels of this place reach what comes from it. */
    int (*pool_reach)(void *pool);
    int (*piece_import)(void *pool, const struct mpixq_gpu_handle *handle, void **address_p);
    void (*piece_free)(void *address); /* waits until the GPU is idle */
    void (*pool_free)(void *pool);

    /* The chunk that is mapped at an address; it is kept until it is released. */
    int (*chunk_of)(const void *address, uint64_t *chunk_p);
    void (*chunk_release)(uint64_t chunk);
    int (*chunk_export)(uint64_t chunk, int *file_p);
    /* So many bytes of one, for kernels of this place. */
    int (*chunk_map)(int file, size_t bytes, void **address_p);
    void (*chunk_unmap)(void *address, size_t bytes); /* waits until the GPU is idle */
};

#endif
