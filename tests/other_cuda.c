/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Takes the place of CUDA's driver in a program that uses another vendor's GPUs (gpu_vendors.c): it
 * was initialised, has no device, and knows of no memory and no stream.
 */
#include <stddef.h>

#include "stream/cuda_driver.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_HANDLE = 400 };

#define EXPORT __attribute__((visibility("default")))
/* Whoever calls these passes more, which nobody reads. */
#define FAILS(name, code)                                                                          \
    EXPORT int name(void);                                                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return code;                                                                               \
    }

EXPORT int cuInit(unsigned flags);
EXPORT int cuGetErrorString(int code, const char **text_p);
EXPORT int cuCtxGetCurrent(void **context_p);
EXPORT int cuDeviceGetCount(int *count_p);

int cuInit(unsigned flags)
{
    (void)flags;
    return SUCCESS;
}

int cuGetErrorString(int code, const char **text_p)
{
    *text_p = code == NO_DEVICE ? "no device here" : "nothing is known of that here";
    return SUCCESS;
}

int cuCtxGetCurrent(void **context_p)
{
    *context_p = NULL;
    return SUCCESS;
}

int cuDeviceGetCount(int *count_p)
{
    *count_p = 0;
    return SUCCESS;
}

FAILS(cuCtxPushCurrent_v2, NO_DEVICE)
FAILS(cuCtxPopCurrent_v2, NO_DEVICE)
FAILS(cuCtxGetDevice, NO_DEVICE)
FAILS(cuDeviceGetAttribute, NO_DEVICE)
FAILS(cuDevicePrimaryCtxRetain, NO_DEVICE)
FAILS(cuMemHostAlloc, NO_DEVICE)
FAILS(cuMemFreeHost, INVALID_VALUE)
FAILS(cuMemHostGetDevicePointer_v2, INVALID_VALUE)
FAILS(cuPointerGetAttributes, INVALID_VALUE)
FAILS(cuModuleLoadData, NO_DEVICE)
FAILS(cuModuleGetFunction, INVALID_HANDLE)
FAILS(cuLaunchKernel, INVALID_HANDLE)
FAILS(cuMemcpyAsync, INVALID_HANDLE)
FAILS(cuStreamGetCtx, INVALID_HANDLE)
FAILS(cuStreamQuery, INVALID_HANDLE)
FAILS(cuStreamIsCapturing, INVALID_HANDLE)
FAILS(cuMemAlloc_v2, NO_DEVICE)
FAILS(cuMemFree_v2, INVALID_VALUE)
FAILS(cuMemsetD8Async, INVALID_HANDLE)
FAILS(cuStreamCreate, NO_DEVICE)
FAILS(cuStreamSynchronize, INVALID_HANDLE)
