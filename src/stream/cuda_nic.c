/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of a GPU that a NIC accesses. */
#include "cuda_nic.h"

#include <stddef.h>

#include "cuda_driver.h"

/* What it promises of the order in which GPUs see what a NIC writes; NULL: enough. */
static const char *lacks_order(int device)
{
    int ordering = 0, devices = 0;

    if (mpixq_cuda.attribute(&ordering, MPIXQ_CU_RDMA_ORDERING, device) != 0 ||
        ordering < MPIXQ_CU_ORDERED_FOR_OWNER) {
        return "CUDA does not promise that the GPU sees what a NIC has written";
    }
    if (ordering < MPIXQ_CU_ORDERED_FOR_ALL &&
        (mpixq_cuda.device_count(&devices) != 0 || devices > 1)) {
        return "CUDA promises that only the GPU that has the memory sees what a NIC has written";
    }
    return NULL;
}

int mpixq_cuda_held(const void *address)
{
    unsigned yes = 1;

    /* A copy that the host makes ends when the data is there, and not before. */
    return mpixq_cuda.set_pointer != NULL
               ? mpixq_cuda.set_pointer(&yes, MPIXQ_CU_SYNC_MEMOPS, address)
               : MPIXQ_CU_NOT_SUPPORTED;
}

bool mpixq_cuda_orders(void)
{
    int devices = 0;
    bool orders = false;

    (void)mpixq_cuda.device_count(&devices); /* or there are none */
    for (int device = 0; device < devices; device++) {
        orders = orders || lacks_order(device) == NULL;
    }
    return orders;
}

/* To send from it libfabric asks the driver for the memory's identity with each post, and posts are
 * made by threads that no GPU may hold up. */
const char *mpixq_cuda_for_nic(const void *address, bool written, bool trusts, int *device_p)
{
    int attribute = MPIXQ_CU_DEVICE, device = 0;
    void *value = &device;
    const char *why = NULL;

    if (mpixq_cuda.pointer_attributes(1, &attribute, &value, address) != 0) {
        return "CUDA does not tell its device";
    }
    if (!trusts) {
        why = written ? lacks_order(device) : "a post would have to ask CUDA's driver";
    }
    *device_p = device;
    return why;
}
