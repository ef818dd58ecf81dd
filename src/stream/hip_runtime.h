/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What we use of the interface of HIP's runtime, by its documentation, beside what CUDA's driver
 * has as well (gpu_calls.h).
 */
#ifndef MPIXQ_HIP_RUNTIME_H
#define MPIXQ_HIP_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_calls.h"
#include "gpu_library.h"

enum {
    MPIXQ_HIP_COHERENT = 0x40000000,
    MPIXQ_HIP_SIGNAL_MEMORY = 2,
    MPIXQ_HIP_RDMA_ORDERING = 99,
    MPIXQ_HIP_FINE_GRAINED = 1,
    MPIXQ_HIP_UNCACHED = 3, /* from version 6 on */
    MPIXQ_HIP_PEERS_HAVE_ACCESS = 1,
    MPIXQ_HIP_PEERS_HAVE_ATOMICS = 2,
    MPIXQ_HIP_ENABLE_PEER = 0, /* 1 in newer versions */
    MPIXQ_HIP_HAS_WAIT_VALUE = 10013,
    MPIXQ_HIP_COPY_DEFAULT = 4,
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

struct mpixq_hip {
    struct mpixq_gpu_library library;
    struct mpixq_gpu_calls both;
    int (*version)(int *version_p);
    const char *(*error_string)(int code);
    int (*set_device)(int device);
    int (*alloc)(void **address_p, size_t bytes, unsigned flags);
    int (*pointer_attributes)(struct mpixq_hip_pointer *attributes_p, const void *address);
    int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*wait)(void *stream, void *address, uint64_t value, unsigned flags, uint64_t mask);
    int (*properties)(void *properties_p, int device);
    int (*new_properties)(void *properties_p,
                          int device); /* another structure, from version 6 on */
    int (*pointer_attribute)(void *value_p, int attribute, void *address);
    int (*flush)(int target, int scope); /* never called: that it is there says something */
    int (*stream_device)(void *stream, int *device_p);
    struct mpixq_hiprtc compiler; /* what was found of it, once it was looked for */
    /* Constant once the runtime is found. */
    int n_devices;
    int of_device; /* value of a pointer's type */
};

extern struct mpixq_hip mpixq_hip;
extern const char *const mpixq_hip_libraries[]; /* ends with NULL */

/* find and compile of struct mpixq_gpu. */
bool mpixq_hip_find(bool load);
void *mpixq_hip_compile(const char **why_p);

#endif
