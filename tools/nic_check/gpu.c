/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu.c - memory of a GPU, by the first of HIP's runtime and CUDA's driver that is there
 */
#include <dlfcn.h>
#include <string.h>

#include "check.h"

static void *first_of(const char *const *names)
{
    void *library = NULL;

    for (int i = 0; names[i] != NULL && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW);
    }
    return library;
}

/* ISO C has no cast from object to function. */
static bool find(void *library, const char *name, void *function_p)
{
    void *address = dlsym(library, name);

    memcpy(function_p, &address, sizeof(address));
    return address != NULL;
}

static void *hip_memory(const void *data, size_t bytes)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so", NULL};
    enum { HOST_TO_DEVICE = 1 };
    void *library = first_of(names), *memory = NULL;
    int (*alloc)(void **memory_p, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);

    if (library == NULL || !find(library, "hipMalloc", &alloc) ||
        !find(library, "hipMemcpy", &copy) || alloc(&memory, bytes) != 0) {
        return NULL;
    }
    return copy(memory, data, bytes, HOST_TO_DEVICE) == 0 ? memory : NULL;
}

static bool cuda_enter(void *library)
{
    int (*init)(unsigned flags);
    int (*retain)(void **context_p, int device);
    int (*use)(void *context);
    void *context = NULL;

    return find(library, "cuInit", &init) && find(library, "cuDevicePrimaryCtxRetain", &retain) &&
           find(library, "cuCtxSetCurrent", &use) && init(0) == 0 && retain(&context, 0) == 0 &&
           use(context) == 0;
}

static void *cuda_memory(const void *data, size_t bytes)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    void *library = first_of(names), *memory = NULL;
    int (*alloc)(void **memory_p, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes);

    if (library == NULL || !cuda_enter(library) || !find(library, "cuMemAlloc_v2", &alloc) ||
        !find(library, "cuMemcpyHtoD_v2", &copy) || alloc(&memory, bytes) != 0) {
        return NULL;
    }
    return copy(memory, data, bytes) == 0 ? memory : NULL;
}

void *gpu_memory(const void *data, size_t bytes, enum fi_hmem_iface *iface_p)
{
    void *memory = hip_memory(data, bytes);

    *iface_p = FI_HMEM_ROCR;
    if (memory == NULL) {
        memory = cuda_memory(data, bytes);
        *iface_p = FI_HMEM_CUDA;
    }
    if (memory == NULL) {
        left_out("no GPU");
    }
    return memory;
}
