/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The vendors of GPUs of this build. */
#include <stddef.h>
#include <string.h>

#include "gpu.h"

const struct mpixq_gpu *const mpixq_gpus[] = {
    &mpixq_gpu_cuda,
    &mpixq_gpu_hip,
    NULL,
};

const struct mpixq_gpu *mpixq_gpu_of(const char *kind)
{
    int i = 0;

    while (mpixq_gpus[i] != NULL && strcmp(mpixq_gpus[i]->kind, kind) != 0) {
        i++;
    }
    return mpixq_gpus[i];
}
