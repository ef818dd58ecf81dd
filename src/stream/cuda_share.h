/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Members of the table of CUDA (gpu.h).
 */
#ifndef MPIXQ_CUDA_SHARE_H
#define MPIXQ_CUDA_SHARE_H

#include "gpu.h"

int mpixq_cuda_peers(struct mpixq_gpu_peer peers[], int room);
int mpixq_cuda_span(const void *address, void **base_p, size_t *bytes_p);
uint64_t mpixq_cuda_allocation_id(const void *address);
bool mpixq_cuda_is_gone(const void *address, uint64_t id);
int mpixq_cuda_share(void *base, struct mpixq_gpu_handle *handle_p);
int mpixq_cuda_open_shared(const struct mpixq_gpu_handle *handle, void **address_p);
void mpixq_cuda_close_shared(void *address);

extern const struct mpixq_gpu_files mpixq_cuda_files;

#endif
