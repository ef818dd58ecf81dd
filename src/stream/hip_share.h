/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Members of the table of HIP (gpu.h).
 */
#ifndef MPIXQ_HIP_SHARE_H
#define MPIXQ_HIP_SHARE_H

#include "gpu.h"

int mpixq_hip_peers(struct mpixq_gpu_peer peers[], int room);
bool mpixq_hip_lacks_atomics(const struct mpixq_gpu_ident *here,
                             const struct mpixq_gpu_ident *there);
int mpixq_hip_span(const void *address, void **base_p, size_t *bytes_p);
int mpixq_hip_share(void *base, struct mpixq_gpu_handle *handle_p);
int mpixq_hip_open_shared(const struct mpixq_gpu_handle *handle, void **address_p);
void mpixq_hip_close_shared(void *address);

extern const struct mpixq_gpu_files mpixq_hip_files;

#endif
