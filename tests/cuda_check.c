/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What src/stream/cuda_driver.h declares against the header of the vendor: compiling it is the
 * check, which tests/vendors.sh does where that is found. Each function is written down once, in
 * terms that mean the vendor's types first, and then ours.
 */
#include <cuda.h>

#include "../src/stream/cuda_driver.h"

#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)

#define LAUNCH VALUES(CUlaunchConfig, mpixq_gpu_launch)
#define CHUNK HANDLE(CUmemGenericAllocationHandle)
#define ACCESS VALUES(CUmemAccessDesc, mpixq_gpu_access)
#if CUDA_VERSION >= 12040
#define LOADING CHECK(both.load_function, cuFuncLoad, (HANDLE(CUfunction)))
#else
#define LOADING
#endif
#define CAPTURED HANDLE(CUstream), ENUM(CUstreamCaptureStatus) *, cuuint64_t *, HANDLE(CUgraph) *
#if CUDA_VERSION >= 12030
typedef const CUgraphEdgeData *edges;
#define CAPTURES                                                                                   \
    CHECK(both.capture_info_new, cuStreamGetCaptureInfo_v3,                                        \
          (CAPTURED, HANDLE(CUgraphNode) const **, CONST_HANDLE(edges) *, size_t *))               \
    CHECK(both.capture_after_new, cuStreamUpdateCaptureDependencies_v2,                            \
          (HANDLE(CUstream), HANDLE(CUgraphNode) *, CONST_HANDLE(edges), size_t, unsigned))
#else
#define CAPTURES
#endif
#if CUDA_VERSION < 13000
#define CAPTURES_2                                                                                 \
    CHECK(both.capture_info, cuStreamGetCaptureInfo_v2,                                            \
          (CAPTURED, HANDLE(CUgraphNode) const **, size_t *))                                      \
    CHECK(both.capture_after, cuStreamUpdateCaptureDependencies,                                   \
          (HANDLE(CUstream), HANDLE(CUgraphNode) *, size_t, unsigned))
#else
#define CAPTURES_2
#endif
#define FUNCTIONS                                                                                  \
    CAPTURES                                                                                       \
    CAPTURES_2                                                                                     \
    CHECK(both.node_type, cuGraphNodeGetType, (HANDLE(CUgraphNode), ENUM(CUgraphNodeType) *))      \
    CHECK(both.user_object, cuUserObjectCreate,                                                    \
          (HANDLE(CUuserObject) *, void *, void (*)(void *), unsigned, unsigned))                  \
    CHECK(both.retain_user_object, cuGraphRetainUserObject,                                        \
          (HANDLE(CUgraph), HANDLE(CUuserObject), unsigned, unsigned))                             \
    CHECK(init, cuInit, (unsigned))                                                                \
    CHECK(error_string, cuGetErrorString, (ENUM(CUresult), const char **))                         \
    CHECK(current, cuCtxGetCurrent, (HANDLE(CUcontext) *))                                         \
    CHECK(push, cuCtxPushCurrent_v2, (HANDLE(CUcontext)))                                          \
    CHECK(pop, cuCtxPopCurrent_v2, (HANDLE(CUcontext) *))                                          \
    CHECK(both.device_count, cuDeviceGetCount, (int *))                                            \
    CHECK(both.device, cuCtxGetDevice, (ENUM(CUdevice) *))                                         \
    CHECK(both.attribute, cuDeviceGetAttribute, (int *, ENUM(CUdevice_attribute), ENUM(CUdevice))) \
    CHECK(retain, cuDevicePrimaryCtxRetain, (HANDLE(CUcontext) *, ENUM(CUdevice)))                 \
    CHECK(uuid, cuDeviceGetUuid_v2, (VALUES(CUuuid, mpixq_cuda_uuid) *, ENUM(CUdevice)))           \
    CHECK(both.host_alloc, cuMemHostAlloc, (void **, size_t, unsigned))                            \
    CHECK(both.host_free, cuMemFreeHost, (void *))                                                 \
    CHECK(both.address, cuMemHostGetDevicePointer_v2, (HANDLE(CUdeviceptr) *, void *, unsigned))   \
    CHECK(both.map, cuMemHostRegister_v2, (void *, size_t, unsigned))                              \
    CHECK(both.unmap, cuMemHostUnregister, (void *))                                               \
    CHECK(pointer_attributes, cuPointerGetAttributes,                                              \
          (unsigned, ENUM(CUpointer_attribute) *, void **, CONST_HANDLE(CUdeviceptr)))             \
    CHECK(both.set_pointer, cuPointerSetAttribute,                                                 \
          (const void *, ENUM(CUpointer_attribute), CONST_HANDLE(CUdeviceptr)))                    \
    CHECK(both.load, cuModuleLoadData, (HANDLE(CUmodule) *, const void *))                         \
    CHECK(both.function, cuModuleGetFunction,                                                      \
          (HANDLE(CUfunction) *, HANDLE(CUmodule), const char *))                                  \
    CHECK(both.launch, cuLaunchKernel,                                                             \
          (HANDLE(CUfunction), unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
           unsigned, HANDLE(CUstream), void **, void **))                                          \
    CHECK(both.launch_with, cuLaunchKernelEx,                                                      \
          (const LAUNCH *, HANDLE(CUfunction), void **, void **))                                  \
    CHECK(copy, cuMemcpyAsync,                                                                     \
          (HANDLE(CUdeviceptr), CONST_HANDLE(CUdeviceptr), size_t, HANDLE(CUstream)))              \
    CHECK(stream_context, cuStreamGetCtx, (HANDLE(CUstream), HANDLE(CUcontext) *))                 \
    CHECK(both.query, cuStreamQuery, (HANDLE(CUstream)))                                           \
    CHECK(both.is_capturing, cuStreamIsCapturing,                                                  \
          (HANDLE(CUstream), ENUM(CUstreamCaptureStatus) *))                                       \
    CHECK(both.exchange_mode, cuThreadExchangeStreamCaptureMode, (ENUM(CUstreamCaptureMode) *))    \
    CHECK(both.function_attribute, cuFuncGetAttribute,                                             \
          (int *, ENUM(CUfunction_attribute), HANDLE(CUfunction)))                                 \
    LOADING                                                                                        \
    CHECK(both.write, cuStreamWriteValue64_v2,                                                     \
          (HANDLE(CUstream), HANDLE(CUdeviceptr), cuuint64_t, unsigned))                           \
    CHECK(batch, cuStreamBatchMemOp_v2,                                                            \
          (HANDLE(CUstream), unsigned, VALUES(CUstreamBatchMemOpParams, mpixq_cuda_value) *,       \
           unsigned))                                                                              \
    CHECK(both.device_name, cuDeviceGetName, (char *, int, ENUM(CUdevice)))                        \
    CHECK(both.bus_id, cuDeviceGetPCIBusId, (char *, int, ENUM(CUdevice)))                         \
    CHECK(both.between, cuDeviceGetP2PAttribute,                                                   \
          (int *, ENUM(CUdevice_P2PAttribute), ENUM(CUdevice), ENUM(CUdevice)))                    \
    CHECK(both.span, cuMemGetAddressRange_v2,                                                      \
          (HANDLE(CUdeviceptr) *, size_t *, HANDLE(CUdeviceptr)))                                  \
    CHECK(both.share, cuIpcGetMemHandle,                                                           \
          (VALUES(CUipcMemHandle, mpixq_gpu_handle) *, HANDLE(CUdeviceptr)))                       \
    CHECK(both.open_shared, cuIpcOpenMemHandle_v2,                                                 \
          (HANDLE(CUdeviceptr) *, VALUES(CUipcMemHandle, mpixq_gpu_handle), unsigned))             \
    CHECK(both.close_shared, cuIpcCloseMemHandle, (HANDLE(CUdeviceptr)))                           \
    CHECK(alloc, cuMemAlloc_v2, (HANDLE(CUdeviceptr) *, size_t))                                   \
    CHECK(both.free, cuMemFree_v2, (HANDLE(CUdeviceptr)))                                          \
    CHECK(both.zero, cuMemsetD8Async,                                                              \
          (HANDLE(CUdeviceptr), BYTE(unsigned char), size_t, HANDLE(CUstream)))                    \
    CHECK(both.stream_create, cuStreamCreate, (HANDLE(CUstream) *, unsigned))                      \
    CHECK(both.finish, cuStreamSynchronize, (HANDLE(CUstream)))                                    \
    CHECK(both.idle, cuCtxSynchronize, (void))                                                     \
    CHECK(both.pool_export, cuMemPoolExportToShareableHandle,                                      \
          (void *, HANDLE(CUmemoryPool), ENUM(CUmemAllocationHandleType), unsigned long long))     \
    CHECK(both.pool_import, cuMemPoolImportFromShareableHandle,                                    \
          (HANDLE(CUmemoryPool) *, void *, ENUM(CUmemAllocationHandleType), unsigned long long))   \
    CHECK(both.pool_access, cuMemPoolGetAccess,                                                    \
          (ENUM(CUmemAccess_flags) *, HANDLE(CUmemoryPool),                                        \
           VALUES(CUmemLocation, mpixq_gpu_location) *))                                           \
    CHECK(both.pool_set_access, cuMemPoolSetAccess,                                                \
          (HANDLE(CUmemoryPool), const ACCESS *, size_t))                                          \
    CHECK(both.pool_destroy, cuMemPoolDestroy, (HANDLE(CUmemoryPool)))                             \
    CHECK(both.piece_export, cuMemPoolExportPointer,                                               \
          (VALUES(CUmemPoolPtrExportData, mpixq_gpu_handle) *, HANDLE(CUdeviceptr)))               \
    CHECK(both.piece_import, cuMemPoolImportPointer,                                               \
          (HANDLE(CUdeviceptr) *, HANDLE(CUmemoryPool),                                            \
           VALUES(CUmemPoolPtrExportData, mpixq_gpu_handle) *))                                    \
    CHECK(both.chunk_of, cuMemRetainAllocationHandle, (CHUNK *, void *))                           \
    CHECK(both.chunk_release, cuMemRelease, (CHUNK))                                               \
    CHECK(both.chunk_export, cuMemExportToShareableHandle,                                         \
          (void *, CHUNK, ENUM(CUmemAllocationHandleType), unsigned long long))                    \
    CHECK(both.chunk_import, cuMemImportFromShareableHandle,                                       \
          (CHUNK *, void *, ENUM(CUmemAllocationHandleType)))                                      \
    CHECK(both.reserve, cuMemAddressReserve,                                                       \
          (HANDLE(CUdeviceptr) *, size_t, size_t, HANDLE(CUdeviceptr), unsigned long long))        \
    CHECK(both.unreserve, cuMemAddressFree, (HANDLE(CUdeviceptr), size_t))                         \
    CHECK(both.chunk_map, cuMemMap,                                                                \
          (HANDLE(CUdeviceptr), size_t, size_t, CHUNK, unsigned long long))                        \
    CHECK(both.chunk_unmap, cuMemUnmap, (HANDLE(CUdeviceptr), size_t))                             \
    CHECK(both.set_access, cuMemSetAccess, (HANDLE(CUdeviceptr), size_t, const ACCESS *, size_t))

#define ENUM(type) type
#define BYTE(type) type
#define HANDLE(type) type
#define CONST_HANDLE(type) type
#define VALUES(type, own) type
#define CHECK(field, name, parameters) SAME_TYPE(__typeof__(&name), CUresult(*) parameters);
FUNCTIONS
#undef ENUM
#undef BYTE
#undef HANDLE
#undef CONST_HANDLE
#undef VALUES
#undef UUID
#undef SHARED
#undef CHECK

#define ENUM(type) int
#define BYTE(type) int
#define HANDLE(type) void *
#define CONST_HANDLE(type) const void *
#define VALUES(type, own) struct own
#define CHECK(field, name, parameters) SAME_TYPE(__typeof__(mpixq_cuda.field), int(*) parameters);
typedef uint64_t cuda_word;
#define cuuint64_t cuda_word
FUNCTIONS
#undef cuuint64_t

#define SAME_SIZE(a, b) _Static_assert(sizeof(a) == sizeof(b), #a)
SAME_SIZE(CUresult, int);
SAME_SIZE(CUdevice, int);
SAME_SIZE(CUdevice_attribute, int);
SAME_SIZE(CUpointer_attribute, int);
SAME_SIZE(CUstreamCaptureStatus, int);
SAME_SIZE(CUstreamCaptureMode, int);
SAME_SIZE(CUfunction_attribute, int);
SAME_SIZE(CUdeviceptr, void *);
SAME_SIZE(CUuuid, struct mpixq_cuda_uuid);
SAME_SIZE(cuuint64_t, uint64_t);
SAME_SIZE(CUstreamBatchMemOpParams, struct mpixq_cuda_value);
SAME_SIZE(CUlaunchConfig, struct mpixq_gpu_launch);
SAME_SIZE(CUlaunchAttribute, struct mpixq_gpu_launch_attribute);
SAME_SIZE(CUdevice_P2PAttribute, int);
SAME_SIZE(CUipcMemHandle, struct mpixq_gpu_handle);
SAME_SIZE(CUmemPoolPtrExportData, struct mpixq_gpu_handle);
SAME_SIZE(CUmemGenericAllocationHandle, void *);
SAME_SIZE(CUmemAllocationHandleType, int);
SAME_SIZE(CUmemAccess_flags, int);
SAME_SIZE(CUmemLocation, struct mpixq_gpu_location);
SAME_SIZE(CUmemAccessDesc, struct mpixq_gpu_access);

#define SAME_PLACE(theirs, ours)                                                                   \
    _Static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.theirs) ==                         \
                           offsetof(struct mpixq_cuda_value, ours) &&                              \
                       offsetof(CUstreamBatchMemOpParams, writeValue.theirs) ==                    \
                           offsetof(struct mpixq_cuda_value, ours),                                \
                   #ours)
#define SAME_OFFSET(type, theirs, own, ours)                                                       \
    _Static_assert(offsetof(type, theirs) == offsetof(struct own, ours), #ours)
SAME_OFFSET(CUlaunchConfig, gridDimX, mpixq_gpu_launch, blocks);
SAME_OFFSET(CUlaunchConfig, blockDimX, mpixq_gpu_launch, threads);
SAME_OFFSET(CUlaunchConfig, sharedMemBytes, mpixq_gpu_launch, shared_bytes);
SAME_OFFSET(CUlaunchConfig, hStream, mpixq_gpu_launch, stream);
SAME_OFFSET(CUlaunchConfig, attrs, mpixq_gpu_launch, attributes);
SAME_OFFSET(CUlaunchConfig, numAttrs, mpixq_gpu_launch, n);
SAME_OFFSET(CUlaunchAttribute, value, mpixq_gpu_launch_attribute, value);
SAME_OFFSET(CUmemLocation, id, mpixq_gpu_location, device);
SAME_OFFSET(CUmemAccessDesc, flags, mpixq_gpu_access, flags);

SAME_PLACE(operation, operation);
SAME_PLACE(address, address);
SAME_PLACE(value64, value);
SAME_PLACE(flags, flags);
SAME_PLACE(alias, alias);

#define SAME_NUMBER(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)
SAME_NUMBER(CU_MEMHOSTALLOC_PORTABLE, MPIXQ_GPU_PORTABLE);
SAME_NUMBER(CU_MEMHOSTALLOC_DEVICEMAP, MPIXQ_GPU_MAPPED);
SAME_NUMBER(CU_MEMHOSTREGISTER_PORTABLE, MPIXQ_GPU_PORTABLE);
SAME_NUMBER(CU_MEMHOSTREGISTER_DEVICEMAP, MPIXQ_GPU_MAPPED);
SAME_NUMBER(CU_MEMHOSTREGISTER_IOMEMORY, MPIXQ_GPU_IO_MEMORY);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_CONTEXT, MPIXQ_CU_CONTEXT);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, MPIXQ_CU_MEMORY_TYPE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_IS_MANAGED, MPIXQ_CU_IS_MANAGED);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, MPIXQ_CU_DEVICE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, MPIXQ_GPU_SYNC_MEMOPS);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_BUFFER_ID, MPIXQ_GPU_BUFFER_ID);
#if CUDA_VERSION >= 11030
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, MPIXQ_CU_RDMA_ORDERING);
SAME_NUMBER(CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, MPIXQ_GPU_ORDERED_FOR_OWNER);
SAME_NUMBER(CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES, MPIXQ_GPU_ORDERED_FOR_ALL);
#endif
SAME_NUMBER(CU_MEMORYTYPE_DEVICE, MPIXQ_CU_MEMORY_DEVICE);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, MPIXQ_CU_HAS_CONCURRENT_MANAGED);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, MPIXQ_CU_HAS_64_BIT_VALUES);
#if CUDA_VERSION >= 12040
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, MPIXQ_CU_HAS_MPS);
#endif
SAME_NUMBER(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, MPIXQ_GPU_SYNC_MEMOPS);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, MPIXQ_CU_RDMA_ORDERING);
SAME_NUMBER(CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER, MPIXQ_GPU_ORDERED_FOR_OWNER);
SAME_NUMBER(CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES, MPIXQ_GPU_ORDERED_FOR_ALL);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            MPIXQ_GPU_PROGRAMMATIC_SERIALIZATION);
SAME_NUMBER(CU_STREAM_MEM_OP_WAIT_VALUE_64, MPIXQ_CU_WAIT_VALUE_64);
SAME_NUMBER(CU_STREAM_MEM_OP_WRITE_VALUE_64, MPIXQ_CU_WRITE_VALUE_64);
SAME_NUMBER(CU_STREAM_WAIT_VALUE_GEQ, MPIXQ_GPU_WAIT_GEQ);
SAME_NUMBER(CU_STREAM_CAPTURE_STATUS_NONE, MPIXQ_GPU_NOT_CAPTURING);
SAME_NUMBER(CU_STREAM_CAPTURE_MODE_RELAXED, 2); /* of both vendors, in gpu.c */
SAME_NUMBER(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, MPIXQ_GPU_CAPTURE_IMPLICIT);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_BINARY_VERSION, MPIXQ_GPU_BINARY_VERSION);
SAME_NUMBER(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, MPIXQ_CU_PEERS_HAVE_ACCESS);
SAME_NUMBER(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, MPIXQ_CU_PEERS_HAVE_ATOMICS);
SAME_NUMBER(CU_STREAM_NON_BLOCKING, MPIXQ_GPU_NON_BLOCKING);
SAME_NUMBER(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, MPIXQ_CU_ENABLE_PEER);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, MPIXQ_GPU_POOL);
SAME_NUMBER(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, MPIXQ_GPU_BY_FILE);
SAME_NUMBER(CU_MEM_LOCATION_TYPE_DEVICE, MPIXQ_GPU_AT_DEVICE);
SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, MPIXQ_GPU_READ_WRITE);
SAME_NUMBER(CUDA_ERROR_NOT_READY, MPIXQ_GPU_NOT_READY);
SAME_NUMBER(CUDA_ERROR_INVALID_VALUE, MPIXQ_GPU_INVALID_VALUE);
SAME_NUMBER(CUDA_ERROR_INVALID_CONTEXT, MPIXQ_CU_INVALID_CONTEXT);
SAME_NUMBER(CUDA_ERROR_CONTEXT_IS_DESTROYED, MPIXQ_CU_CONTEXT_IS_DESTROYED);
SAME_NUMBER(CUDA_ERROR_NOT_SUPPORTED, MPIXQ_GPU_NOT_SUPPORTED);

int cuda_check_compiled;
