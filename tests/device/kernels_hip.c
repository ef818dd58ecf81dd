/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernel for HIP: compiled to a code object by clang or hipcc, with no header of HIP. Blocks
 * have 256 threads. */
#define AWAIT_EARLIER
#define KERNEL extern "C" __attribute__((global)) void
#define BLOCK ((unsigned)__builtin_amdgcn_workgroup_id_x())
#define BLOCKS                                                                                     \
    (*((const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_dispatch_ptr() + 3) /  \
     mpixq_dev_ntid_x())

#include "steps.inc"
