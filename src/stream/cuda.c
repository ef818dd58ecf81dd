/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * CUDA, by the interface of its driver: that of the runtime stands on it, and a cudaStream_t is a
 * CUstream. What it has is declared in cuda_driver.h. */
#include "cuda_driver.h"

#include <stddef.h>
#include <stdio.h>

#include "comm/error.h"
#include "cuda_about.h"
#include "cuda_graph.h"
#include "cuda_nic.h"
#include "cuda_nvml.h"
#include "cuda_share.h"
#include "gpu.h"
#include "util/lock.h"
#include "util/thread.h"

struct mpixq_cuda mpixq_cuda;

#define NEEDED(field, name)                                                                        \
    {                                                                                              \
        name, (void **)&mpixq_cuda.field, false                                                    \
    }
#define OPTIONAL(field, name)                                                                      \
    {                                                                                              \
        name, (void **)&mpixq_cuda.field, true                                                     \
    }
static const struct mpixq_gpu_symbol symbols[] = {
    NEEDED(init, "cuInit"),
    NEEDED(error_string, "cuGetErrorString"),
    NEEDED(current, "cuCtxGetCurrent"),
    NEEDED(push, "cuCtxPushCurrent_v2"),
    NEEDED(pop, "cuCtxPopCurrent_v2"),
    NEEDED(device, "cuCtxGetDevice"),
    NEEDED(attribute, "cuDeviceGetAttribute"),
    NEEDED(retain, "cuDevicePrimaryCtxRetain"),
    NEEDED(host_alloc, "cuMemHostAlloc"),
    NEEDED(host_free, "cuMemFreeHost"),
    NEEDED(address, "cuMemHostGetDevicePointer_v2"),
    NEEDED(pointer_attributes, "cuPointerGetAttributes"),
    NEEDED(load, "cuModuleLoadData"),
    NEEDED(function, "cuModuleGetFunction"),
    NEEDED(launch, "cuLaunchKernel"),
    OPTIONAL(launch_with, "cuLaunchKernelEx"),
    NEEDED(copy, "cuMemcpyAsync"),
    NEEDED(stream_context, "cuStreamGetCtx"),
    NEEDED(query, "cuStreamQuery"),
    NEEDED(is_capturing, "cuStreamIsCapturing"),
    OPTIONAL(capture_info, "cuStreamGetCaptureInfo_v2"),
    OPTIONAL(capture_info_new, "cuStreamGetCaptureInfo_v3"),
    OPTIONAL(capture_after, "cuStreamUpdateCaptureDependencies"),
    OPTIONAL(capture_after_new, "cuStreamUpdateCaptureDependencies_v2"),
    OPTIONAL(node_type, "cuGraphNodeGetType"),
    OPTIONAL(user_object, "cuUserObjectCreate"),
    OPTIONAL(user_object_release, "cuUserObjectRelease"),
    OPTIONAL(retain_user_object, "cuGraphRetainUserObject"),
    OPTIONAL(exchange_mode, "cuThreadExchangeStreamCaptureMode"),
    OPTIONAL(load_function, "cuFuncLoad"),
    OPTIONAL(function_attribute, "cuFuncGetAttribute"),
    OPTIONAL(uuid, "cuDeviceGetUuid_v2"),
    OPTIONAL(map, "cuMemHostRegister_v2"),
    OPTIONAL(unmap, "cuMemHostUnregister"),
    OPTIONAL(set_pointer, "cuPointerSetAttribute"),
    OPTIONAL(write, "cuStreamWriteValue64_v2"),
    OPTIONAL(batch, "cuStreamBatchMemOp_v2"),
    NEEDED(device_count, "cuDeviceGetCount"),
    OPTIONAL(device_name, "cuDeviceGetName"),
    OPTIONAL(bus_id, "cuDeviceGetPCIBusId"),
    OPTIONAL(between, "cuDeviceGetP2PAttribute"),
    OPTIONAL(span, "cuMemGetAddressRange_v2"),
    OPTIONAL(share, "cuIpcGetMemHandle"),
    OPTIONAL(open_shared, "cuIpcOpenMemHandle_v2"),
    OPTIONAL(close_shared, "cuIpcCloseMemHandle"),
    NEEDED(alloc, "cuMemAlloc_v2"),
    NEEDED(free, "cuMemFree_v2"),
    NEEDED(zero, "cuMemsetD8Async"),
    NEEDED(stream_create, "cuStreamCreate"),
    NEEDED(finish, "cuStreamSynchronize"),
    OPTIONAL(idle, "cuCtxSynchronize"),
    OPTIONAL(pool_export, "cuMemPoolExportToShareableHandle"),
    OPTIONAL(pool_import, "cuMemPoolImportFromShareableHandle"),
    OPTIONAL(pool_access, "cuMemPoolGetAccess"),
    OPTIONAL(pool_set_access, "cuMemPoolSetAccess"),
    OPTIONAL(pool_destroy, "cuMemPoolDestroy"),
    OPTIONAL(piece_export, "cuMemPoolExportPointer"),
    OPTIONAL(piece_import, "cuMemPoolImportPointer"),
    OPTIONAL(chunk_of, "cuMemRetainAllocationHandle"),
    OPTIONAL(chunk_release, "cuMemRelease"),
    OPTIONAL(chunk_export, "cuMemExportToShareableHandle"),
    OPTIONAL(chunk_import, "cuMemImportFromShareableHandle"),
    OPTIONAL(reserve, "cuMemAddressReserve"),
    OPTIONAL(unreserve, "cuMemAddressFree"),
    OPTIONAL(chunk_map, "cuMemMap"),
    OPTIONAL(chunk_unmap, "cuMemUnmap"),
    OPTIONAL(set_access, "cuMemSetAccess"),
    {NULL, NULL, false},
};

static struct {
    struct mpixq_lock lock;
    bool found;
    unsigned long long loaded; /* when it was looked for last */
} library = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CUDA)};
static MPIXQ_THREAD_LOCAL struct mpixq_gpu_relaxed relaxed;

static bool cuda_find(bool load)
{
    static const char *const libraries[] = {"libcuda.so.1", NULL};
    bool usable;

    mpixq_lock_acquire(&library.lock);
    library.found = library.found || (load ? mpixq_gpu_open(libraries, true, symbols)
                                           : mpixq_gpu_look(libraries, &library.loaded, symbols));
    usable = library.found;
    mpixq_lock_release(&library.lock);
    return usable && (!load || mpixq_cuda.init(0) == 0);
}

static bool cuda_is_used(void)
{
    void *context;

    /* An error before anybody has called cuInit. */
    return cuda_find(false) && mpixq_cuda.current(&context) == 0;
}

static void cuda_relax(void)
{
    mpixq_gpu_relax(&relaxed, mpixq_cuda.exchange_mode);
}

static void cuda_restore(void)
{
    mpixq_gpu_restore(&relaxed, mpixq_cuda.exchange_mode);
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
        cuda_relax();
        code = mpixq_cuda.retain(place_p, 0);
        cuda_restore();
    }
    return code;
}

static int cuda_enter(void *place, void **before_p)
{
    int code;

    cuda_relax();
    code = mpixq_cuda.current(before_p);
    code = code == 0 && *before_p != place ? mpixq_cuda.push(place) : code;
    if (code != 0) {
        cuda_restore();
    }
    return code;
}

static void cuda_leave(void *place, void *before)
{
    if (before != place) {
        (void)mpixq_cuda.pop(&place); /* what was entered can be left */
    }
    cuda_restore();
}

static int cuda_host_alloc(size_t bytes, void **host_p)
{
    return mpixq_cuda.host_alloc(host_p, bytes, MPIXQ_CU_PORTABLE | MPIXQ_CU_MAPPED);
}

static void cuda_host_free(void *host)
{
    (void)mpixq_cuda.host_free(host); /* the context may be gone, and the memory with it */
}

static int cuda_address(void *host, void **address_p)
{
    return mpixq_cuda.address(address_p, host, 0);
}

static int cuda_map(void *memory, size_t bytes, bool is_io)
{
    if (mpixq_cuda.map == NULL || mpixq_cuda.unmap == NULL) {
        return MPIXQ_CU_NOT_SUPPORTED;
    }
    return mpixq_cuda.map(memory, bytes,
                          MPIXQ_CU_PORTABLE | MPIXQ_CU_MAPPED | (is_io ? MPIXQ_CU_IO_MEMORY : 0));
}

static int cuda_unmap(void *memory)
{
    return mpixq_cuda.unmap(memory);
}

static int cuda_word_alloc(void **host_p)
{
    *host_p = NULL;
    return 0;
}

static void cuda_word_free(void *host)
{
    (void)host;
}

static bool has_attribute(int attribute, int device)
{
    int value = 0;

    return mpixq_cuda.attribute(&value, attribute, device) == 0 && value != 0;
}

static int cuda_identify(char name_p[MPIXQ_GPU_NAME_ROOM])
{
    struct mpixq_cuda_uuid uuid; /* of a part of the GPU, if it is divided */
    int device, code = mpixq_cuda.device(&device);

    if (mpixq_cuda.uuid == NULL) {
        return MPIXQ_CU_NOT_SUPPORTED;
    }
    code = code != 0 ? code : mpixq_cuda.uuid(&uuid, device);
    for (size_t i = 0; code == 0 && i < sizeof uuid.bytes; i++) {
        (void)snprintf(&name_p[2 * i], 3, "%02x", (unsigned)(unsigned char)uuid.bytes[i]);
    }
    return code;
}

/* The attribute is known from driver 12.2 on; before, whether MPS serves the GPU is not known. */
static bool cuda_in_turns(const char **why_p)
{
    int device;

    *why_p = "MPS serves this GPU";
    return mpixq_cuda.device(&device) != 0 || !has_attribute(MPIXQ_CU_HAS_MPS, device);
}

static bool cuda_has_values(void)
{
    int device;

    return mpixq_cuda.write != NULL && mpixq_cuda.batch != NULL &&
           mpixq_cuda.device(&device) == 0 && has_attribute(MPIXQ_CU_HAS_64_BIT_VALUES, device);
}

static int cuda_load(const void *code, void **module_p)
{
    return mpixq_cuda.load(module_p, code);
}

/* CUDA may load a kernel when it is first launched, and to load may wait for the GPU: for a kernel
 * that waits, if one does. So all are loaded at once; a driver that has no call for that does so to
 * answer a question. */
static int cuda_function(void *module, const char *name, void **function_p)
{
    int value, code = mpixq_cuda.function(function_p, module, name);

    if (code == 0 && mpixq_cuda.load_function != NULL) {
        code = mpixq_cuda.load_function(*function_p);
    } else if (code == 0 && mpixq_cuda.function_attribute != NULL) {
        code = mpixq_cuda.function_attribute(&value, MPIXQ_CU_BINARY_VERSION, *function_p);
    }
    return code;
}

/* A driver compiles PTX for every GPU that it knows. */
static void *cuda_compile(const char **why_p)
{
    *why_p = "CUDA's driver compiles no source";
    return NULL;
}

static int cuda_write(void *stream, void *word, uint64_t value)
{
    return mpixq_cuda.write(stream, word, value, 0);
}

static int cuda_wait(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed)
{
    struct mpixq_cuda_value both[2] = {
        {.operation = MPIXQ_CU_WAIT_VALUE_64,
         .address = gate,
         .value = opened,
         .flags = MPIXQ_CU_WAIT_GEQ},
        {.operation = MPIXQ_CU_WRITE_VALUE_64, .address = word, .value = passed}};

    return mpixq_cuda.batch(stream, word != NULL ? 2 : 1, both, 0);
}

static int cuda_launch(void *stream, void *function, struct mpixq_grid grid, void **parameters)
{
    struct mpixq_cuda_launch_attribute early = {.id = MPIXQ_CU_PROGRAMMATIC_SERIALIZATION,
                                                .value = {1}};
    struct mpixq_cuda_launch with = {.blocks = {grid.blocks, 1, 1},
                                     .threads = {grid.threads, 1, 1},
                                     .stream = stream,
                                     .attributes = &early,
                                     .n = 1};

    if (grid.early && mpixq_cuda.launch_with != NULL) {
        return mpixq_cuda.launch_with(&with, function, parameters, NULL);
    }
    return mpixq_cuda.launch(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, stream, parameters,
                             NULL);
}

static int cuda_zero(void *stream, void *address, size_t bytes)
{
    return mpixq_cuda.zero(address, 0, bytes, stream);
}

static int cuda_own_stream(void **stream_p)
{
    return mpixq_cuda.stream_create(stream_p, MPIXQ_CU_NON_BLOCKING);
}

static int cuda_finish(void *stream)
{
    return mpixq_cuda.finish(stream);
}

static int cuda_words_alloc(size_t bytes, void **address_p)
{
    return mpixq_cuda.alloc(address_p, bytes);
}

static void cuda_words_free(void *address)
{
    (void)mpixq_cuda.free(address); /* likewise */
}

static int cuda_copy(void *stream, void *to, const void *from, size_t bytes)
{
    return mpixq_cuda.copy(to, from, bytes, stream);
}

static const char *cuda_text(int code)
{
    const char *text = NULL;

    return mpixq_cuda.error_string(code, &text) == 0 && text != NULL ? text : "unknown error";
}

static const char *cuda_broken(void *stream)
{
    int code = mpixq_cuda.query(stream);

    return code == 0 || code == MPIXQ_CU_NOT_READY ? NULL : cuda_text(code);
}

static bool cuda_is_capturing(void *stream, bool *lost_p)
{
    int status = MPIXQ_CU_NOT_CAPTURING, code = mpixq_cuda.is_capturing(stream, &status);

    *lost_p = code != 0 && code != MPIXQ_CU_CAPTURE_IMPLICIT;
    return code == MPIXQ_CU_CAPTURE_IMPLICIT || (code == 0 && status != MPIXQ_CU_NOT_CAPTURING);
}

/* Memory of a pool belongs to a device, and to no context. */
static void *context_on(int device)
{
    void *context = NULL;
    int current;

    return mpixq_cuda.device(&current) == 0 && current == device &&
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

static const struct mpixq_gpu_code built_in[] = {
    {"machine code", mpixq_cubins, &mpixq_cubins_bytes, mpixq_cubins_archs},
    {"PTX for sm_90", mpixq_code_cuda90, &mpixq_code_cuda90_bytes, mpixq_code_cuda90_archs},
    {"PTX", mpixq_code_cuda, &mpixq_code_cuda_bytes, mpixq_code_cuda_archs},
    {NULL, NULL, NULL, NULL},
};

const struct mpixq_gpu mpixq_gpu_cuda = {
    .kind = "cudaStream_t",
    .name = "CUDA",
    .not_found = MPIXQ_E_CUDA,
    .code = built_in,
    .find = cuda_find,
    .is_used = cuda_is_used,
    .relax = cuda_relax,
    .restore = cuda_restore,
    .place_of = cuda_place_of,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .address = cuda_address,
    .map = cuda_map,
    .unmap = cuda_unmap,
    .word_alloc = cuda_word_alloc,
    .word_free = cuda_word_free,
    .identify = cuda_identify,
    .in_turns = cuda_in_turns,
    .has_values = cuda_has_values,
    .load = cuda_load,
    .function = cuda_function,
    .early = "mpixq_early",
    .compile = cuda_compile,
    .write = cuda_write,
    .wait = cuda_wait,
    .launch = cuda_launch,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .own_stream = cuda_own_stream,
    .finish = cuda_finish,
    .at_once = true,
    .peers = mpixq_cuda_peers,
    .lacks_atomics = mpixq_cuda_lacks_atomics,
    .span = mpixq_cuda_span,
    .allocation_id = mpixq_cuda_allocation_id,
    .is_gone = mpixq_cuda_is_gone,
    .share = mpixq_cuda_share,
    .open_shared = mpixq_cuda_open_shared,
    .close_shared = mpixq_cuda_close_shared,
    .words_alloc = cuda_words_alloc,
    .words_free = cuda_words_free,
    .files = &mpixq_cuda_files,
    .broken = cuda_broken,
    .is_capturing = cuda_is_capturing,
    .capture = mpixq_cuda_capture,
    .keep = mpixq_cuda_keep,
    .come_after = mpixq_cuda_come_after,
    .for_nic = mpixq_cuda_for_nic,
    .held = mpixq_cuda_held,
    .orders = mpixq_cuda_orders,
    .where = cuda_where,
    .text = cuda_text,
    .library = "libcuda.so.1",
    .count = mpixq_cuda_count,
    .describe = mpixq_cuda_describe,
    .reach = mpixq_cuda_reach,
    .use = mpixq_cuda_use,
    .alloc = cuda_words_alloc,
};
