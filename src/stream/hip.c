/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * HIP, by the interface of its runtime. Here is what CUDA does in another way; what of HIP is used
 * is declared in hip_runtime.h. */
#include "hip_runtime.h"

#include <string.h>

#include "comm/error.h"
#include "gpu.h"
#include "gpu_share.h"

static int cleared(int code)
{
    return mpixq_gpu_cleared(&mpixq_gpu_hip, code);
}

/* The runtime has no state that tells whether it is used: that it was loaded has to do. */
static bool hip_is_used(void)
{
    return mpixq_hip_find(false);
}

static const char *hip_text(int code)
{
    const char *text = mpixq_hip.error_string(code);

    return text != NULL ? text : "unknown error";
}

/* A place is the number of a device, and 1. */
static void *place_of_device(int device)
{
    return (void *)((uintptr_t)device + 1);
}

static int device_of_place(const void *place)
{
    return (int)((uintptr_t)place - 1);
}

static int hip_place_of(void *stream, void **place_p)
{
    bool is_default = (uintptr_t)stream <= (uintptr_t)MPIXQ_GPU_PER_THREAD;
    int device = 0, code;

    code = is_default || mpixq_hip.stream_device == NULL ? mpixq_hip.both.device(&device)
                                                         : mpixq_hip.stream_device(stream, &device);
    *place_p = place_of_device(device);
    return cleared(code);
}

static int hip_enter(void *place, void **before_p)
{
    int before = 0, code;

    mpixq_gpu_relax(&mpixq_gpu_hip);
    code = mpixq_hip.both.device(&before);
    *before_p = place_of_device(before);
    if (code == 0 && *before_p != place) {
        code = mpixq_hip.set_device(device_of_place(place));
    }
    if (code != 0) {
        mpixq_gpu_restore(&mpixq_gpu_hip);
    }
    return cleared(code);
}

static void hip_leave(void *place, void *before)
{
    if (before != place) {
        (void)cleared(mpixq_hip.set_device(device_of_place(before))); /* it was set before */
    }
    mpixq_gpu_restore(&mpixq_gpu_hip);
}

static int hip_use(int device)
{
    return cleared(mpixq_hip.set_device(device));
}

/* By where it is, which every version of the runtime tells. */
static int hip_identify(char name_p[MPIXQ_GPU_NAME_ROOM])
{
    int device, code = mpixq_hip.both.device(&device);

    if (mpixq_hip.both.bus_id == NULL) {
        return MPIXQ_GPU_NOT_SUPPORTED;
    }
    return cleared(code != 0 ? code : mpixq_hip.both.bus_id(name_p, MPIXQ_GPU_NAME_ROOM, device));
}

/* Where the device is on the bus: it has a UUID in newer versions only. */
static int hip_ident_of(int device, struct mpixq_gpu_ident *ident_p)
{
    char name[sizeof *ident_p] = "";
    int code = mpixq_hip.both.bus_id != NULL
                   ? cleared(mpixq_hip.both.bus_id(name, sizeof name, device))
                   : MPIXQ_GPU_NOT_SUPPORTED;

    if (code == 0) {
        memcpy(ident_p, name, sizeof name);
    }
    return code;
}

/* Processes have hardware queues of their own there, which run side by side while there are enough
 * of them. */
static bool hip_in_turns(const char **why_p)
{
    *why_p = "values were never measured on HIP";
    return false;
}

static bool hip_has_values(void)
{
    int device = 0, value = 0;

    return cleared(mpixq_hip.both.device(&device)) == 0 &&
           cleared(mpixq_hip.both.attribute(&value, MPIXQ_HIP_HAS_WAIT_VALUE, device)) == 0 &&
           value != 0;
}

static int hip_wait(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed)
{
    int code = mpixq_hip.wait(stream, gate, opened, MPIXQ_GPU_WAIT_GEQ, UINT64_MAX);

    return code != 0 || word == NULL ? cleared(code)
                                     : mpixq_gpu_write(&mpixq_gpu_hip, stream, word, passed);
}

static int hip_copy(void *stream, void *to, const void *from, size_t bytes)
{
    return cleared(mpixq_hip.copy(to, from, bytes, MPIXQ_HIP_COPY_DEFAULT, stream));
}

static int hip_alloc(size_t bytes, void **address_p)
{
    return cleared(mpixq_hip.alloc(address_p, bytes, 0)); /* as hipMalloc */
}

/* GPUs see each other's changes while kernels run only where memory is fine-grained, and newer ones
 * only where it is not cached. */
static int hip_words_alloc(size_t bytes, void **address_p)
{
    int code = mpixq_hip.of_device == MPIXQ_HIP_6_DEVICE
                   ? cleared(mpixq_hip.alloc(address_p, bytes, MPIXQ_HIP_UNCACHED))
                   : MPIXQ_GPU_NOT_SUPPORTED;

    return code == 0 ? code : cleared(mpixq_hip.alloc(address_p, bytes, MPIXQ_HIP_FINE_GRAINED));
}

/* Value waits are defined for signal memory only. Host and GPU have the same address for it. */
static int hip_word_alloc(void **host_p)
{
    return cleared(mpixq_hip.alloc(host_p, sizeof(uint64_t), MPIXQ_HIP_SIGNAL_MEMORY));
}

static int hip_ask_pointer(const void *address, int attribute, void *value_p)
{
    return mpixq_hip.pointer_attribute != NULL
               ? cleared(mpixq_hip.pointer_attribute(value_p, attribute, (void *)address))
               : MPIXQ_GPU_NOT_SUPPORTED;
}

static int hip_device_of(const void *address, int *device_p)
{
    struct mpixq_hip_pointer attributes = {.type = -1};
    int code = cleared(mpixq_hip.pointer_attributes(&attributes, address));

    if (code == 0) {
        *device_p = attributes.device;
    }
    return code;
}

/* Managed memory can be accessed by the host, be it by moving pages. */
static enum mpixq_place_of_memory hip_where(const void *address, void **place_p)
{
    struct mpixq_hip_pointer attributes = {.type = -1};

    if (cleared(mpixq_hip.pointer_attributes(&attributes, address)) != 0) {
        return MPIXQ_AT_HOST;
    }
    if (attributes.is_managed) {
        return MPIXQ_MOVING;
    }
    if (attributes.type != mpixq_hip.of_device) {
        return MPIXQ_AT_HOST;
    }
    *place_p = place_of_device(attributes.device);
    return MPIXQ_AT_GPU;
}

/* Older versions know no numbers: there what has come to the same address passes for it. */
static bool hip_is_gone(const void *address, uint64_t id)
{
    struct mpixq_hip_pointer attributes = {.type = -1};
    int code = cleared(mpixq_hip.pointer_attributes(&attributes, address));

    return code == MPIXQ_GPU_INVALID_VALUE ||
           (code == 0 && (attributes.type != mpixq_hip.of_device ||
                          (id != 0 && mpixq_gpu_allocation_id(&mpixq_gpu_hip, address) != id)));
}

/* The question is as new as the function, and its number may have meant something else before. */
static bool hip_tells_order(void)
{
    return mpixq_hip.flush != NULL;
}

static const struct mpixq_gpu_code built_in[] = {
    {"code objects", mpixq_code_hip, &mpixq_code_hip_bytes, mpixq_code_hip_archs},
    {NULL, NULL, NULL, NULL},
};

/* Host memory is coherent: both sides see it while a kernel runs. Older versions ignore what says
 * that memory is registers, some newer ones refuse it: to both they are pages like others. With
 * versions that cannot hold memory, a program that copies by itself and has the host start the send
 * waits for the copy. */
const struct mpixq_gpu mpixq_gpu_hip = {
    .vendor = MPIXQ_GPU_HIP,
    .kind = "hipStream_t",
    .memory = "hip",
    .name = "HIP",
    .library = "libamdhip64.so",
    .libraries = mpixq_hip_libraries,
    .not_found = MPIXQ_E_HIP,
    .code = built_in,
    .calls = &mpixq_hip.both,
    .numbers = {.host_memory = MPIXQ_GPU_PORTABLE | MPIXQ_GPU_MAPPED | MPIXQ_HIP_COHERENT,
                .enable_peer = {MPIXQ_HIP_ENABLE_PEER, !MPIXQ_HIP_ENABLE_PEER},
                .have_access = MPIXQ_HIP_PEERS_HAVE_ACCESS,
                .have_atomics = MPIXQ_HIP_PEERS_HAVE_ATOMICS,
                .rdma_ordering = MPIXQ_HIP_RDMA_ORDERING,
                .held_without = 0},
    .maps_io_as_memory = true,
    .first_is_default = true,
    .at_once = false,
    .early = NULL,
    .texts = {.no_device = "HIP does not tell its device",
              .no_order = "HIP does not promise that the GPU sees what a NIC has written",
              .order_for_owner = "HIP promises that only the GPU that has the memory sees what a "
                                 "NIC has written",
              .no_reads = "HIP does not promise that a NIC sees what kernels have written"},
    .find = mpixq_hip_find,
    .is_used = hip_is_used,
    .text = hip_text,
    .place_of = hip_place_of,
    .enter = hip_enter,
    .leave = hip_leave,
    .use = hip_use,
    .identify = hip_identify,
    .ident_of = hip_ident_of,
    .in_turns = hip_in_turns,
    .has_values = hip_has_values,
    .wait = hip_wait,
    .copy = hip_copy,
    .compile = mpixq_hip_compile,
    .alloc = hip_alloc,
    .words_alloc = hip_words_alloc,
    .word_alloc = hip_word_alloc,
    .ask_pointer = hip_ask_pointer,
    .device_of = hip_device_of,
    .where = hip_where,
    .is_gone = hip_is_gone,
    .tells_order = hip_tells_order,
};
