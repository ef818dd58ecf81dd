/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs there are. */
#include "cuda_about.h"

#include "cuda_driver.h"

int mpixq_cuda_count(int *count_p)
{
    return mpixq_cuda.device_count(count_p);
}

int mpixq_cuda_describe(int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                        char bus_p[MPIXQ_GPU_NAME_ROOM])
{
    int code = MPIXQ_CU_NOT_SUPPORTED;

    if (mpixq_cuda.device_name != NULL && mpixq_cuda.bus_id != NULL) {
        code = mpixq_cuda.device_name(name_p, MPIXQ_GPU_NAME_ROOM, device);
        code = code != 0 ? code : mpixq_cuda.bus_id(bus_p, MPIXQ_GPU_NAME_ROOM, device);
    }
    return code;
}

static bool have(int attribute, int from, int to)
{
    int value = 0;

    return mpixq_cuda.between != NULL && mpixq_cuda.between(&value, attribute, from, to) == 0 &&
           value != 0;
}

enum mpixq_gpu_reach mpixq_cuda_reach(int from, int to)
{
    return have(MPIXQ_CU_PEERS_HAVE_ATOMICS, from, to)  ? MPIXQ_REACH_ATOMICS
           : have(MPIXQ_CU_PEERS_HAVE_ACCESS, from, to) ? MPIXQ_REACH_MEMORY
                                                        : MPIXQ_REACH_NOTHING;
}

/* As the runtime does. The context is kept for good. */
int mpixq_cuda_use(int device)
{
    void *context = NULL;
    int code = mpixq_cuda.retain(&context, device);

    return code != 0 ? code : mpixq_cuda.push(context);
}
