/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs there are. */
#include "hip_about.h"

#include "hip_runtime.h"

int mpixq_hip_count(int *count_p)
{
    return mpixq_hip_cleared(mpixq_hip.device_count(count_p));
}

int mpixq_hip_describe(int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                       char bus_p[MPIXQ_GPU_NAME_ROOM])
{
    int code = MPIXQ_HIP_NOT_SUPPORTED;

    if (mpixq_hip.device_name != NULL && mpixq_hip.bus_id != NULL) {
        code = mpixq_hip.device_name(name_p, MPIXQ_GPU_NAME_ROOM, device);
        code = code != 0 ? code : mpixq_hip.bus_id(bus_p, MPIXQ_GPU_NAME_ROOM, device);
    }
    return mpixq_hip_cleared(code);
}

static bool have(int attribute, int from, int to)
{
    int value = 0;

    return mpixq_hip.between != NULL &&
           mpixq_hip_cleared(mpixq_hip.between(&value, attribute, from, to)) == 0 && value != 0;
}

enum mpixq_gpu_reach mpixq_hip_reach(int from, int to)
{
    return have(MPIXQ_HIP_PEERS_HAVE_ATOMICS, from, to)  ? MPIXQ_REACH_ATOMICS
           : have(MPIXQ_HIP_PEERS_HAVE_ACCESS, from, to) ? MPIXQ_REACH_MEMORY
                                                         : MPIXQ_REACH_NOTHING;
}

int mpixq_hip_use(int device)
{
    return mpixq_hip_cleared(mpixq_hip.set_device(device));
}

int mpixq_hip_alloc(size_t bytes, void **address_p)
{
    return mpixq_hip_cleared(mpixq_hip.alloc(address_p, bytes, 0)); /* as hipMalloc */
}
