/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Lives of places. A program may reset a device between its queues (cudaDeviceReset,
 * hipDeviceReset), or destroy a context of CUDA: all that was there is gone then, what the library
 * had there too, and its addresses and handles may come again as the program's. No call tells that,
 * so a small allocation is kept in each place and looked at when a queue is made there and when a
 * buffer there is matched: if it is gone, so is all of its time, and another life of the place has
 * begun. Whoever keeps something of a place notes its life, and lets it go without the GPU's
 * library when that is over.
 */
#ifndef MPIXQ_GPU_LIFE_H
#define MPIXQ_GPU_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"

/* Which life the place is in, that the calling thread has entered: a number that no other one has,
 * of any place; 0: no memory. Threads of the program, under no lock: the library is asked. */
uint64_t mpixq_gpu_life(const struct mpixq_gpu *gpu, void *place);
/* Was this one seen to be over? 0 never is. Any thread; never blocks. */
bool mpixq_gpu_life_is_over(uint64_t life);
/* How many were. The same. */
unsigned mpixq_gpu_lives_over(void);
/* In MPI_Finalize: look at all places before anything is let go; and the end. */
void mpixq_gpu_lives_look(void);
void mpixq_gpu_lives_close(void);

/* In gpu_streams.c: the streams that were opened there in that life execute nothing more. */
void mpixq_gpu_streams_end(uint64_t life);

#endif
