/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What we use of the interface of CUDA's driver, by its documentation, beside what HIP's runtime
 * has as well (gpu_calls.h).
 */
#ifndef MPIXQ_CUDA_DRIVER_H
#define MPIXQ_CUDA_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_calls.h"
#include "gpu_library.h"

enum {
    MPIXQ_CU_CONTEXT = 1,
    MPIXQ_CU_MEMORY_TYPE = 2,
    MPIXQ_CU_IS_MANAGED = 8,
    MPIXQ_CU_DEVICE = 9,
    MPIXQ_CU_MEMORY_DEVICE = 2,
    MPIXQ_CU_HAS_CONCURRENT_MANAGED = 89,
    MPIXQ_CU_RDMA_ORDERING = 118,
    MPIXQ_CU_HAS_64_BIT_VALUES = 122,
    MPIXQ_CU_HAS_MPS = 133,
    MPIXQ_CU_PEERS_HAVE_ACCESS = 2,
    MPIXQ_CU_PEERS_HAVE_ATOMICS = 3,
    MPIXQ_CU_ENABLE_PEER = 1,
    MPIXQ_CU_WAIT_VALUE_64 = 4,
    MPIXQ_CU_WRITE_VALUE_64 = 5,
    MPIXQ_CU_INVALID_CONTEXT = 201,
    MPIXQ_CU_CONTEXT_IS_DESTROYED = 709
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

/* CUuuid. */
struct mpixq_cuda_uuid {
    char bytes[16];
};

/* NVML, the driver's library of management (cuda_nvml.c). */
struct mpixq_nvml {
    pthread_once_t once;
    bool found;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, void **device_p);
    int (*between)(void *one, void *other, int what, int *status_p);
};

struct mpixq_cuda {
    struct mpixq_gpu_library library;
    struct mpixq_gpu_calls both;
    int (*init)(unsigned flags);
    int (*error_string)(int code, const char **text_p);
    int (*current)(void **context_p);
    int (*push)(void *context);
    int (*pop)(void **context_p);
    int (*retain)(void **context_p, int device);
    int (*pointer_attributes)(unsigned n, int *attributes, void **values, const void *address);
    int (*copy)(void *to, const void *from, size_t bytes, void *stream);
    int (*stream_context)(void *stream, void **context_p);
    int (*uuid)(struct mpixq_cuda_uuid *uuid_p, int device);
    int (*batch)(void *stream, unsigned n, struct mpixq_cuda_value *values, unsigned flags);
    int (*alloc)(void **address_p, size_t bytes);
    struct mpixq_nvml nvml;
};

extern struct mpixq_cuda mpixq_cuda;
extern const char *const mpixq_cuda_libraries[]; /* ends with NULL */

/* find of struct mpixq_gpu. */
bool mpixq_cuda_find(bool load);

#endif
