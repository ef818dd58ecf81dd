/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The counter of the CPU that the kernel's clock is made from, where there is one that programs may
 * read: some ten instructions less than that clock, which stands in for it elsewhere.
 */
#ifndef MPIXQ_TICKS_EXT_H
#define MPIXQ_TICKS_EXT_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
/* If the kernel takes it for its own clock, it goes at one rate and is the same on all CPUs. */
#define MPIXQ_TICKS_CLOCK "tsc"
static inline uint64_t mpixq_ticks_read(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define MPIXQ_TICKS_CLOCK "arch_sys_counter"
static inline uint64_t mpixq_ticks_read(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#define MPIXQ_TICKS_CLOCK "" /* no name that a clock has */
static inline uint64_t mpixq_ticks_read(void)
{
    return 0;
}
#endif

#endif
