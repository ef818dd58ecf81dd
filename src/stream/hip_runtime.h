/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What we use of the interface of HIP's runtime, by its documentation. Handles are pointers; codes
 * and enumerations are int.
 */
#ifndef MPIXQ_HIP_RUNTIME_H
#define MPIXQ_HIP_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

enum {
    MPIXQ_HIP_PORTABLE = 1,
    MPIXQ_HIP_MAPPED = 2,
    MPIXQ_HIP_IO_MEMORY = 4,
    MPIXQ_HIP_COHERENT = 0x40000000,
    MPIXQ_HIP_SIGNAL_MEMORY = 2,
    MPIXQ_HIP_SYNC_MEMOPS = 6,
    MPIXQ_HIP_BUFFER_ID = 7,
    MPIXQ_HIP_POOL = 17,
    MPIXQ_HIP_BY_FILE = 1,
    MPIXQ_HIP_AT_DEVICE = 1,
    MPIXQ_HIP_READ_WRITE = 3,
    MPIXQ_HIP_RDMA_ORDERING = 99,
    MPIXQ_HIP_ORDERED_FOR_OWNER = 100,
    MPIXQ_HIP_ORDERED_FOR_ALL = 200,
    MPIXQ_HIP_FINE_GRAINED = 1,
    MPIXQ_HIP_UNCACHED = 3, /* from version 6 on */
    MPIXQ_HIP_PEERS_HAVE_ACCESS = 1,
    MPIXQ_HIP_PEERS_HAVE_ATOMICS = 2,
    MPIXQ_HIP_NON_BLOCKING = 1,
    MPIXQ_HIP_ENABLE_PEER = 0, /* 1 in newer versions */
    MPIXQ_HIP_INVALID_VALUE = 1,
    MPIXQ_HIP_HAS_WAIT_VALUE = 10013,
    MPIXQ_HIP_WAIT_GEQ = 0,
    MPIXQ_HIP_COPY_DEFAULT = 4,
    MPIXQ_HIP_NOT_CAPTURING = 0,
    MPIXQ_HIP_ADD_DEPENDENCIES = 0,
    MPIXQ_HIP_NO_DESTRUCTOR_SYNC = 1,
    MPIXQ_HIP_USER_OBJECT_MOVE = 1,
    MPIXQ_HIP_NOT_READY = 600,
    MPIXQ_HIP_NOT_SUPPORTED = 801,
    MPIXQ_HIP_CAPTURE_IMPLICIT = 906,
    /* Types of memory were renumbered in version 6. */
    MPIXQ_HIP_VERSION_6 = 60000000,
    MPIXQ_HIP_5_DEVICE = 1,
    MPIXQ_HIP_6_DEVICE = 2
};

/* hipPointerAttribute_t; the fields have kept their places. */
struct mpixq_hip_pointer {
    int type;
    int device;
    void *device_address, *host_address;
    int is_managed;
    unsigned flags;
};

/* hipIpcMemHandle_t, and hipMemPoolPtrExportData. */
struct mpixq_hip_handle {
    char reserved[64];
};

/* hipMemLocation and hipMemAccessDesc. */
struct mpixq_hip_location {
    int type, device;
};
struct mpixq_hip_access {
    struct mpixq_hip_location location;
    int flags;
};

struct mpixq_hip {
    int (*version)(int *version_p);
    const char *(*error_string)(int code);
    int (*last_error)(void);
    int (*device_count)(int *count_p);
    int (*device)(int *device_p);
    int (*set_device)(int device);
    int (*attribute)(int *value_p, int attribute, int device);
    int (*host_alloc)(void **host_p, size_t bytes, unsigned flags);
    int (*host_free)(void *host);
    int (*address)(void **address_p, void *host, unsigned flags);
    int (*alloc)(void **address_p, size_t bytes, unsigned flags);
    int (*free)(void *address);
    int (*pointer_attributes)(struct mpixq_hip_pointer *attributes_p, const void *address);
    int (*load)(void **module_p, const void *code);
    int (*function)(void **function_p, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **parameters, void **extra);
    int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*query)(void *stream);
    int (*write)(void *stream, void *address, uint64_t value, unsigned flags);
    int (*wait)(void *stream, void *address, uint64_t value, unsigned flags, uint64_t mask);
    /* NULL where the runtime is too old. */
    int (*capture_info)(void *stream, int *status_p, unsigned long long *id_p, void **graph_p,
                        void *const **after_p, size_t *n_p);
    int (*capture_after)(void *stream, void **nodes, size_t n, unsigned flags);
    int (*user_object)(void **object_p, void *data, void (*destroy)(void *data), unsigned count,
                       unsigned flags);
    int (*retain_user_object)(void *graph, void *object, unsigned count, unsigned flags);
    int (*exchange_mode)(int *mode);
    int (*properties)(void *properties_p, int device);
    int (*new_properties)(void *properties_p,
                          int device); /* another structure, from version 6 on */
    int (*bus_id)(char *id_p, int room, int device);
    int (*map)(void *memory, size_t bytes, unsigned flags);
    int (*unmap)(void *memory);
    int (*pointer_attribute)(void *value_p, int attribute, void *address);
    int (*set_pointer)(const void *value, int attribute, void *address);
    int (*flush)(int target, int scope); /* never called: that it is there says something */
    int (*stream_device)(void *stream, int *device_p);
    int (*is_capturing)(void *stream, int *status_p);
    int (*device_name)(char *name_p, int room, int device);
    int (*between)(int *value_p, int attribute, int from, int to);
    int (*span)(void **base_p, size_t *bytes_p, void *address);
    int (*share)(struct mpixq_hip_handle *handle_p, void *base);
    int (*open_shared)(void **address_p, struct mpixq_hip_handle handle, unsigned flags);
    int (*close_shared)(void *address);
    int (*zero)(void *address, int value, size_t bytes, void *stream);
    int (*stream_create)(void **stream_p, unsigned flags);
    int (*finish)(void *stream);
    /* NULL where the runtime is too old. */
    int (*idle)(void);
    int (*pool_export)(void *file_p, void *pool, int kind, unsigned flags);
    int (*pool_import)(void **pool_p, void *file, int kind, unsigned flags);
    int (*pool_access)(int *flags_p, void *pool, struct mpixq_hip_location *location);
    int (*pool_set_access)(void *pool, const struct mpixq_hip_access *access, size_t n);
    int (*pool_destroy)(void *pool);
    int (*piece_export)(struct mpixq_hip_handle *handle_p, void *base);
    int (*piece_import)(void **address_p, void *pool, struct mpixq_hip_handle *handle);
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
    int (*set_access)(void *address, size_t bytes, const struct mpixq_hip_access *access, size_t n);
};

extern struct mpixq_hip mpixq_hip;
/* A failure leaves a note for hipGetLastError, where the program would take it for its own. */
int mpixq_hip_cleared(int code);
extern const char *const mpixq_hip_libraries[]; /* ends with NULL */

/* hiprtc, the compiler: a part of the runtime, or a library beside it. Its codes are its own. */
struct mpixq_hiprtc {
    int (*create)(void **program_p, const char *source, const char *name, int n_headers,
                  const char **headers, const char **names);
    int (*compile)(void *program, int n_options, const char **options);
    int (*log_size)(void *program, size_t *bytes_p);
    int (*log)(void *program, char *log_p);
    int (*code_size)(void *program, size_t *bytes_p);
    int (*code)(void *program, char *code_p);
    int (*destroy)(void **program_p);
};

extern struct mpixq_hiprtc mpixq_hiprtc;

/* allocation_id and compile of struct mpixq_gpu. */
uint64_t mpixq_hip_allocation_id(const void *address);
void *mpixq_hip_compile(const char **why_p);

#endif
