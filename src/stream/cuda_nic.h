/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the table for CUDA has for memory that a NIC accesses: held, orders and for_nic of gpu.h.
 */
#ifndef MPIXQ_CUDA_NIC_H
#define MPIXQ_CUDA_NIC_H

#include <stdbool.h>

int mpixq_cuda_held(const void *address);
bool mpixq_cuda_orders(void);
const char *mpixq_cuda_for_nic(const void *address, bool written, bool trusts, int *device_p);

#endif
