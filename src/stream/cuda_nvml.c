/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What NVML, the driver's library of management, says of GPUs that CUDA does not show to this
 * process: it sees those of the whole machine, but for what a container leaves out. */
#include "cuda_nvml.h"

#include <pthread.h>
#include <stdio.h>

#include "cuda_driver.h"

enum { ATOMICS = 3, REACHES = 0, UNKNOWN = 6 }; /* of nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t */

static const struct mpixq_gpu_symbol symbols[] = {
    {"nvmlInit_v2", (void **)&mpixq_cuda.nvml.init, false},
    {"nvmlShutdown", (void **)&mpixq_cuda.nvml.shutdown, false},
    {"nvmlDeviceGetHandleByUUID", (void **)&mpixq_cuda.nvml.by_uuid, false},
    {"nvmlDeviceGetP2PStatus", (void **)&mpixq_cuda.nvml.between, false},
    {NULL, NULL, false},
};

static void find(void)
{
    static const char *const libraries[] = {"libnvidia-ml.so.1", NULL};

    mpixq_cuda.nvml.found = mpixq_gpu_open(libraries, true, symbols);
}

/* A part of a GPU, if that is divided, has a name of another form, which is not found. */
static int device_of(const struct mpixq_gpu_ident *ident, void **device_p)
{
    char uuid[64];
    int used = snprintf(uuid, sizeof uuid, "GPU-");

    for (size_t i = 0; i < sizeof ident->bytes; i++) {
        used += snprintf(uuid + used, sizeof uuid - (size_t)used, "%s%02x",
                         i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", ident->bytes[i]);
    }
    return mpixq_cuda.nvml.by_uuid(uuid, device_p);
}

bool mpixq_cuda_has_no_atomics(const struct mpixq_gpu_ident *here,
                               const struct mpixq_gpu_ident *there)
{
    int status = UNKNOWN, back = UNKNOWN;
    void *one, *other;

    (void)pthread_once(&mpixq_cuda.nvml.once, find);
    if (!mpixq_cuda.nvml.found || mpixq_cuda.nvml.init() != 0) {
        return false;
    }
    if (device_of(here, &one) != 0 || device_of(there, &other) != 0 ||
        mpixq_cuda.nvml.between(one, other, ATOMICS, &status) != 0 ||
        mpixq_cuda.nvml.between(other, one, ATOMICS, &back) != 0) {
        status = back = UNKNOWN;
    }
    (void)mpixq_cuda.nvml.shutdown(); /* it counts */
    return (status != REACHES && status != UNKNOWN) || (back != REACHES && back != UNKNOWN);
}
