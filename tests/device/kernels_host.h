/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * kernels_host.h - the kernel as a function of the host
 */
#ifndef DEVICE_KERNELS_HOST_H_INCLUDED
#define DEVICE_KERNELS_HOST_H_INCLUDED

#include "puts.h"
#include "steps.h"

void mpixq_test_device(struct device_script all);
void mpixq_test_puts(struct puts_script all);

#endif /* DEVICE_KERNELS_HOST_H_INCLUDED */
