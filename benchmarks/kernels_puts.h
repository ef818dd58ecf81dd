/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_puts.h - the parameters of the kernel that puts with signals
 */
#ifndef MPIXQ_BENCH_KERNELS_PUTS_H
#define MPIXQ_BENCH_KERNELS_PUTS_H

#ifndef MPIX_QUEUE_DEVICE_RMA_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../include/mpix_queue_device_rma.h"
#endif

/* All messages that a rank sends and receives at a time. */
struct bench_device_puts {
    /* Of each message so many parts, of which the last ones may be none; in memory of the GPU. */
    const struct mpixq_device_transfer *transfers;
    unsigned long long messages, parts; /* none: nothing is sent */
    unsigned long long waits;           /* not 0: until all has come */
    unsigned long long limit_ns;
    struct mpixq_device_signal came;
};

/* One end of a ping-pong of the first message, by one block. */
struct bench_put_loop {
    struct bench_device_puts all;
    unsigned long long rounds, leads; /* leads: puts first */
};

#endif
