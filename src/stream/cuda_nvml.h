/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * GPUs that CUDA does not show to this process.
 */
#ifndef MPIXQ_CUDA_NVML_H
#define MPIXQ_CUDA_NVML_H

#include "gpu.h"

/* has_no_atomics of gpu.h. */
bool mpixq_cuda_has_no_atomics(const struct mpixq_gpu_ident *here,
                               const struct mpixq_gpu_ident *there);

#endif
