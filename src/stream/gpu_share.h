/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs there are, and memory of theirs that other processes and NICs reach: what both vendors
 * do in the same way (gpu.h).
 */
#ifndef MPIXQ_GPU_SHARE_H
#define MPIXQ_GPU_SHARE_H

#include "gpu.h"

/* How many GPUs there are; what one is called, and where it is on the bus; how far kernels of one
 * reach memory of another. */
int mpixq_gpu_count(const struct mpixq_gpu *gpu, int *count_p);
int mpixq_gpu_describe(const struct mpixq_gpu *gpu, int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                       char bus_p[MPIXQ_GPU_NAME_ROOM]);
enum mpixq_gpu_reach mpixq_gpu_reach(const struct mpixq_gpu *gpu, int from, int to);
/* The GPUs that the process sees, that of the place first: their number, or 0. */
int mpixq_gpu_peers(const struct mpixq_gpu *gpu, struct mpixq_gpu_peer peers[], int room);

/* The allocation of an address; and its number: no other one of this process has it, nor had it. 0:
 * not known. */
int mpixq_gpu_span(const struct mpixq_gpu *gpu, const void *address, void **base_p,
                   size_t *bytes_p);
uint64_t mpixq_gpu_allocation_id(const struct mpixq_gpu *gpu, const void *address);
int mpixq_gpu_share(const struct mpixq_gpu *gpu, void *base, struct mpixq_gpu_handle *handle_p);
int mpixq_gpu_open_shared(const struct mpixq_gpu *gpu, const struct mpixq_gpu_handle *handle,
                          void **address_p);
/* Waits until the GPU is idle. */
void mpixq_gpu_close_shared(const struct mpixq_gpu *gpu, void *address);

/* May a NIC access the memory, which it will write, or only read, as far as the library promises
 * that the GPUs of this process and the NIC see what the other has written? trusts: whatever that
 * promises. NULL, and the device's number; or why not. */
const char *mpixq_gpu_for_nic(const struct mpixq_gpu *gpu, const void *address, bool written,
                              bool trusts, int *device_p);
/* A NIC has the memory from now on: copies that the program makes of it are to be ordered with what
 * that does. 0, or they cannot be. */
int mpixq_gpu_held(const struct mpixq_gpu *gpu, const void *address);
/* Does that promise it of anything that a NIC writes? */
bool mpixq_gpu_orders(const struct mpixq_gpu *gpu);

#endif
