/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernel for CUDA's GPUs from sm_90 on, which may be launched before what it follows has
 * ended. */
#define AWAIT_EARLIER __asm__ volatile("griddepcontrol.wait;" ::: "memory")

#include "kernels_cuda.c"
