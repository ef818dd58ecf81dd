/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_fused.h - the parameters of the kernel that does a whole exchange
 */
#ifndef MPIXQ_BENCH_KERNELS_FUSED_H
#define MPIXQ_BENCH_KERNELS_FUSED_H

#ifndef MPIX_QUEUE_DEVICE_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../include/mpix_queue_device.h"
#endif

enum { BENCH_FUSED_MESSAGES = 8 }; /* each way: their handles fit into the parameters of a launch */

struct bench_fused {
    unsigned long long *data; /* what is sent, and received to, as 8 bytes at a time */
    unsigned long long words, stride, messages; /* of a message, between them, how many each way */
    struct mpixq_device_request send[BENCH_FUSED_MESSAGES], recv[BENCH_FUSED_MESSAGES];
};

#endif
