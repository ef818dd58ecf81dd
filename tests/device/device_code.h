/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_code.h - the kernel of steps.inc as compiled for GPUs, made by tools/gpu_code.sh, and its
 * launch
 */
#ifndef DEVICE_CODE_H_INCLUDED
#define DEVICE_CODE_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

#include "puts.h"
#include "steps.h"

extern const unsigned char device_code_cuda[], device_code_cuda90[], device_code_hip[],
    device_cubins[];
extern const size_t device_code_cuda_bytes, device_code_cuda90_bytes, device_code_hip_bytes,
    device_cubins_bytes;

/* Load it for the current device; false: there was no compiler for it. */
bool device_code_open(void);
/* Results of steps, zeroed, in memory of the host, and where a GPU sees them. */
unsigned *device_code_results(unsigned **seen_p);
/* Put the kernel into a stream. */
void device_code_launch(void *stream, unsigned blocks, unsigned threads,
                        const struct device_script *script);
/* One step of one handle by one block, which ends; returns its result, the first of the results,
 * which were made before. */
unsigned device_code_run(void *stream, unsigned threads, const struct device_step *step,
                         const MPIXQ_Device_request *r);

/* As device_code_launch, of the kernel of puts.inc. */
void device_code_launch_puts(void *stream, unsigned threads, const struct puts_script *script);

#endif /* DEVICE_CODE_H_INCLUDED */
