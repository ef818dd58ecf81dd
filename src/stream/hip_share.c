/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory that GPUs of several processes reach. Whether to open it waits for kernels is not
 * known. */
#include "hip_share.h"

#include <string.h>

#include "hip_about.h"
#include "hip_runtime.h"

#define cleared mpixq_hip_cleared

int mpixq_hip_cleared(int code)
{
    if (code != 0) {
        (void)mpixq_hip.last_error();
    }
    return code;
}

_Static_assert(sizeof(struct mpixq_gpu_handle) == sizeof(struct mpixq_hip_handle), "handle");

/* Where the device is on the bus: it has a UUID in newer versions only. */
static int ident_of(int device, struct mpixq_gpu_ident *ident_p)
{
    char name[sizeof *ident_p] = "";
    int code = mpixq_hip.bus_id != NULL ? cleared(mpixq_hip.bus_id(name, sizeof name, device))
                                        : MPIXQ_HIP_NOT_SUPPORTED;

    if (code == 0) {
        memcpy(ident_p, name, sizeof name);
    }
    return code;
}

int mpixq_hip_peers(struct mpixq_gpu_peer peers[], int room)
{
    int here, count, n = 1;

    if (cleared(mpixq_hip.device(&here)) != 0 || cleared(mpixq_hip.device_count(&count)) != 0 ||
        room < 1 || ident_of(here, &peers[0].ident) != 0) {
        return 0;
    }
    peers[0].is_reached = true;
    for (int i = 0; i < count && n < room; i++) {
        if (i != here && ident_of(i, &peers[n].ident) == 0) {
            peers[n++].is_reached = mpixq_hip_reach(here, i) == MPIXQ_REACH_ATOMICS;
        }
    }
    return n;
}

/* Nobody is asked. */
bool mpixq_hip_lacks_atomics(const struct mpixq_gpu_ident *here,
                             const struct mpixq_gpu_ident *there)
{
    (void)here;
    (void)there;
    return false;
}

int mpixq_hip_span(const void *address, void **base_p, size_t *bytes_p)
{
    return mpixq_hip.span != NULL ? cleared(mpixq_hip.span(base_p, bytes_p, (void *)address))
                                  : MPIXQ_HIP_NOT_SUPPORTED;
}

int mpixq_hip_share(void *base, struct mpixq_gpu_handle *handle_p)
{
    struct mpixq_hip_handle handle;
    int code;

    if (mpixq_hip.share == NULL || mpixq_hip.open_shared == NULL ||
        mpixq_hip.close_shared == NULL) {
        return MPIXQ_HIP_NOT_SUPPORTED;
    }
    code = cleared(mpixq_hip.share(&handle, base));
    memcpy(handle_p, &handle, sizeof handle);
    return code;
}

int mpixq_hip_open_shared(const struct mpixq_gpu_handle *handle, void **address_p)
{
    struct mpixq_hip_handle theirs;
    int code;

    memcpy(&theirs, handle, sizeof theirs);
    code = cleared(mpixq_hip.open_shared(address_p, theirs, MPIXQ_HIP_ENABLE_PEER));
    return code == MPIXQ_HIP_INVALID_VALUE
               ? cleared(mpixq_hip.open_shared(address_p, theirs, !MPIXQ_HIP_ENABLE_PEER))
               : code;
}

void mpixq_hip_close_shared(void *address)
{
    (void)cleared(mpixq_hip.close_shared(address)); /* the process is about to end, or it is ours */
}
