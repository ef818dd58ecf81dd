/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for CUDA: compiled to PTX by clang, by itself and without any header. */
#define AWAIT_EARLIER
#define LET_LATER_COME

#include "cuda.inc"
