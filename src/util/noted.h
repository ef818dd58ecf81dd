/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The handles that calls of MPI must be looked at for: those of requests that are matched or being
 * matched, and of MPIX_Imatch. Each counts in the cell of its hash. A cell of 0 says in a few
 * instructions, with no lock, that a handle is none of them. Any other says that it may be one,
 * which tables then answer (handles.h, match.h).
 *
 * Any thread. Who completes a request has been told of it by who matched it, so the order that the
 * program makes between the two is enough here.
 */
#ifndef MPIXQ_NOTED_H
#define MPIXQ_NOTED_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MPIXQ_NOTED_BITS 14

extern atomic_uint mpixq_noted[1 << MPIXQ_NOTED_BITS];

/* Handles lie side by side, as numbers or as addresses of objects. The upper bits of a product
 * alone put those at some distances close together. */
static inline uint32_t mpixq_noted_cell(MPI_Request handle)
{
    uint64_t number = (uint64_t)(uintptr_t)handle;

    number ^= number >> 7;
    return (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - MPIXQ_NOTED_BITS));
}

static inline bool mpixq_is_noted(MPI_Request handle)
{
    return atomic_load_explicit(&mpixq_noted[mpixq_noted_cell(handle)], memory_order_relaxed) != 0;
}

/* Returns what ends it: a number that is not 0. */
uint16_t mpixq_noted_add(MPI_Request handle);
void mpixq_noted_remove(uint16_t note);

#endif
