/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which allocation it is, of all that HIP's runtime has made for this process. */
#include "gpu.h"
#include "hip_runtime.h"

/* The runtime writes 4 bytes or 8. */
uint64_t mpixq_hip_allocation_id(const void *address)
{
    uint64_t id = 0;

    if (mpixq_hip.pointer_attribute == NULL) {
        return 0;
    }
    if (mpixq_hip.pointer_attribute(&id, MPIXQ_HIP_BUFFER_ID, (void *)address) != 0) {
        (void)mpixq_hip.last_error(); /* or the program would take the failure for its own */
        return 0;
    }
    return id;
}
