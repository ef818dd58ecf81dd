/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory that GPUs of several processes reach. On an H200 nothing but to close, to unregister and
 * to free waited for kernels. */
#include "cuda_share.h"

#include <string.h>

#include "cuda_about.h"
#include "cuda_driver.h"

_Static_assert(sizeof(struct mpixq_gpu_ident) == sizeof(struct mpixq_cuda_uuid), "ident");
_Static_assert(sizeof(struct mpixq_gpu_handle) == sizeof(struct mpixq_cuda_handle), "handle");

static int ident_of(int device, struct mpixq_gpu_ident *ident_p)
{
    struct mpixq_cuda_uuid uuid;
    int code = mpixq_cuda.uuid != NULL ? mpixq_cuda.uuid(&uuid, device) : MPIXQ_CU_NOT_SUPPORTED;

    if (code == 0) {
        memcpy(ident_p, &uuid, sizeof uuid);
    }
    return code;
}

int mpixq_cuda_peers(struct mpixq_gpu_peer peers[], int room)
{
    int here, count, n = 1;

    if (mpixq_cuda.device(&here) != 0 || mpixq_cuda.device_count(&count) != 0 || room < 1 ||
        ident_of(here, &peers[0].ident) != 0) {
        return 0;
    }
    peers[0].is_reached = true;
    for (int i = 0; i < count && n < room; i++) {
        if (i != here && ident_of(i, &peers[n].ident) == 0) {
            peers[n++].is_reached = mpixq_cuda_reach(here, i) == MPIXQ_REACH_ATOMICS;
        }
    }
    return n;
}

int mpixq_cuda_span(const void *address, void **base_p, size_t *bytes_p)
{
    return mpixq_cuda.span != NULL ? mpixq_cuda.span(base_p, bytes_p, (void *)address)
                                   : MPIXQ_CU_NOT_SUPPORTED;
}

uint64_t mpixq_cuda_allocation_id(const void *address)
{
    int attribute = MPIXQ_CU_BUFFER_ID;
    uint64_t id = 0;
    void *values[] = {&id};

    return mpixq_cuda.pointer_attributes(1, &attribute, values, address) == 0 ? id : 0;
}

/* Memory that the driver does not know has no number. It is not there either if its context is
 * not. */
bool mpixq_cuda_is_gone(const void *address, uint64_t id)
{
    int attribute = MPIXQ_CU_BUFFER_ID, code;
    uint64_t now = 0;
    void *values[] = {&now};

    code = mpixq_cuda.pointer_attributes(1, &attribute, values, address);
    return code == 0 ? now != id
                     : code == MPIXQ_CU_INVALID_VALUE || code == MPIXQ_CU_INVALID_CONTEXT ||
                           code == MPIXQ_CU_CONTEXT_IS_DESTROYED;
}

int mpixq_cuda_share(void *base, struct mpixq_gpu_handle *handle_p)
{
    struct mpixq_cuda_handle handle;
    int code;

    if (mpixq_cuda.share == NULL || mpixq_cuda.open_shared == NULL ||
        mpixq_cuda.close_shared == NULL) {
        return MPIXQ_CU_NOT_SUPPORTED;
    }
    code = mpixq_cuda.share(&handle, base);
    memcpy(handle_p, &handle, sizeof handle);
    return code;
}

int mpixq_cuda_open_shared(const struct mpixq_gpu_handle *handle, void **address_p)
{
    struct mpixq_cuda_handle theirs;

    memcpy(&theirs, handle, sizeof theirs);
    return mpixq_cuda.open_shared(address_p, theirs, MPIXQ_CU_ENABLE_PEER);
}

void mpixq_cuda_close_shared(void *address)
{
    (void)mpixq_cuda.close_shared(address); /* the context may be gone, and the mapping with it */
}
