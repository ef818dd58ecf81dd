/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA's GPUs from sm_90 on, where a kernel may be launched before the one that it
 * follows has ended: it waits by itself for the end of that, and lets its own follower come. */
#define AWAIT_EARLIER __asm__ volatile("griddepcontrol.wait;" ::: "memory")
#define LET_LATER_COME __asm__ volatile("griddepcontrol.launch_dependents;" ::: "memory")

#include "cuda.inc"

/* By its name the host knows this form. */
MPIXQ_KERNEL bench_early(void)
{
}
