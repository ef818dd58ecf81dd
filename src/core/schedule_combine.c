/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Contributions that the host combines as kernels do, by the same source: other processes of the
 * same collective may have theirs in memory of GPUs. MPI's own functions need not give the same:
 * some add small integers with saturation, or take unsigned ones for signed ones. */
#include <string.h>

#include "schedule.h"

#define MPIXQ_INLINE static inline __attribute__((always_inline))
typedef uint64_t word_t;

#include "stream/combine.inc"

enum {
    BLOCK = 64
}; /* numbers at a time: compilers make vectors of so many, and know the operation */

/* What the result is so far, and the next contribution: n of them. */
#define BLOCKS(name, c_type)                                                                       \
    MPIXQ_INLINE void add_##name(unsigned operation, c_type *so_far, const c_type *next, size_t n) \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            so_far[i] = apply_##name(operation, so_far[i], next[i]);                               \
        }                                                                                          \
    }                                                                                              \
    MPIXQ_INLINE void block_##name(const struct mpixq_combine *all, unsigned operation,            \
                                   size_t first, size_t n)                                         \
    {                                                                                              \
        size_t at = first * sizeof(c_type), bytes = n * sizeof(c_type);                            \
        c_type so_far[BLOCK], next[BLOCK];                                                         \
                                                                                                   \
        memcpy(so_far, all->from[0] + at, bytes);                                                  \
        for (unsigned k = 1; k < all->n; k++) {                                                    \
            memcpy(next, all->from[k] + at, bytes);                                                \
            add_##name(operation, so_far, next, n);                                                \
        }                                                                                          \
        memcpy(all->to + at, so_far, bytes);                                                       \
    }                                                                                              \
    MPIXQ_INLINE void blocks_##name(const struct mpixq_combine *all, unsigned operation)           \
    {                                                                                              \
        size_t i = 0;                                                                              \
                                                                                                   \
        for (; all->count - i >= BLOCK; i += BLOCK) {                                              \
            block_##name(all, operation, i, BLOCK);                                                \
        }                                                                                          \
        block_##name(all, operation, i, (size_t)all->count - i);                                   \
    }

BLOCKS(int8, signed char)
BLOCKS(int16, short)
BLOCKS(int32, int)
BLOCKS(int64, long long)
BLOCKS(uint8, unsigned char)
BLOCKS(uint16, unsigned short)
BLOCKS(uint32, unsigned)
BLOCKS(uint64, unsigned long long)
BLOCKS(float, float)
BLOCKS(double, double)
BLOCKS(float16, unsigned short)
BLOCKS(bfloat16, unsigned short)

MPIXQ_INLINE void combine_by(const struct mpixq_combine *all, enum mpixq_operation operation)
{
    switch ((enum mpixq_number)all->number) {
#define WITH(NAME, name)                                                                           \
    case NAME:                                                                                     \
        blocks_##name(all, operation);                                                             \
        break
        WITH(MPIXQ_INT8, int8);
        WITH(MPIXQ_INT16, int16);
        WITH(MPIXQ_INT32, int32);
        WITH(MPIXQ_INT64, int64);
        WITH(MPIXQ_UINT8, uint8);
        WITH(MPIXQ_UINT16, uint16);
        WITH(MPIXQ_UINT32, uint32);
        WITH(MPIXQ_UINT64, uint64);
        WITH(MPIXQ_FLOAT, float);
        WITH(MPIXQ_DOUBLE, double);
        WITH(MPIXQ_FLOAT16, float16);
        WITH(MPIXQ_BFLOAT16, bfloat16);
#undef WITH
    }
}

static void combine(const struct mpixq_combine *all)
{
    switch ((enum mpixq_operation)all->operation) {
#define WITH(operation)                                                                            \
    case operation:                                                                                \
        combine_by(all, operation);                                                                \
        break
        WITH(MPIXQ_SUM);
        WITH(MPIXQ_PROD);
        WITH(MPIXQ_MIN);
        WITH(MPIXQ_MAX);
        WITH(MPIXQ_LAND);
        WITH(MPIXQ_LOR);
        WITH(MPIXQ_LXOR);
        WITH(MPIXQ_BAND);
        WITH(MPIXQ_BOR);
        WITH(MPIXQ_BXOR);
#undef WITH
    }
}

void mpixq_schedule_combine_now(const struct mpixq_collective *collective)
{
    combine(&collective->combine);
}

void mpixq_schedule_combine_two(const struct mpixq_collective *collective,
                                const struct mpixq_span *from, const struct mpixq_span *to)
{
    const struct mpixq_combine two = {.to = to->at,
                                      .from = {from->at, to->at},
                                      .count = (unsigned long long)to->count,
                                      .n = 2,
                                      .number = collective->combine.number,
                                      .operation = collective->combine.operation};

    combine(&two);
}
