/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * HIP, by the interface of its runtime. What it has is declared in hip_runtime.h. */
#include "hip_runtime.h"

#include <stddef.h>
#include <string.h>

#include "gpu.h"
#include "comm/error.h"
#include "hip_about.h"
#include "hip_graph.h"
#include "hip_share.h"
#include "util/lock.h"
#include "util/thread.h"

struct mpixq_hip mpixq_hip;
const char *const mpixq_hip_libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                           "libamdhip64.so.5", "libamdhip64.so", NULL};

#define NEEDED(field, name)                                                                        \
    {                                                                                              \
        name, (void **)&mpixq_hip.field, false                                                     \
    }
#define OPTIONAL(field, name)                                                                      \
    {                                                                                              \
        name, (void **)&mpixq_hip.field, true                                                      \
    }
static const struct mpixq_gpu_symbol symbols[] = {
    NEEDED(version, "hipRuntimeGetVersion"),
    NEEDED(error_string, "hipGetErrorString"),
    NEEDED(last_error, "hipGetLastError"),
    NEEDED(device_count, "hipGetDeviceCount"),
    NEEDED(device, "hipGetDevice"),
    NEEDED(set_device, "hipSetDevice"),
    NEEDED(attribute, "hipDeviceGetAttribute"),
    NEEDED(host_alloc, "hipHostMalloc"),
    NEEDED(host_free, "hipHostFree"),
    NEEDED(address, "hipHostGetDevicePointer"),
    NEEDED(alloc, "hipExtMallocWithFlags"),
    NEEDED(free, "hipFree"),
    NEEDED(pointer_attributes, "hipPointerGetAttributes"),
    NEEDED(load, "hipModuleLoadData"),
    NEEDED(function, "hipModuleGetFunction"),
    NEEDED(launch, "hipModuleLaunchKernel"),
    NEEDED(copy, "hipMemcpyAsync"),
    NEEDED(query, "hipStreamQuery"),
    NEEDED(write, "hipStreamWriteValue64"),
    NEEDED(wait, "hipStreamWaitValue64"),
    OPTIONAL(capture_info, "hipStreamGetCaptureInfo_v2"),
    OPTIONAL(capture_after, "hipStreamUpdateCaptureDependencies"),
    OPTIONAL(user_object, "hipUserObjectCreate"),
    OPTIONAL(retain_user_object, "hipGraphRetainUserObject"),
    OPTIONAL(exchange_mode, "hipThreadExchangeStreamCaptureMode"),
    OPTIONAL(properties, "hipGetDeviceProperties"),
    OPTIONAL(new_properties, "hipGetDevicePropertiesR0600"),
    OPTIONAL(bus_id, "hipDeviceGetPCIBusId"),
    OPTIONAL(map, "hipHostRegister"),
    OPTIONAL(unmap, "hipHostUnregister"),
    OPTIONAL(pointer_attribute, "hipPointerGetAttribute"),
    OPTIONAL(set_pointer, "hipPointerSetAttribute"),
    OPTIONAL(flush, "hipDeviceFlushGPUDirectRDMAWrites"),
    OPTIONAL(stream_device, "hipStreamGetDevice"),
    OPTIONAL(is_capturing, "hipStreamIsCapturing"),
    OPTIONAL(device_name, "hipDeviceGetName"),
    OPTIONAL(between, "hipDeviceGetP2PAttribute"),
    OPTIONAL(span, "hipMemGetAddressRange"),
    OPTIONAL(share, "hipIpcGetMemHandle"),
    OPTIONAL(open_shared, "hipIpcOpenMemHandle"),
    OPTIONAL(close_shared, "hipIpcCloseMemHandle"),
    NEEDED(zero, "hipMemsetAsync"),
    NEEDED(stream_create, "hipStreamCreateWithFlags"),
    NEEDED(finish, "hipStreamSynchronize"),
    OPTIONAL(idle, "hipDeviceSynchronize"),
    OPTIONAL(pool_export, "hipMemPoolExportToShareableHandle"),
    OPTIONAL(pool_import, "hipMemPoolImportFromShareableHandle"),
    OPTIONAL(pool_access, "hipMemPoolGetAccess"),
    OPTIONAL(pool_set_access, "hipMemPoolSetAccess"),
    OPTIONAL(pool_destroy, "hipMemPoolDestroy"),
    OPTIONAL(piece_export, "hipMemPoolExportPointer"),
    OPTIONAL(piece_import, "hipMemPoolImportPointer"),
    OPTIONAL(chunk_of, "hipMemRetainAllocationHandle"),
    OPTIONAL(chunk_release, "hipMemRelease"),
    OPTIONAL(chunk_export, "hipMemExportToShareableHandle"),
    OPTIONAL(chunk_import, "hipMemImportFromShareableHandle"),
    OPTIONAL(reserve, "hipMemAddressReserve"),
    OPTIONAL(unreserve, "hipMemAddressFree"),
    OPTIONAL(chunk_map, "hipMemMap"),
    OPTIONAL(chunk_unmap, "hipMemUnmap"),
    OPTIONAL(set_access, "hipMemSetAccess"),
    {NULL, NULL, false},
};

static struct {
    struct mpixq_lock lock;
    bool found;
    unsigned long long loaded; /* when it was looked for last */
} library = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_HIP)};
static int n_devices; /* constant once found */
static int of_device; /* value of a pointer's type; likewise */
static MPIXQ_THREAD_LOCAL struct mpixq_gpu_relaxed relaxed;

#define cleared mpixq_hip_cleared

static bool hip_find(bool load)
{
    int version = 0;
    bool usable;

    mpixq_lock_acquire(&library.lock);
    if (!library.found && (load ? mpixq_gpu_open(mpixq_hip_libraries, true, symbols)
                                : mpixq_gpu_look(mpixq_hip_libraries, &library.loaded, symbols))) {
        library.found = true;
        (void)cleared(mpixq_hip.version(&version)); /* 0: taken for an old one */
        of_device = version >= MPIXQ_HIP_VERSION_6 ? MPIXQ_HIP_6_DEVICE : MPIXQ_HIP_5_DEVICE;
        n_devices = cleared(mpixq_hip.device_count(&n_devices)) == 0 ? n_devices : 0;
    }
    usable = library.found && n_devices > 0;
    mpixq_lock_release(&library.lock);
    return usable;
}

/* The runtime has no state that tells whether it is used: that it was loaded has to do. */
static bool hip_is_used(void)
{
    return hip_find(false);
}

static void hip_relax(void)
{
    mpixq_gpu_relax(&relaxed, mpixq_hip.exchange_mode);
}

static void hip_restore(void)
{
    mpixq_gpu_restore(&relaxed, mpixq_hip.exchange_mode);
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

    code = is_default || mpixq_hip.stream_device == NULL ? mpixq_hip.device(&device)
                                                         : mpixq_hip.stream_device(stream, &device);
    *place_p = place_of_device(device);
    return cleared(code);
}

static int hip_enter(void *place, void **before_p)
{
    int before = 0, code;

    hip_relax();
    code = mpixq_hip.device(&before);
    *before_p = place_of_device(before);
    if (code == 0 && *before_p != place) {
        code = mpixq_hip.set_device(device_of_place(place));
    }
    if (code != 0) {
        hip_restore();
    }
    return cleared(code);
}

static void hip_leave(void *place, void *before)
{
    if (before != place) {
        (void)cleared(mpixq_hip.set_device(device_of_place(before))); /* it was set before */
    }
    hip_restore();
}

static int hip_host_alloc(size_t bytes, void **host_p)
{
    /* Coherent: both sides see it while a kernel runs. */
    return cleared(mpixq_hip.host_alloc(
        host_p, bytes, MPIXQ_HIP_PORTABLE | MPIXQ_HIP_MAPPED | MPIXQ_HIP_COHERENT));
}

static void hip_host_free(void *host)
{
    (void)cleared(mpixq_hip.host_free(host)); /* the process is about to end */
}

static int hip_address(void *host, void **address_p)
{
    return cleared(mpixq_hip.address(address_p, host, 0));
}

static int hip_map(void *memory, size_t bytes, bool is_io)
{
    const unsigned flags = MPIXQ_HIP_PORTABLE | MPIXQ_HIP_MAPPED;
    int code;

    if (mpixq_hip.map == NULL || mpixq_hip.unmap == NULL) {
        return MPIXQ_HIP_NOT_SUPPORTED;
    }
    code = cleared(mpixq_hip.map(memory, bytes, flags | (is_io ? MPIXQ_HIP_IO_MEMORY : 0)));
    /* Older versions ignore what says that these are registers, some newer ones refuse it: to both
     * they are pages like others. */
    return is_io && (code == MPIXQ_HIP_INVALID_VALUE || code == MPIXQ_HIP_NOT_SUPPORTED)
               ? cleared(mpixq_hip.map(memory, bytes, flags))
               : code;
}

static int hip_unmap(void *memory)
{
    return cleared(mpixq_hip.unmap(memory));
}

/* Value waits are defined for signal memory only. Host and GPU have the same address for it. */
static int hip_word_alloc(void **host_p)
{
    return cleared(mpixq_hip.alloc(host_p, sizeof(uint64_t), MPIXQ_HIP_SIGNAL_MEMORY));
}

static void hip_word_free(void *host)
{
    (void)cleared(mpixq_hip.free(host)); /* the process is about to end */
}

/* By where it is, which every version of the runtime tells. */
static int hip_identify(char name_p[MPIXQ_GPU_NAME_ROOM])
{
    int device, code = mpixq_hip.device(&device);

    if (mpixq_hip.bus_id == NULL) {
        return MPIXQ_HIP_NOT_SUPPORTED;
    }
    return cleared(code != 0 ? code : mpixq_hip.bus_id(name_p, MPIXQ_GPU_NAME_ROOM, device));
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

    return cleared(mpixq_hip.device(&device)) == 0 &&
           cleared(mpixq_hip.attribute(&value, MPIXQ_HIP_HAS_WAIT_VALUE, device)) == 0 &&
           value != 0;
}

static int hip_load(const void *code, void **module_p)
{
    return cleared(mpixq_hip.load(module_p, code));
}

static int hip_function(void *module, const char *name, void **function_p)
{
    return cleared(mpixq_hip.function(function_p, module, name));
}

static int hip_write(void *stream, void *word, uint64_t value)
{
    return cleared(mpixq_hip.write(stream, word, value, 0));
}

static int hip_wait(void *stream, void *gate, uint64_t opened, void *word, uint64_t passed)
{
    int code = mpixq_hip.wait(stream, gate, opened, MPIXQ_HIP_WAIT_GEQ, UINT64_MAX);

    return code != 0 || word == NULL ? cleared(code) : hip_write(stream, word, passed);
}

static int hip_launch(void *stream, void *function, struct mpixq_grid grid, void **parameters)
{
    return cleared(mpixq_hip.launch(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, stream,
                                    parameters, NULL));
}

static int hip_zero(void *stream, void *address, size_t bytes)
{
    return cleared(mpixq_hip.zero(address, 0, bytes, stream));
}

static int hip_own_stream(void **stream_p)
{
    return cleared(mpixq_hip.stream_create(stream_p, MPIXQ_HIP_NON_BLOCKING));
}

static int hip_finish(void *stream)
{
    return cleared(mpixq_hip.finish(stream));
}

/* GPUs see each other's changes while kernels run only where memory is fine-grained, and newer ones
 * only where it is not cached. */
static int hip_words_alloc(size_t bytes, void **address_p)
{
    int code = of_device == MPIXQ_HIP_6_DEVICE
                   ? cleared(mpixq_hip.alloc(address_p, bytes, MPIXQ_HIP_UNCACHED))
                   : MPIXQ_HIP_NOT_SUPPORTED;

    return code == 0 ? code : cleared(mpixq_hip.alloc(address_p, bytes, MPIXQ_HIP_FINE_GRAINED));
}

static void hip_words_free(void *address)
{
    (void)cleared(mpixq_hip.free(address)); /* the process is about to end */
}

static int hip_copy(void *stream, void *to, const void *from, size_t bytes)
{
    return cleared(mpixq_hip.copy(to, from, bytes, MPIXQ_HIP_COPY_DEFAULT, stream));
}

static const char *hip_text(int code)
{
    const char *text = mpixq_hip.error_string(code);

    return text != NULL ? text : "unknown error";
}

static const char *hip_broken(void *stream)
{
    int code = cleared(mpixq_hip.query(stream));

    return code == 0 || code == MPIXQ_HIP_NOT_READY ? NULL : hip_text(code);
}

static bool hip_is_capturing(void *stream, bool *lost_p)
{
    int status = MPIXQ_HIP_NOT_CAPTURING, code = 0;

    if (mpixq_hip.is_capturing != NULL) {
        code = cleared(mpixq_hip.is_capturing(stream, &status));
    }
    *lost_p = code != 0 && code != MPIXQ_HIP_CAPTURE_IMPLICIT;
    return code == MPIXQ_HIP_CAPTURE_IMPLICIT || (code == 0 && status != MPIXQ_HIP_NOT_CAPTURING);
}

/* Older versions know no numbers: there what has come to the same address passes for it. */
static bool hip_is_gone(const void *address, uint64_t id)
{
    struct mpixq_hip_pointer attributes = {.type = -1};
    int code = cleared(mpixq_hip.pointer_attributes(&attributes, address));

    return code == MPIXQ_HIP_INVALID_VALUE ||
           (code == 0 &&
            (attributes.type != of_device || (id != 0 && mpixq_hip_allocation_id(address) != id)));
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
    if (attributes.type != of_device) {
        return MPIXQ_AT_HOST;
    }
    *place_p = place_of_device(attributes.device);
    return MPIXQ_AT_GPU;
}

/* What it promises of the order in which GPUs see what a NIC writes; NULL: enough. The question is
 * as new as the function, and its number may have meant something else before. */
static const char *lacks_order(int device)
{
    int ordering = 0;

    if (mpixq_hip.flush == NULL ||
        cleared(mpixq_hip.attribute(&ordering, MPIXQ_HIP_RDMA_ORDERING, device)) != 0 ||
        ordering < MPIXQ_HIP_ORDERED_FOR_OWNER) {
        return "HIP does not promise that the GPU sees what a NIC has written";
    }
    return ordering < MPIXQ_HIP_ORDERED_FOR_ALL && n_devices > 1
               ? "HIP promises that only the GPU that has the memory sees what a NIC has written"
               : NULL;
}

/* Older versions do not have it: with those, a program that copies by itself and has the host start
 * the send waits for the copy. */
static int hip_held(const void *address)
{
    unsigned yes = 1;

    /* A copy that the host makes ends when the data is there, and not before. */
    return mpixq_hip.set_pointer == NULL
               ? 0
               : cleared(mpixq_hip.set_pointer(&yes, MPIXQ_HIP_SYNC_MEMOPS, (void *)address));
}

static bool hip_orders(void)
{
    bool orders = false;

    for (int device = 0; device < n_devices; device++) {
        orders = orders || lacks_order(device) == NULL;
    }
    return orders;
}

static const char *hip_for_nic(const void *address, bool written, bool trusts, int *device_p)
{
    struct mpixq_hip_pointer attributes = {.type = -1};

    if (cleared(mpixq_hip.pointer_attributes(&attributes, address)) != 0) {
        return "HIP does not tell its device";
    }
    *device_p = attributes.device;
    return trusts    ? NULL
           : written ? lacks_order(attributes.device)
                     : "HIP does not promise that a NIC sees what kernels have written";
}

static const struct mpixq_gpu_code built_in[] = {
    {"code objects", mpixq_code_hip, &mpixq_code_hip_bytes, mpixq_code_hip_archs},
    {NULL, NULL, NULL, NULL},
};

const struct mpixq_gpu mpixq_gpu_hip = {
    .kind = "hipStream_t",
    .name = "HIP",
    .not_found = MPIXQ_E_HIP,
    .code = built_in,
    .find = hip_find,
    .is_used = hip_is_used,
    .relax = hip_relax,
    .restore = hip_restore,
    .place_of = hip_place_of,
    .enter = hip_enter,
    .leave = hip_leave,
    .host_alloc = hip_host_alloc,
    .host_free = hip_host_free,
    .address = hip_address,
    .map = hip_map,
    .unmap = hip_unmap,
    .word_alloc = hip_word_alloc,
    .word_free = hip_word_free,
    .identify = hip_identify,
    .in_turns = hip_in_turns,
    .has_values = hip_has_values,
    .load = hip_load,
    .function = hip_function,
    .compile = mpixq_hip_compile,
    .write = hip_write,
    .wait = hip_wait,
    .launch = hip_launch,
    .copy = hip_copy,
    .zero = hip_zero,
    .own_stream = hip_own_stream,
    .finish = hip_finish,
    .at_once = false,
    .peers = mpixq_hip_peers,
    .lacks_atomics = mpixq_hip_lacks_atomics,
    .span = mpixq_hip_span,
    .allocation_id = mpixq_hip_allocation_id,
    .is_gone = hip_is_gone,
    .share = mpixq_hip_share,
    .open_shared = mpixq_hip_open_shared,
    .close_shared = mpixq_hip_close_shared,
    .words_alloc = hip_words_alloc,
    .words_free = hip_words_free,
    .files = &mpixq_hip_files,
    .broken = hip_broken,
    .is_capturing = hip_is_capturing,
    .capture = mpixq_hip_capture,
    .keep = mpixq_hip_keep,
    .come_after = mpixq_hip_come_after,
    .for_nic = hip_for_nic,
    .held = hip_held,
    .orders = hip_orders,
    .where = hip_where,
    .text = hip_text,
    .library = "libamdhip64.so",
    .count = mpixq_hip_count,
    .describe = mpixq_hip_describe,
    .reach = mpixq_hip_reach,
    .use = mpixq_hip_use,
    .alloc = mpixq_hip_alloc,
};
