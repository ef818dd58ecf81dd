/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What we use of the interface of CUDA's driver, by its documentation. Handles are pointers, as is
 * CUdeviceptr, which has the size of one; codes and enumerations are int.
 */
#ifndef MPIXQ_CUDA_DRIVER_H
#define MPIXQ_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum {
    MPIXQ_CU_PORTABLE = 1,
    MPIXQ_CU_MAPPED = 2,
    MPIXQ_CU_IO_MEMORY = 4,
    MPIXQ_CU_CONTEXT = 1,
    MPIXQ_CU_MEMORY_TYPE = 2,
    MPIXQ_CU_SYNC_MEMOPS = 6,
    MPIXQ_CU_BUFFER_ID = 7,
    MPIXQ_CU_IS_MANAGED = 8,
    MPIXQ_CU_DEVICE = 9,
    MPIXQ_CU_POOL = 17,
    MPIXQ_CU_BY_FILE = 1,
    MPIXQ_CU_AT_DEVICE = 1,
    MPIXQ_CU_READ_WRITE = 3,
    MPIXQ_CU_MEMORY_DEVICE = 2,
    MPIXQ_CU_BINARY_VERSION = 6, /* of a function */
    MPIXQ_CU_HAS_CONCURRENT_MANAGED = 89,
    MPIXQ_CU_RDMA_ORDERING = 118,
    MPIXQ_CU_ORDERED_FOR_OWNER = 100,
    MPIXQ_CU_ORDERED_FOR_ALL = 200,
    MPIXQ_CU_HAS_64_BIT_VALUES = 122,
    MPIXQ_CU_HAS_MPS = 133,
    MPIXQ_CU_PEERS_HAVE_ACCESS = 2,
    MPIXQ_CU_PEERS_HAVE_ATOMICS = 3,
    MPIXQ_CU_NON_BLOCKING = 1,
    MPIXQ_CU_ENABLE_PEER = 1,
    MPIXQ_CU_WAIT_VALUE_64 = 4,
    MPIXQ_CU_WRITE_VALUE_64 = 5,
    MPIXQ_CU_WAIT_GEQ = 0,
    MPIXQ_CU_PROGRAMMATIC_SERIALIZATION = 6,
    MPIXQ_CU_NOT_CAPTURING = 0,
    MPIXQ_CU_NODE_IS_KERNEL = 0,
    MPIXQ_CU_ADD_DEPENDENCIES = 0,
    MPIXQ_CU_NO_DESTRUCTOR_SYNC = 1,
    MPIXQ_CU_USER_OBJECT_MOVE = 1,
    MPIXQ_CU_INVALID_VALUE = 1,
    MPIXQ_CU_INVALID_CONTEXT = 201,
    MPIXQ_CU_NOT_READY = 600,
    MPIXQ_CU_CONTEXT_IS_DESTROYED = 709,
    MPIXQ_CU_NOT_SUPPORTED = 801,
    MPIXQ_CU_CAPTURE_IMPLICIT = 906
};

/* One operation of a batch: CUstreamBatchMemOpParams for a wait or a write. */
struct mpixq_cuda_value {
    int operation;
    void *address;
    uint64_t value;
    unsigned flags;
    void *alias;
    uint64_t pad;
};

/* CUlaunchConfig, and CUlaunchAttribute with a value that is a number. */
struct mpixq_cuda_launch_attribute {
    int id;
    char pad[4];
    int value[16];
};
struct mpixq_cuda_launch {
    unsigned blocks[3], threads[3], shared_bytes;
    void *stream;
    struct mpixq_cuda_launch_attribute *attributes;
    unsigned n;
};

/* CUuuid; CUipcMemHandle, and CUmemPoolPtrExportData. */
struct mpixq_cuda_uuid {
    char bytes[16];
};
struct mpixq_cuda_handle {
    char reserved[64];
};

/* CUmemLocation and CUmemAccessDesc. */
struct mpixq_cuda_location {
    int type, device;
};
struct mpixq_cuda_access {
    struct mpixq_cuda_location location;
    int flags;
};

struct mpixq_cuda {
    int (*init)(unsigned flags);
    int (*error_string)(int code, const char **text_p);
    int (*current)(void **context_p);
    int (*push)(void *context);
    int (*pop)(void **context_p);
    int (*device)(int *device_p);
    int (*device_count)(int *count_p);
    int (*attribute)(int *value_p, int attribute, int device);
    int (*retain)(void **context_p, int device);
    int (*host_alloc)(void **host_p, size_t bytes, unsigned flags);
    int (*host_free)(void *host);
    int (*address)(void **address_p, void *host, unsigned flags);
    int (*pointer_attributes)(unsigned n, int *attributes, void **values, const void *address);
    int (*load)(void **module_p, const void *code);
    int (*function)(void **function_p, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **parameters, void **extra);
    int (*launch_with)(const struct mpixq_cuda_launch *launch, void *function, void **parameters,
                       void **extra);
    int (*copy)(void *to, const void *from, size_t bytes, void *stream);
    int (*stream_context)(void *stream, void **context_p);
    int (*query)(void *stream);
    int (*is_capturing)(void *stream, int *status_p);
    /* NULL where the driver is too old. */
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
    int (*user_object_release)(void *object, unsigned count);
    int (*retain_user_object)(void *graph, void *object, unsigned count, unsigned flags);
    int (*exchange_mode)(int *mode);
    int (*load_function)(void *function);
    int (*function_attribute)(int *value_p, int attribute, void *function);
    int (*uuid)(struct mpixq_cuda_uuid *uuid_p, int device);
    int (*map)(void *memory, size_t bytes, unsigned flags);
    int (*unmap)(void *memory);
    int (*set_pointer)(const void *value, int attribute, const void *address);
    int (*write)(void *stream, void *address, uint64_t value, unsigned flags);
    int (*batch)(void *stream, unsigned n, struct mpixq_cuda_value *values, unsigned flags);
    int (*device_name)(char *name_p, int room, int device);
    int (*bus_id)(char *id_p, int room, int device);
    int (*between)(int *value_p, int attribute, int from, int to);
    int (*span)(void **base_p, size_t *bytes_p, void *address);
    int (*share)(struct mpixq_cuda_handle *handle_p, void *base);
    int (*open_shared)(void **address_p, struct mpixq_cuda_handle handle, unsigned flags);
    int (*close_shared)(void *address);
    int (*alloc)(void **address_p, size_t bytes);
    int (*free)(void *address);
    int (*zero)(void *address, unsigned char value, size_t bytes, void *stream);
    int (*stream_create)(void **stream_p, unsigned flags);
    int (*finish)(void *stream);
    /* NULL where the driver is too old. */
    int (*idle)(void);
    int (*pool_export)(void *file_p, void *pool, int kind, unsigned long long flags);
    int (*pool_import)(void **pool_p, void *file, int kind, unsigned long long flags);
    int (*pool_access)(int *flags_p, void *pool, struct mpixq_cuda_location *location);
    int (*pool_set_access)(void *pool, const struct mpixq_cuda_access *access, size_t n);
    int (*pool_destroy)(void *pool);
    int (*piece_export)(struct mpixq_cuda_handle *handle_p, void *base);
    int (*piece_import)(void **address_p, void *pool, struct mpixq_cuda_handle *handle);
    int (*chunk_of)(unsigned long long *chunk_p, void *address);
    int (*chunk_release)(unsigned long long chunk);
    int (*chunk_export)(void *file_p, unsigned long long chunk, int kind, unsigned long long flags);
    int (*chunk_import)(unsigned long long *chunk_p, void *file, int kind);
    int (*reserve)(void **address_p, size_t bytes, size_t alignment, void *address,
                   unsigned long long flags);
    int (*unreserve)(void *address, size_t bytes);
    int (*chunk_map)(void *address, size_t bytes, size_t offset, unsigned long long chunk,
                     unsigned long long flags);
    int (*chunk_unmap)(void *address, size_t bytes);
    int (*set_access)(void *address, size_t bytes, const struct mpixq_cuda_access *access,
                      size_t n);
};

extern struct mpixq_cuda mpixq_cuda;

#endif
