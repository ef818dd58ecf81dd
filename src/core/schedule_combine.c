/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Contributions that the host combines as kernels do, by the same source: other processes of the
 * same collective may have theirs in memory of GPUs. MPI's own functions need not give the same:
 * some add small integers with saturation, or take unsigned ones for signed ones. */
#include "schedule.h"

#define MPIXQ_INLINE static inline
typedef uint64_t word_t;

#include "stream/combine.inc"

void mpixq_schedule_combine_now(const struct mpixq_collective *collective)
{
    combine_part(&collective->combine, 0, 1);
}
