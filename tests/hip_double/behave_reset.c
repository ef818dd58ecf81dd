/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_reset.c - cases about the reset of a device
 */
#include "behave.h"

#include <stdlib.h>

enum { PAGE = 4096, BYTES = 100 };
static const char image[] = "hip double";

static void touch_pinned(void *arg)
{
    void *pinned;

    (void)arg;
    NEED(hipHostMalloc(&pinned, PAGE, 0) == hipSuccess && hipDeviceReset() == hipSuccess);
    *(volatile char *)pinned = 1;
}

/* Neither host nor kernels reach what was there, and its address is nobody's, or that of what came
 * later; what was registered is the program's, and can be again. */
static bool reset_memory(void)
{
    void *memory, *later, *seen, *pinned = NULL, *own = aligned_alloc(PAGE, PAGE);
    uint64_t before = 0, after = 0;
    bool is_gone = behave_aborts(touch_pinned, NULL);

    NEED(own != NULL && hipMalloc(&memory, BYTES) == hipSuccess);
    NEED(hipHostMalloc(&pinned, PAGE, 0) == hipSuccess);
    NEED(hipHostRegister(own, PAGE, 0) == hipSuccess);
    NEED(hipPointerGetAttribute(&before, HIP_POINTER_ATTRIBUTE_BUFFER_ID, memory) == hipSuccess);
    NEED(hipDeviceReset() == hipSuccess);
    is_gone = is_gone && hip_double_live() == 0 && hipFree(memory) == hipErrorInvalidValue &&
              hipHostFree(pinned) == hipErrorInvalidValue &&
              hipHostGetDevicePointer(&seen, own, 0) != hipSuccess &&
              hipHostUnregister(own) == hipErrorHostMemoryNotRegistered;
    NEED(hipMalloc(&later, BYTES) == hipSuccess);
    NEED(hipPointerGetAttribute(&after, HIP_POINTER_ATTRIBUTE_BUFFER_ID, later) == hipSuccess);
    is_gone = is_gone && after != before && hipHostRegister(own, PAGE, 0) == hipSuccess &&
              hipHostGetDevicePointer(&seen, own, 0) == hipSuccess;
    *(volatile char *)own = 1;
    return is_gone;
}

/* Streams, events and functions are errors from then on, and new ones can be had; default streams
 * are there as ever. What was queued has run. */
static bool reset_handles(void)
{
    void *parameters[] = {NULL};
    hipFunction_t function;
    hipStream_t stream;
    hipModule_t module;
    hipEvent_t event;

    stream = behave_stream();
    NEED(hipEventCreate(&event) == hipSuccess && hipEventRecord(event, stream) == hipSuccess);
    NEED(hipModuleLoadData(&module, image) == hipSuccess);
    NEED(hipModuleGetFunction(&function, module, "hip_test_store") == hipSuccess);
    NEED(hipDeviceReset() == hipSuccess && hip_double_pending() == 0);
    return hipStreamQuery(stream) == hipErrorContextIsDestroyed &&
           hipStreamDestroy(stream) == hipErrorContextIsDestroyed &&
           hipEventQuery(event) == hipErrorInvalidHandle &&
           hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) ==
               hipErrorInvalidHandle &&
           hipModuleUnload(module) == hipErrorInvalidValue && hipStreamQuery(NULL) == hipSuccess &&
           hipStreamQuery(hipStreamPerThread) == hipSuccess &&
           hipStreamQuery(behave_stream()) == hipSuccess;
}

const struct behave_case behave_reset_cases[] = {
    {"reset-memory", reset_memory},
    {"reset-handles", reset_handles},
    {NULL, NULL},
};
