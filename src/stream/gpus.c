/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The vendors of GPUs of this build. */
#include <stddef.h>

#include "gpu.h"

const struct mpixq_gpu *const mpixq_gpus[] = {
    &mpixq_gpu_cuda,
    &mpixq_gpu_hip,
    NULL,
};
