/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests whose buffers went with the device that the program has reset (stream/gpu_life.h).
 */
#ifndef MPIXQ_LOST_H
#define MPIXQ_LOST_H

/* If devices were reset since the last call, fail what is matched and has its buffer there, at both
 * ends. Threads of the program, under no lock. */
void mpixq_lost_look(void);

#endif
