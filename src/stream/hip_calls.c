/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Finding HIP's runtime in the process. */
#include "hip_runtime.h"

struct mpixq_hip mpixq_hip = {.library.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_HIP)};
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
    NEEDED(both.last_error, "hipGetLastError"),
    NEEDED(both.device_count, "hipGetDeviceCount"),
    NEEDED(both.device, "hipGetDevice"),
    NEEDED(set_device, "hipSetDevice"),
    NEEDED(both.attribute, "hipDeviceGetAttribute"),
    NEEDED(both.host_alloc, "hipHostMalloc"),
    NEEDED(both.host_free, "hipHostFree"),
    NEEDED(both.address, "hipHostGetDevicePointer"),
    NEEDED(alloc, "hipExtMallocWithFlags"),
    NEEDED(both.free, "hipFree"),
    NEEDED(pointer_attributes, "hipPointerGetAttributes"),
    NEEDED(both.load, "hipModuleLoadData"),
    NEEDED(both.function, "hipModuleGetFunction"),
    NEEDED(both.launch, "hipModuleLaunchKernel"),
    NEEDED(copy, "hipMemcpyAsync"),
    NEEDED(both.query, "hipStreamQuery"),
    NEEDED(both.write, "hipStreamWriteValue64"),
    NEEDED(wait, "hipStreamWaitValue64"),
    OPTIONAL(both.capture_info, "hipStreamGetCaptureInfo_v2"),
    OPTIONAL(both.capture_after, "hipStreamUpdateCaptureDependencies"),
    OPTIONAL(both.user_object, "hipUserObjectCreate"),
    OPTIONAL(both.retain_user_object, "hipGraphRetainUserObject"),
    OPTIONAL(both.exchange_mode, "hipThreadExchangeStreamCaptureMode"),
    OPTIONAL(properties, "hipGetDeviceProperties"),
    OPTIONAL(new_properties, "hipGetDevicePropertiesR0600"),
    OPTIONAL(both.bus_id, "hipDeviceGetPCIBusId"),
    OPTIONAL(both.map, "hipHostRegister"),
    OPTIONAL(both.unmap, "hipHostUnregister"),
    OPTIONAL(pointer_attribute, "hipPointerGetAttribute"),
    OPTIONAL(both.set_pointer, "hipPointerSetAttribute"),
    OPTIONAL(flush, "hipDeviceFlushGPUDirectRDMAWrites"),
    OPTIONAL(stream_device, "hipStreamGetDevice"),
    OPTIONAL(both.is_capturing, "hipStreamIsCapturing"),
    OPTIONAL(both.device_name, "hipDeviceGetName"),
    OPTIONAL(both.between, "hipDeviceGetP2PAttribute"),
    OPTIONAL(both.span, "hipMemGetAddressRange"),
    OPTIONAL(both.share, "hipIpcGetMemHandle"),
    OPTIONAL(both.open_shared, "hipIpcOpenMemHandle"),
    OPTIONAL(both.close_shared, "hipIpcCloseMemHandle"),
    NEEDED(both.zero, "hipMemsetAsync"),
    NEEDED(both.stream_create, "hipStreamCreateWithFlags"),
    NEEDED(both.finish, "hipStreamSynchronize"),
    OPTIONAL(both.idle, "hipDeviceSynchronize"),
    OPTIONAL(both.pool_export, "hipMemPoolExportToShareableHandle"),
    OPTIONAL(both.pool_import, "hipMemPoolImportFromShareableHandle"),
    OPTIONAL(both.pool_access, "hipMemPoolGetAccess"),
    OPTIONAL(both.pool_set_access, "hipMemPoolSetAccess"),
    OPTIONAL(both.pool_destroy, "hipMemPoolDestroy"),
    OPTIONAL(both.piece_export, "hipMemPoolExportPointer"),
    OPTIONAL(both.piece_import, "hipMemPoolImportPointer"),
    OPTIONAL(both.chunk_of, "hipMemRetainAllocationHandle"),
    OPTIONAL(both.chunk_release, "hipMemRelease"),
    OPTIONAL(both.chunk_export, "hipMemExportToShareableHandle"),
    OPTIONAL(both.chunk_import, "hipMemImportFromShareableHandle"),
    OPTIONAL(both.reserve, "hipMemAddressReserve"),
    OPTIONAL(both.unreserve, "hipMemAddressFree"),
    OPTIONAL(both.chunk_map, "hipMemMap"),
    OPTIONAL(both.chunk_unmap, "hipMemUnmap"),
    OPTIONAL(both.set_access, "hipMemSetAccess"),
    {NULL, NULL, false},
};

/* Leaves no failure behind, which the program would take for its own. */
static int cleared(int code)
{
    if (code != 0) {
        (void)mpixq_hip.both.last_error();
    }
    return code;
}

static void look_around(void)
{
    int version = 0, n = 0;

    (void)cleared(mpixq_hip.version(&version)); /* 0: taken for an old one */
    mpixq_hip.of_device = version >= MPIXQ_HIP_VERSION_6 ? MPIXQ_HIP_6_DEVICE : MPIXQ_HIP_5_DEVICE;
    mpixq_hip.n_devices = cleared(mpixq_hip.both.device_count(&n)) == 0 ? n : 0;
}

bool mpixq_hip_find(bool load)
{
    return mpixq_gpu_find(&mpixq_hip.library, load, mpixq_hip_libraries, symbols, look_around) &&
           mpixq_hip.n_devices > 0;
}
