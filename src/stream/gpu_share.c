/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs there are, what they reach, and memory of theirs that other processes and NICs reach.
 * With CUDA on an H200 nothing but to close, to unregister and to free waited for kernels; whether
 * to open waits for them with HIP is not known. */
#include "gpu_share.h"

#include <stddef.h>

int mpixq_gpu_count(const struct mpixq_gpu *gpu, int *count_p)
{
    return mpixq_gpu_cleared(gpu, gpu->calls->device_count(count_p));
}

int mpixq_gpu_describe(const struct mpixq_gpu *gpu, int device, char name_p[MPIXQ_GPU_NAME_ROOM],
                       char bus_p[MPIXQ_GPU_NAME_ROOM])
{
    const struct mpixq_gpu_calls *calls = gpu->calls;
    int code = MPIXQ_GPU_NOT_SUPPORTED;

    if (calls->device_name != NULL && calls->bus_id != NULL) {
        code = calls->device_name(name_p, MPIXQ_GPU_NAME_ROOM, device);
        code = code != 0 ? code : calls->bus_id(bus_p, MPIXQ_GPU_NAME_ROOM, device);
    }
    return mpixq_gpu_cleared(gpu, code);
}

static bool have(const struct mpixq_gpu *gpu, int attribute, int from, int to)
{
    int value = 0;

    return gpu->calls->between != NULL &&
           mpixq_gpu_cleared(gpu, gpu->calls->between(&value, attribute, from, to)) == 0 &&
           value != 0;
}

enum mpixq_gpu_reach mpixq_gpu_reach(const struct mpixq_gpu *gpu, int from, int to)
{
    return have(gpu, gpu->numbers.have_atomics, from, to)  ? MPIXQ_REACH_ATOMICS
           : have(gpu, gpu->numbers.have_access, from, to) ? MPIXQ_REACH_MEMORY
                                                           : MPIXQ_REACH_NOTHING;
}

int mpixq_gpu_peers(const struct mpixq_gpu *gpu, struct mpixq_gpu_peer peers[], int room)
{
    int here, count, n = 1;

    if (mpixq_gpu_cleared(gpu, gpu->calls->device(&here)) != 0 ||
        mpixq_gpu_count(gpu, &count) != 0 || room < 1 ||
        gpu->ident_of(here, &peers[0].ident) != 0) {
        return 0;
    }
    peers[0].is_reached = true;
    for (int i = 0; i < count && n < room; i++) {
        if (i != here && gpu->ident_of(i, &peers[n].ident) == 0) {
            peers[n++].is_reached = mpixq_gpu_reach(gpu, here, i) == MPIXQ_REACH_ATOMICS;
        }
    }
    return n;
}

int mpixq_gpu_span(const struct mpixq_gpu *gpu, const void *address, void **base_p, size_t *bytes_p)
{
    return gpu->calls->span != NULL
               ? mpixq_gpu_cleared(gpu, gpu->calls->span(base_p, bytes_p, (void *)address))
               : MPIXQ_GPU_NOT_SUPPORTED;
}

/* A library may write 4 bytes or 8. */
uint64_t mpixq_gpu_allocation_id(const struct mpixq_gpu *gpu, const void *address)
{
    uint64_t id = 0;

    return gpu->ask_pointer(address, MPIXQ_GPU_BUFFER_ID, &id) == 0 ? id : 0;
}

int mpixq_gpu_share(const struct mpixq_gpu *gpu, void *base, struct mpixq_gpu_handle *handle_p)
{
    const struct mpixq_gpu_calls *calls = gpu->calls;

    return calls->share != NULL && calls->open_shared != NULL && calls->close_shared != NULL
               ? mpixq_gpu_cleared(gpu, calls->share(handle_p, base))
               : MPIXQ_GPU_NOT_SUPPORTED;
}

int mpixq_gpu_open_shared(const struct mpixq_gpu *gpu, const struct mpixq_gpu_handle *handle,
                          void **address_p)
{
    const unsigned *enable_peer = gpu->numbers.enable_peer;
    int code = mpixq_gpu_cleared(gpu, gpu->calls->open_shared(address_p, *handle, enable_peer[0]));

    return code == MPIXQ_GPU_INVALID_VALUE && enable_peer[1] != enable_peer[0]
               ? mpixq_gpu_cleared(gpu, gpu->calls->open_shared(address_p, *handle, enable_peer[1]))
               : code;
}

void mpixq_gpu_close_shared(const struct mpixq_gpu *gpu, void *address)
{
    /* The place may be gone, and the mapping with it. */
    (void)mpixq_gpu_cleared(gpu, gpu->calls->close_shared(address));
}

/* What the library promises of the order in which GPUs see what a NIC writes; NULL: enough. */
static const char *lacks_order(const struct mpixq_gpu *gpu, int device)
{
    int ordering = 0, devices = 0;

    if ((gpu->tells_order != NULL && !gpu->tells_order()) ||
        mpixq_gpu_cleared(
            gpu, gpu->calls->attribute(&ordering, gpu->numbers.rdma_ordering, device)) != 0 ||
        ordering < MPIXQ_GPU_ORDERED_FOR_OWNER) {
        return gpu->texts.no_order;
    }
    return ordering < MPIXQ_GPU_ORDERED_FOR_ALL &&
                   (mpixq_gpu_count(gpu, &devices) != 0 || devices > 1)
               ? gpu->texts.order_for_owner
               : NULL;
}

int mpixq_gpu_held(const struct mpixq_gpu *gpu, const void *address)
{
    unsigned yes = 1;

    /* A copy that the host makes ends when the data is there, and not before. */
    return gpu->calls->set_pointer != NULL
               ? mpixq_gpu_cleared(gpu,
                                   gpu->calls->set_pointer(&yes, MPIXQ_GPU_SYNC_MEMOPS, address))
               : gpu->numbers.held_without;
}

bool mpixq_gpu_orders(const struct mpixq_gpu *gpu)
{
    int devices = 0;
    bool orders = false;

    (void)mpixq_gpu_count(gpu, &devices); /* or there are none */
    for (int device = 0; device < devices; device++) {
        orders = orders || lacks_order(gpu, device) == NULL;
    }
    return orders;
}

const char *mpixq_gpu_for_nic(const struct mpixq_gpu *gpu, const void *address, bool written,
                              bool trusts, int *device_p)
{
    if (gpu->device_of(address, device_p) != 0) {
        return gpu->texts.no_device;
    }
    return trusts ? NULL : written ? lacks_order(gpu, *device_p) : gpu->texts.no_reads;
}
