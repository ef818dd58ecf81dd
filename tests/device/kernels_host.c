/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernel for the host, where the double of the HIP runtime calls it: one thread is all of the
 * grid. */
#define AWAIT_EARLIER
#define KERNEL void
#define BLOCK 0u
#define BLOCKS 1u

#include "kernels_host.h"

#include "steps.inc"
