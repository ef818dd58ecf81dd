/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What we use of both CUDA's driver and HIP's runtime, by their documentation: calls that take the
 * same and do the same. Handles are pointers, as are CUdeviceptr and the handles of chunks, which
 * have the size of one; codes and enumerations are int; what one of them has as a smaller number
 * travels as the other's.
 */
#ifndef MPIXQ_GPU_CALLS_H
#define MPIXQ_GPU_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* The same numbers in both. */
enum {
    MPIXQ_GPU_PORTABLE = 1,
    MPIXQ_GPU_MAPPED = 2,
    MPIXQ_GPU_IO_MEMORY = 4,
    MPIXQ_GPU_NON_BLOCKING = 1,
    MPIXQ_GPU_SYNC_MEMOPS = 6,
    MPIXQ_GPU_BUFFER_ID = 7,
    MPIXQ_GPU_POOL = 17,
    MPIXQ_GPU_BY_FILE = 1,
    MPIXQ_GPU_AT_DEVICE = 1,
    MPIXQ_GPU_READ_WRITE = 3,
    MPIXQ_GPU_ORDERED_FOR_OWNER = 100,
    MPIXQ_GPU_ORDERED_FOR_ALL = 200,
    MPIXQ_GPU_WAIT_GEQ = 0,
    MPIXQ_GPU_RELAXED = 2,
    MPIXQ_GPU_NOT_CAPTURING = 0,
    MPIXQ_GPU_ADD_DEPENDENCIES = 0,
    MPIXQ_GPU_NO_DESTRUCTOR_SYNC = 1,
    MPIXQ_GPU_USER_OBJECT_MOVE = 1,
    MPIXQ_GPU_INVALID_VALUE = 1,
    MPIXQ_GPU_NOT_READY = 600,
    MPIXQ_GPU_NOT_SUPPORTED = 801,
    MPIXQ_GPU_CAPTURE_IMPLICIT = 906,
    /* Of CUDA, for calls that HIP does not have. */
    MPIXQ_GPU_BINARY_VERSION = 6, /* of a function */
    MPIXQ_GPU_PROGRAMMATIC_SERIALIZATION = 6,
    MPIXQ_GPU_NODE_IS_KERNEL = 0
};

/* CUlaunchConfig, and CUlaunchAttribute with a value that is a number. */
struct mpixq_gpu_launch_attribute {
    int id;
    char pad[4];
    int value[16];
};
struct mpixq_gpu_launch {
    unsigned blocks[3], threads[3], shared_bytes;
    void *stream;
    struct mpixq_gpu_launch_attribute *attributes;
    unsigned n;
};

/* Memory of a GPU, for another process to open: CUipcMemHandle, CUmemPoolPtrExportData. */
struct mpixq_gpu_handle {
    unsigned char bytes[64];
};

/* CUmemLocation and CUmemAccessDesc. */
struct mpixq_gpu_location {
    int type, device;
};
struct mpixq_gpu_access {
    struct mpixq_gpu_location location;
    int flags;
};

struct mpixq_gpu_calls {
    int (*device_count)(int *count_p);
    int (*device)(int *device_p);
    int (*attribute)(int *value_p, int attribute, int device);
    int (*host_alloc)(void **host_p, size_t bytes, unsigned flags);
    int (*host_free)(void *host);
    int (*address)(void **address_p, void *host, unsigned flags);
    int (*free)(void *address);
    int (*load)(void **module_p, const void *code);
    int (*function)(void **function_p, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **parameters, void **extra);
    int (*query)(void *stream);
    int (*zero)(void *address, int value, size_t bytes, void *stream);
    int (*stream_create)(void **stream_p, unsigned flags);
    int (*finish)(void *stream);
    /* NULL where the library is too old, or does not have it at all. */
    int (*last_error)(void); /* forgets the last failure */
    int (*launch_with)(const struct mpixq_gpu_launch *launch, void *function, void **parameters,
                       void **extra);
    int (*load_function)(void *function);
    int (*function_attribute)(int *value_p, int attribute, void *function);
    int (*write)(void *stream, void *address, uint64_t value, unsigned flags);
    int (*is_capturing)(void *stream, int *status_p);
    int (*capture_info)(void *stream, int *status_p, uint64_t *id_p, void **graph_p,
                        void *const **after_p, size_t *n_p);
    int (*capture_info_new)(void *stream, int *status_p, uint64_t *id_p, void **graph_p,
                            void *const **after_p, const void **edges_p, size_t *n_p);
    int (*capture_after)(void *stream, void **nodes, size_t n, unsigned flags);
    int (*capture_after_new)(void *stream, void **nodes, const void *edges, size_t n,
                             unsigned flags);
    int (*node_type)(void *node, int *type_p);
    int (*user_object)(void **object_p, void *data, void (*destroy)(void *data), unsigned count,
                       unsigned flags);
    int (*retain_user_object)(void *graph, void *object, unsigned count, unsigned flags);
    int (*exchange_mode)(int *mode);
    int (*map)(void *memory, size_t bytes, unsigned flags);
    int (*unmap)(void *memory);
    int (*set_pointer)(const void *value, int attribute, const void *address);
    int (*device_name)(char *name_p, int room, int device);
    int (*bus_id)(char *id_p, int room, int device);
    int (*between)(int *value_p, int attribute, int from, int to);
    int (*span)(void **base_p, size_t *bytes_p, void *address);
    int (*share)(struct mpixq_gpu_handle *handle_p, void *base);
    int (*open_shared)(void **address_p, struct mpixq_gpu_handle handle, unsigned flags);
    int (*close_shared)(void *address);
    int (*idle)(void);
    int (*pool_export)(void *file_p, void *pool, int kind, unsigned long long flags);
    int (*pool_import)(void **pool_p, void *file, int kind, unsigned long long flags);
    int (*pool_access)(int *flags_p, void *pool, struct mpixq_gpu_location *location);
    int (*pool_set_access)(void *pool, const struct mpixq_gpu_access *access, size_t n);
    int (*pool_destroy)(void *pool);
    int (*piece_export)(struct mpixq_gpu_handle *handle_p, void *base);
    int (*piece_import)(void **address_p, void *pool, struct mpixq_gpu_handle *handle);
    int (*chunk_of)(void **chunk_p, void *address);
    int (*chunk_release)(void *chunk);
    int (*chunk_export)(void *file_p, void *chunk, int kind, unsigned long long flags);
    int (*chunk_import)(void **chunk_p, void *file, int kind);
    int (*reserve)(void **address_p, size_t bytes, size_t alignment, void *address,
                   unsigned long long flags);
    int (*unreserve)(void *address, size_t bytes);
    int (*chunk_map)(void *address, size_t bytes, size_t offset, void *chunk,
                     unsigned long long flags);
    int (*chunk_unmap)(void *address, size_t bytes);
    int (*set_access)(void *address, size_t bytes, const struct mpixq_gpu_access *access, size_t n);
};

#endif
