/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * CUDA, by the interface of its driver: that of the runtime stands on it, and a cudaStream_t is a
 * CUstream. Here is what HIP does in another way; what of CUDA is used is declared in
 * cuda_driver.h. */
#include "cuda_driver.h"

#include <stdio.h>
#include <string.h>

#include "comm/error.h"
#include "cuda_nvml.h"
#include "gpu.h"

static bool cuda_is_used(void)
{
    void *context;

    /* An error before anybody has called cuInit. */
    return mpixq_cuda_find(false) && mpixq_cuda.current(&context) == 0;
}

static const char *cuda_text(int code)
{
    const char *text = NULL;

    return mpixq_cuda.error_string(code, &text) == 0 && text != NULL ? text : "unknown error";
}

static bool is_default(const void *stream)
{
    return (uintptr_t)stream <= (uintptr_t)MPIXQ_GPU_PER_THREAD;
}

static int cuda_place_of(void *stream, void **place_p)
{
    int code;

    if (!is_default(stream)) {
        return mpixq_cuda.stream_context(stream, place_p);
    }
    code = mpixq_cuda.current(place_p);
    if (code == 0 && *place_p == NULL) {
        /* As the runtime does in a thread that has chosen no device. Kept for good. */
        mpixq_gpu_relax(&mpixq_gpu_cuda);
        code = mpixq_cuda.retain(place_p, 0);
        mpixq_gpu_restore(&mpixq_gpu_cuda);
    }
    return code;
}

static int cuda_enter(void *place, void **before_p)
{
    int code;

    mpixq_gpu_relax(&mpixq_gpu_cuda);
    code = mpixq_cuda.current(before_p);
    code = code == 0 && *before_p != place ? mpixq_cuda.push(place) : code;
    if (code != 0) {
        mpixq_gpu_restore(&mpixq_gpu_cuda);
    }
    return code;
}

static void cuda_leave(void *place, void *before)
{
    if (before != place) {
        (void)mpixq_cuda.pop(&place); /* what was entered can be left */
    }
    mpixq_gpu_restore(&mpixq_gpu_cuda);
}

/* As the runtime does. The context is kept for good. */
static int cuda_use(int device)
{
    void *context = NULL;
    int code = mpixq_cuda.retain(&context, device);

    return code != 0 ? code : mpixq_cuda.push(context);
}

static bool has_attribute(int attribute, int device)
{
    int value = 0;

    return mpixq_cuda.both.attribute(&value, attribute, device) == 0 && value != 0;
}

static int cuda_identify(char name_p[MPIXQ_GPU_NAME_ROOM])
{
    struct mpixq_cuda_uuid uuid; /* of a part of the GPU, if it is divided */
    int device, code = mpixq_cuda.both.device(&device);

    if (mpixq_cuda.uuid == NULL) {
        return MPIXQ_GPU_NOT_SUPPORTED;
    }
    code = code != 0 ? code : mpixq_cuda.uuid(&uuid, device);
    for (size_t i = 0; code == 0 && i < sizeof uuid.bytes; i++) {
        (void)snprintf(&name_p[2 * i], 3, "%02x", (unsigned)(unsigned char)uuid.bytes[i]);
    }
    return code;
}

_Static_assert(sizeof(struct mpixq_gpu_ident) == sizeof(struct mpixq_cuda_uuid), "ident");

static int cuda_ident_of(int device, struct mpixq_gpu_ident *ident_p)
{
    struct mpixq_cuda_uuid uuid;
    int code = mpixq_cuda.uuid != NULL ? mpixq_cuda.uuid(&uuid, device) : MPIXQ_GPU_NOT_SUPPORTED;

    if (code == 0) {
        memcpy(ident_p, &uuid, sizeof uuid);
    }
    return code;
}

/* The attribute is known from driver 12.2 on; before, whether MPS serves the GPU is not known. */
static bool cuda_in_turns(const char **why_p)
{
    int device;

    *why_p = "MPS serves this GPU";
    return mpixq_cuda.both.device(&device) != 0 || !has_attribute(MPIXQ_CU_HAS_MPS, device);
}

static bool cuda_has_values(void)
{
    int device;

    return mpixq_cuda.both.write != NULL && mpixq_cuda.batch != NULL &&
           mpixq_cuda.both.device(&device) == 0 &&
           has_attribute(MPIXQ_CU_HAS_64_BIT_VALUES, device);
}

static int cuda_wait(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed)
{
    struct mpixq_cuda_value both[2] = {
        {.operation = MPIXQ_CU_WAIT_VALUE_64,
         .address = gate,
         .value = opened,
         .flags = MPIXQ_GPU_WAIT_GEQ},
        {.operation = MPIXQ_CU_WRITE_VALUE_64, .address = word, .value = passed}};

    return mpixq_cuda.batch(stream, word != NULL ? 2 : 1, both, 0);
}

static int cuda_copy(void *stream, void *to, const void *from, size_t bytes)
{
    return mpixq_cuda.copy(to, from, bytes, stream);
}

static int cuda_alloc(size_t bytes, void **address_p)
{
    return mpixq_cuda.alloc(address_p, bytes);
}

static int cuda_ask_pointer(const void *address, int attribute, void *value_p)
{
    return mpixq_cuda.pointer_attributes(1, &attribute, &value_p, address);
}

static int cuda_device_of(const void *address, int *device_p)
{
    int device = 0, code = cuda_ask_pointer(address, MPIXQ_CU_DEVICE, &device);

    if (code == 0) {
        *device_p = device;
    }
    return code;
}

/* Memory of a pool belongs to a device, and to no context. */
static void *context_on(int device)
{
    void *context = NULL;
    int current;

    return mpixq_cuda.both.device(&current) == 0 && current == device &&
                   mpixq_cuda.current(&context) == 0
               ? context
               : NULL;
}

static enum mpixq_place_of_memory cuda_where(const void *address, void **place_p)
{
    int attributes[] = {MPIXQ_CU_MEMORY_TYPE, MPIXQ_CU_IS_MANAGED, MPIXQ_CU_DEVICE,
                        MPIXQ_CU_CONTEXT};
    unsigned type = 0, is_managed = 0;
    int device = 0;
    void *context = NULL;
    void *values[] = {&type, &is_managed, &device, &context};

    if (mpixq_cuda.pointer_attributes(4, attributes, values, address) != 0) {
        return MPIXQ_AT_HOST;
    }
    if (is_managed && has_attribute(MPIXQ_CU_HAS_CONCURRENT_MANAGED, device)) {
        return MPIXQ_MOVING;
    }
    if (!is_managed && type != MPIXQ_CU_MEMORY_DEVICE) {
        return MPIXQ_AT_HOST;
    }
    *place_p = context != NULL ? context : context_on(device);
    return MPIXQ_AT_GPU;
}

/* Memory that the driver does not know has no number. It is not there either if its context is
 * not. */
static bool cuda_is_gone(const void *address, uint64_t id)
{
    uint64_t now = 0;
    int code = cuda_ask_pointer(address, MPIXQ_GPU_BUFFER_ID, &now);

    return code == 0 ? now != id
                     : code == MPIXQ_GPU_INVALID_VALUE || code == MPIXQ_CU_INVALID_CONTEXT ||
                           code == MPIXQ_CU_CONTEXT_IS_DESTROYED;
}

static const struct mpixq_gpu_code built_in[] = {
    {"machine code", mpixq_cubins, &mpixq_cubins_bytes, mpixq_cubins_archs},
    {"PTX for sm_90", mpixq_code_cuda90, &mpixq_code_cuda90_bytes, mpixq_code_cuda90_archs},
    {"PTX", mpixq_code_cuda, &mpixq_code_cuda_bytes, mpixq_code_cuda_archs},
    {NULL, NULL, NULL, NULL},
};

/* A driver compiles PTX for every GPU that it knows, so there is no compiler. To send from memory
 * of a GPU libfabric asks the driver for the memory's identity with each post, and posts are made
 * by threads that no GPU may hold up. */
const struct mpixq_gpu mpixq_gpu_cuda = {
    .vendor = MPIXQ_GPU_CUDA,
    .kind = "cudaStream_t",
    .memory = "cuda",
    .name = "CUDA",
    .library = "libcuda.so.1",
    .libraries = mpixq_cuda_libraries,
    .not_found = MPIXQ_E_CUDA,
    .code = built_in,
    .calls = &mpixq_cuda.both,
    .numbers = {.host_memory = MPIXQ_GPU_PORTABLE | MPIXQ_GPU_MAPPED,
                .enable_peer = {MPIXQ_CU_ENABLE_PEER, MPIXQ_CU_ENABLE_PEER},
                .have_access = MPIXQ_CU_PEERS_HAVE_ACCESS,
                .have_atomics = MPIXQ_CU_PEERS_HAVE_ATOMICS,
                .rdma_ordering = MPIXQ_CU_RDMA_ORDERING,
                .held_without = MPIXQ_GPU_NOT_SUPPORTED},
    .maps_io_as_memory = false,
    .at_once = true,
    .early = "mpixq_early",
    .texts = {.no_device = "CUDA does not tell its device",
              .no_order = "CUDA does not promise that the GPU sees what a NIC has written",
              .order_for_owner = "CUDA promises that only the GPU that has the memory sees what a "
                                 "NIC has written",
              .no_reads = "a post would have to ask CUDA's driver"},
    .find = mpixq_cuda_find,
    .is_used = cuda_is_used,
    .text = cuda_text,
    .place_of = cuda_place_of,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .use = cuda_use,
    .identify = cuda_identify,
    .ident_of = cuda_ident_of,
    .in_turns = cuda_in_turns,
    .has_values = cuda_has_values,
    .wait = cuda_wait,
    .copy = cuda_copy,
    .alloc = cuda_alloc,
    .words_alloc = cuda_alloc,
    .ask_pointer = cuda_ask_pointer,
    .device_of = cuda_device_of,
    .where = cuda_where,
    .is_gone = cuda_is_gone,
    .has_no_atomics = mpixq_cuda_has_no_atomics,
};
