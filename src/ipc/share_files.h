/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What share.c does with memory that has no handle: pieces of pools, and chunks (gpu.h). In the
 * place.
 */
#ifndef MPIXQ_SHARE_FILES_H
#define MPIXQ_SHARE_FILES_H

#include <stdbool.h>

#include "stream/gpu.h"

/* life: of the place that the calling thread has entered (gpu_life.h). NULL, or why not. */
const char *mpixq_files_export(const struct mpixq_gpu *gpu, uint64_t life, const void *buffer,
                               size_t bytes, struct mpixq_gpu_export *export_p);
/* A code of the vendor. One at a time, as is close. */
int mpixq_files_open(const struct mpixq_gpu *gpu, uint64_t life,
                     const struct mpixq_gpu_owner *owner, const struct mpixq_gpu_export *export,
                     int file, void **address_p);
/* False: it was not opened here. */
bool mpixq_files_close(void *address);
/* It was closed with its place; if it was opened here. */
void mpixq_files_forget(const void *address);
/* In MPI_Finalize. */
void mpixq_files_end(void);

#endif
