/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranges for profilers: what a thread does in the library, from a push to its pop, appears in the
 * time lines of Nsight Systems (NVTX) and rocprof (rocTX), if the process runs under one. Any
 * thread; each has ranges of its own, one inside the other. Without a profiler a place costs one
 * test of a constant.
 */
#ifndef MPIXQ_RANGES_H
#define MPIXQ_RANGES_H

#include <stdbool.h>
#include <stddef.h>

/* What a kind of profiler is called by, once it is found. */
struct mpixq_range_calls {
    void *domain;                     /* of NVTX */
    int (*push)(const char *message); /* of rocTX, as roctx.h has them */
    int (*pop)(void);
};

/* A kind of profiler. */
struct mpixq_range_taker {
    /* Is there one in this process? Once, in MPI_Init; the others only if there is. */
    bool (*open)(struct mpixq_range_calls *calls_p);
    void (*push)(const struct mpixq_range_calls *calls, const char *name, int n);
    void (*pop)(const struct mpixq_range_calls *calls);
};
extern const struct mpixq_range_taker mpixq_nvtx, mpixq_roctx;

/* Who takes ranges. Written by ranges.c in MPI_Init, before the library has threads; constant from
 * then on. */
enum { MPIXQ_RANGE_TAKERS = 2 };
struct mpixq_ranges {
    size_t n;
    struct {
        const struct mpixq_range_taker *taker;
        struct mpixq_range_calls calls;
    } takers[MPIXQ_RANGE_TAKERS];
};
extern struct mpixq_ranges mpixq_ranges __attribute__((visibility("hidden"))); /* read at once */

static inline bool mpixq_ranges_are_on(void)
{
    return __builtin_expect(mpixq_ranges.n > 0, false);
}

void mpixq_ranges_open(void);

void mpixq_range_push_slow(const char *name, int n);
void mpixq_range_pop_slow(void);

/* The name of what begins, and how many requests it is about; a profiler copies the name. */
static inline void mpixq_range_push(const char *name, int n)
{
    if (mpixq_ranges_are_on()) {
        mpixq_range_push_slow(name, n);
    }
}

static inline void mpixq_range_pop(void)
{
    if (mpixq_ranges_are_on()) {
        mpixq_range_pop_slow();
    }
}

#endif
