/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Finding CUDA's driver in the process. */
#include "cuda_driver.h"

struct mpixq_cuda mpixq_cuda = {.library.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CUDA),
                                .nvml.once = PTHREAD_ONCE_INIT};
const char *const mpixq_cuda_libraries[] = {"libcuda.so.1", NULL};

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
    NEEDED(both.device, "cuCtxGetDevice"),
    NEEDED(both.attribute, "cuDeviceGetAttribute"),
    NEEDED(retain, "cuDevicePrimaryCtxRetain"),
    NEEDED(both.host_alloc, "cuMemHostAlloc"),
    NEEDED(both.host_free, "cuMemFreeHost"),
    NEEDED(both.address, "cuMemHostGetDevicePointer_v2"),
    NEEDED(pointer_attributes, "cuPointerGetAttributes"),
    NEEDED(both.load, "cuModuleLoadData"),
    NEEDED(both.function, "cuModuleGetFunction"),
    NEEDED(both.launch, "cuLaunchKernel"),
    OPTIONAL(both.launch_with, "cuLaunchKernelEx"),
    NEEDED(copy, "cuMemcpyAsync"),
    NEEDED(stream_context, "cuStreamGetCtx"),
    NEEDED(both.query, "cuStreamQuery"),
    NEEDED(both.is_capturing, "cuStreamIsCapturing"),
    OPTIONAL(both.capture_info, "cuStreamGetCaptureInfo_v2"),
    OPTIONAL(both.capture_info_new, "cuStreamGetCaptureInfo_v3"),
    OPTIONAL(both.capture_after, "cuStreamUpdateCaptureDependencies"),
    OPTIONAL(both.capture_after_new, "cuStreamUpdateCaptureDependencies_v2"),
    OPTIONAL(both.node_type, "cuGraphNodeGetType"),
    OPTIONAL(both.user_object, "cuUserObjectCreate"),
    OPTIONAL(both.retain_user_object, "cuGraphRetainUserObject"),
    OPTIONAL(both.exchange_mode, "cuThreadExchangeStreamCaptureMode"),
    OPTIONAL(both.load_function, "cuFuncLoad"),
    OPTIONAL(both.function_attribute, "cuFuncGetAttribute"),
    OPTIONAL(uuid, "cuDeviceGetUuid_v2"),
    OPTIONAL(both.map, "cuMemHostRegister_v2"),
    OPTIONAL(both.unmap, "cuMemHostUnregister"),
    OPTIONAL(both.set_pointer, "cuPointerSetAttribute"),
    OPTIONAL(both.write, "cuStreamWriteValue64_v2"),
    OPTIONAL(batch, "cuStreamBatchMemOp_v2"),
    NEEDED(both.device_count, "cuDeviceGetCount"),
    OPTIONAL(both.device_name, "cuDeviceGetName"),
    OPTIONAL(both.bus_id, "cuDeviceGetPCIBusId"),
    OPTIONAL(both.between, "cuDeviceGetP2PAttribute"),
    OPTIONAL(both.span, "cuMemGetAddressRange_v2"),
    OPTIONAL(both.share, "cuIpcGetMemHandle"),
    OPTIONAL(both.open_shared, "cuIpcOpenMemHandle_v2"),
    OPTIONAL(both.close_shared, "cuIpcCloseMemHandle"),
    NEEDED(alloc, "cuMemAlloc_v2"),
    NEEDED(both.free, "cuMemFree_v2"),
    NEEDED(both.zero, "cuMemsetD8Async"),
    NEEDED(both.stream_create, "cuStreamCreate"),
    NEEDED(both.finish, "cuStreamSynchronize"),
    OPTIONAL(both.idle, "cuCtxSynchronize"),
    OPTIONAL(both.pool_export, "cuMemPoolExportToShareableHandle"),
    OPTIONAL(both.pool_import, "cuMemPoolImportFromShareableHandle"),
    OPTIONAL(both.pool_access, "cuMemPoolGetAccess"),
    OPTIONAL(both.pool_set_access, "cuMemPoolSetAccess"),
    OPTIONAL(both.pool_destroy, "cuMemPoolDestroy"),
    OPTIONAL(both.piece_export, "cuMemPoolExportPointer"),
    OPTIONAL(both.piece_import, "cuMemPoolImportPointer"),
    OPTIONAL(both.chunk_of, "cuMemRetainAllocationHandle"),
    OPTIONAL(both.chunk_release, "cuMemRelease"),
    OPTIONAL(both.chunk_export, "cuMemExportToShareableHandle"),
    OPTIONAL(both.chunk_import, "cuMemImportFromShareableHandle"),
    OPTIONAL(both.reserve, "cuMemAddressReserve"),
    OPTIONAL(both.unreserve, "cuMemAddressFree"),
    OPTIONAL(both.chunk_map, "cuMemMap"),
    OPTIONAL(both.chunk_unmap, "cuMemUnmap"),
    OPTIONAL(both.set_access, "cuMemSetAccess"),
    {NULL, NULL, false},
};

bool mpixq_cuda_find(bool load)
{
    return mpixq_gpu_find(&mpixq_cuda.library, load, mpixq_cuda_libraries, symbols, NULL) &&
           (!load || mpixq_cuda.init(0) == 0);
}
