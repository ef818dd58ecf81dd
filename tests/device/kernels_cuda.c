/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernel for CUDA: compiled to PTX by clang, with no header of CUDA. */
#ifndef AWAIT_EARLIER
#define AWAIT_EARLIER
#endif
#define KERNEL extern "C" __attribute__((global)) void
#define BLOCK ((unsigned)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCKS ((unsigned)__nvvm_read_ptx_sreg_nctaid_x())

#include "steps.inc"
