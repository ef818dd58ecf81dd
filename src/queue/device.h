/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles by which kernels of the program start requests. Each returns an MPI code, and what it is
 * about.
 */
#ifndef MPIXQ_DEVICE_H
#define MPIXQ_DEVICE_H

#include <mpi.h>

#include "core/fault.h"
#include "core/queue.h"

struct mpixq_device_request;

int mpixq_device_create(struct mpixq_queue *queue, int count, MPI_Request requests[],
                        struct mpixq_device_request *handles, struct mpixq_fault *fault_p);
int mpixq_device_free(int count, struct mpixq_device_request *handles, struct mpixq_fault *fault_p);

#endif
