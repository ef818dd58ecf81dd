/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts on the fallback: what streams, the host and graphs have MPI do.
 */
#ifndef MPIXQ_FALLBACK_START_H
#define MPIXQ_FALLBACK_START_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/pair.h"

enum { MPIXQ_TOGETHER = 32 }; /* requests in one call of MPI */

/* A start or its completion has failed with a code of MPI. */
void mpixq_fallback_fail(struct mpixq_pair *pair, int rc, const char *operation);
/* A call of an operation (stream/op.h): the stream has reached the starts, or the host makes them.
 * One call of MPI starts those that it can start again. */
void mpixq_fallback_starts(void *const args[], int n, bool on_gpu);
/* A start that a tally counts: all of it at once. Under busy, which is left. */
void mpixq_fallback_start_whole(struct mpixq_pair *pair);

/* Under busy there is one writer at a time: no need for an atomic addition. */
static inline void mpixq_fallback_count(_Atomic uint64_t *count)
{
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, before + 1, memory_order_release);
}

#endif
