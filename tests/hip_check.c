/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What src/stream/hip_runtime.h declares against the header of the vendor, as in cuda_check.c.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "../src/stream/hip_runtime.h"

#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)

#if HIP_VERSION_MAJOR >= 6
#define OBJECTS                                                                                    \
    CHECK(both.user_object, hipUserObjectCreate, ENUM(hipError_t),                                 \
          (HANDLE(hipUserObject_t) *, void *, void (*)(void *), unsigned, unsigned))               \
    CHECK(both.retain_user_object, hipGraphRetainUserObject, ENUM(hipError_t),                     \
          (HANDLE(hipGraph_t), HANDLE(hipUserObject_t), unsigned, unsigned))
#else
#define OBJECTS
#endif
#define FUNCTIONS                                                                                  \
    OBJECTS                                                                                        \
    CHECK(both.capture_info, hipStreamGetCaptureInfo_v2, ENUM(hipError_t),                         \
          (HANDLE(hipStream_t), ENUM(hipStreamCaptureStatus) *, WORD(unsigned long long) *,        \
           HANDLE(hipGraph_t) *, HANDLE(hipGraphNode_t) const **, size_t *))                       \
    CHECK(both.capture_after, hipStreamUpdateCaptureDependencies, ENUM(hipError_t),                \
          (HANDLE(hipStream_t), HANDLE(hipGraphNode_t) *, size_t, unsigned))                       \
    CHECK(version, hipRuntimeGetVersion, ENUM(hipError_t), (int *))                                \
    CHECK(error_string, hipGetErrorString, const char *, (ENUM(hipError_t)))                       \
    CHECK(both.last_error, hipGetLastError, ENUM(hipError_t), (void))                              \
    CHECK(both.device_count, hipGetDeviceCount, ENUM(hipError_t), (int *))                         \
    CHECK(both.device, hipGetDevice, ENUM(hipError_t), (int *))                                    \
    CHECK(set_device, hipSetDevice, ENUM(hipError_t), (int))                                       \
    CHECK(both.attribute, hipDeviceGetAttribute, ENUM(hipError_t),                                 \
          (int *, ENUM(hipDeviceAttribute_t), int))                                                \
    CHECK(both.host_alloc, hipHostMalloc, ENUM(hipError_t), (void **, size_t, unsigned))           \
    CHECK(both.host_free, hipHostFree, ENUM(hipError_t), (void *))                                 \
    CHECK(properties, hipGetDeviceProperties, ENUM(hipError_t), (HANDLE(hipDeviceProp_t *), int))  \
    CHECK(both.bus_id, hipDeviceGetPCIBusId, ENUM(hipError_t), (char *, int, int))                 \
    CHECK(both.map, hipHostRegister, ENUM(hipError_t), (void *, size_t, unsigned))                 \
    CHECK(both.unmap, hipHostUnregister, ENUM(hipError_t), (void *))                               \
    CHECK(both.address, hipHostGetDevicePointer, ENUM(hipError_t), (void **, void *, unsigned))    \
    CHECK(alloc, hipExtMallocWithFlags, ENUM(hipError_t), (void **, size_t, unsigned))             \
    CHECK(both.free, hipFree, ENUM(hipError_t), (void *))                                          \
    CHECK(pointer_attributes, hipPointerGetAttributes, ENUM(hipError_t),                           \
          (POINTER(hipPointerAttribute_t) *, const void *))                                        \
    CHECK(pointer_attribute, hipPointerGetAttribute, ENUM(hipError_t),                             \
          (void *, ENUM(hipPointer_attribute), HANDLE(hipDeviceptr_t)))                            \
    CHECK(both.load, hipModuleLoadData, ENUM(hipError_t), (HANDLE(hipModule_t) *, const void *))   \
    CHECK(both.function, hipModuleGetFunction, ENUM(hipError_t),                                   \
          (HANDLE(hipFunction_t) *, HANDLE(hipModule_t), const char *))                            \
    CHECK(both.launch, hipModuleLaunchKernel, ENUM(hipError_t),                                    \
          (HANDLE(hipFunction_t), unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
           unsigned, HANDLE(hipStream_t), void **, void **))                                       \
    CHECK(copy, hipMemcpyAsync, ENUM(hipError_t),                                                  \
          (void *, const void *, size_t, ENUM(hipMemcpyKind), HANDLE(hipStream_t)))                \
    CHECK(both.query, hipStreamQuery, ENUM(hipError_t), (HANDLE(hipStream_t)))                     \
    CHECK(both.write, hipStreamWriteValue64, ENUM(hipError_t),                                     \
          (HANDLE(hipStream_t), void *, uint64_t, unsigned))                                       \
    CHECK(wait, hipStreamWaitValue64, ENUM(hipError_t),                                            \
          (HANDLE(hipStream_t), void *, uint64_t, unsigned, uint64_t))                             \
    CHECK(both.is_capturing, hipStreamIsCapturing, ENUM(hipError_t),                               \
          (HANDLE(hipStream_t), ENUM(hipStreamCaptureStatus) *))                                   \
    CHECK(both.exchange_mode, hipThreadExchangeStreamCaptureMode, ENUM(hipError_t),                \
          (ENUM(hipStreamCaptureMode) *))                                                          \
    CHECK(both.device_name, hipDeviceGetName, ENUM(hipError_t), (char *, int, int))                \
    CHECK(both.between, hipDeviceGetP2PAttribute, ENUM(hipError_t),                                \
          (int *, ENUM(hipDeviceP2PAttr), int, int))                                               \
    CHECK(both.span, hipMemGetAddressRange, ENUM(hipError_t), (void **, size_t *, void *))         \
    CHECK(both.share, hipIpcGetMemHandle, ENUM(hipError_t), (SHARED(hipIpcMemHandle_t) *, void *)) \
    CHECK(both.open_shared, hipIpcOpenMemHandle, ENUM(hipError_t),                                 \
          (void **, SHARED(hipIpcMemHandle_t), unsigned))                                          \
    CHECK(both.close_shared, hipIpcCloseMemHandle, ENUM(hipError_t), (void *))                     \
    CHECK(both.zero, hipMemsetAsync, ENUM(hipError_t), (void *, int, size_t, HANDLE(hipStream_t))) \
    CHECK(both.stream_create, hipStreamCreateWithFlags, ENUM(hipError_t),                          \
          (HANDLE(hipStream_t) *, unsigned))                                                       \
    CHECK(both.finish, hipStreamSynchronize, ENUM(hipError_t), (HANDLE(hipStream_t)))              \
    CHECK(both.idle, hipDeviceSynchronize, ENUM(hipError_t), (void))                               \
    CHECK(both.pool_export, hipMemPoolExportToShareableHandle, ENUM(hipError_t),                   \
          (void *, HANDLE(hipMemPool_t), ENUM(hipMemAllocationHandleType), FLAGS(unsigned)))       \
    CHECK(both.pool_import, hipMemPoolImportFromShareableHandle, ENUM(hipError_t),                 \
          (HANDLE(hipMemPool_t) *, void *, ENUM(hipMemAllocationHandleType), FLAGS(unsigned)))     \
    CHECK(both.pool_access, hipMemPoolGetAccess, ENUM(hipError_t),                                 \
          (ENUM(hipMemAccessFlags) *, HANDLE(hipMemPool_t), LOCATION(hipMemLocation) *))           \
    CHECK(both.pool_set_access, hipMemPoolSetAccess, ENUM(hipError_t),                             \
          (HANDLE(hipMemPool_t), const ACCESS(hipMemAccessDesc) *, size_t))                        \
    CHECK(both.pool_destroy, hipMemPoolDestroy, ENUM(hipError_t), (HANDLE(hipMemPool_t)))          \
    CHECK(both.piece_export, hipMemPoolExportPointer, ENUM(hipError_t),                            \
          (SHARED(hipMemPoolPtrExportData) *, void *))                                             \
    CHECK(both.piece_import, hipMemPoolImportPointer, ENUM(hipError_t),                            \
          (void **, HANDLE(hipMemPool_t), SHARED(hipMemPoolPtrExportData) *))                      \
    CHECK(both.chunk_of, hipMemRetainAllocationHandle, ENUM(hipError_t),                           \
          (HANDLE(hipMemGenericAllocationHandle_t) *, void *))                                     \
    CHECK(both.chunk_release, hipMemRelease, ENUM(hipError_t),                                     \
          (HANDLE(hipMemGenericAllocationHandle_t)))                                               \
    CHECK(both.chunk_export, hipMemExportToShareableHandle, ENUM(hipError_t),                      \
          (void *, HANDLE(hipMemGenericAllocationHandle_t), ENUM(hipMemAllocationHandleType),      \
           unsigned long long))                                                                    \
    CHECK(both.chunk_import, hipMemImportFromShareableHandle, ENUM(hipError_t),                    \
          (HANDLE(hipMemGenericAllocationHandle_t) *, void *, ENUM(hipMemAllocationHandleType)))   \
    CHECK(both.reserve, hipMemAddressReserve, ENUM(hipError_t),                                    \
          (void **, size_t, size_t, void *, unsigned long long))                                   \
    CHECK(both.unreserve, hipMemAddressFree, ENUM(hipError_t), (void *, size_t))                   \
    CHECK(both.chunk_map, hipMemMap, ENUM(hipError_t),                                             \
          (void *, size_t, size_t, HANDLE(hipMemGenericAllocationHandle_t), unsigned long long))   \
    CHECK(both.chunk_unmap, hipMemUnmap, ENUM(hipError_t), (void *, size_t))                       \
    CHECK(both.set_access, hipMemSetAccess, ENUM(hipError_t),                                      \
          (void *, size_t, const ACCESS(hipMemAccessDesc) *, size_t))

typedef const char *text;
#define COMPILER                                                                                   \
    CHECK(create, hiprtcCreateProgram, ENUM(hiprtcResult),                                         \
          (HANDLE(hiprtcProgram) *, text, text, int, text *, text *))                              \
    CHECK(compile, hiprtcCompileProgram, ENUM(hiprtcResult),                                       \
          (HANDLE(hiprtcProgram), int, const char **))                                             \
    CHECK(log_size, hiprtcGetProgramLogSize, ENUM(hiprtcResult),                                   \
          (HANDLE(hiprtcProgram), size_t *))                                                       \
    CHECK(log, hiprtcGetProgramLog, ENUM(hiprtcResult), (HANDLE(hiprtcProgram), char *))           \
    CHECK(code_size, hiprtcGetCodeSize, ENUM(hiprtcResult), (HANDLE(hiprtcProgram), size_t *))     \
    CHECK(code, hiprtcGetCode, ENUM(hiprtcResult), (HANDLE(hiprtcProgram), char *))                \
    CHECK(destroy, hiprtcDestroyProgram, ENUM(hiprtcResult), (HANDLE(hiprtcProgram) *))

/* Of version 5.6 and later. */
#define NEW_FUNCTIONS                                                                              \
    CHECK(stream_device, hipStreamGetDevice, ENUM(hipError_t),                                     \
          (HANDLE(hipStream_t), ENUM(hipDevice_t) *))

/* In no header that was seen; the first, since 6, by the name of the one that it replaces. */
#define UNDECLARED_FUNCTIONS                                                                       \
    CHECK(new_properties, hipGetDevicePropertiesR0600, int, (void *, int))                         \
    CHECK(both.set_pointer, hipPointerSetAttribute, int, (const void *, int, const void *))        \
    CHECK(flush, hipDeviceFlushGPUDirectRDMAWrites, int, (int, int))

#define ENUM(type) type
#define WORD(type) type
#define FLAGS(type) type
#define HANDLE(type) type
#define POINTER(type) type
#define SHARED(type) type
#define LOCATION(type) type
#define ACCESS(type) type
#define CHECK(field, name, result, parameters) SAME_TYPE(__typeof__(&name), result(*) parameters);
FUNCTIONS
COMPILER
#if HIP_VERSION >= 50600000
NEW_FUNCTIONS
#endif
#undef ENUM
#undef WORD
#undef FLAGS
#undef HANDLE
#undef POINTER
#undef SHARED
#undef LOCATION
#undef ACCESS
#undef CHECK

#define ENUM(type) int
#define WORD(type) uint64_t
#define FLAGS(type) unsigned long long
#define HANDLE(type) void *
#define POINTER(type) struct mpixq_hip_pointer
#define SHARED(type) struct mpixq_gpu_handle
#define LOCATION(type) struct mpixq_gpu_location
#define ACCESS(type) struct mpixq_gpu_access
#define CHECK(field, name, result, parameters)                                                     \
    SAME_TYPE(__typeof__(mpixq_hip.field), result(*) parameters);
FUNCTIONS
NEW_FUNCTIONS
UNDECLARED_FUNCTIONS
#define mpixq_hip mpixq_hip.compiler
COMPILER
#undef mpixq_hip

#define SAME_SIZE(a, b) _Static_assert(sizeof(a) == sizeof(b), #a)
SAME_SIZE(hipError_t, int);
SAME_SIZE(hiprtcResult, int);
SAME_SIZE(hipDeviceAttribute_t, int);
SAME_SIZE(hipStreamCaptureStatus, int);
SAME_SIZE(hipMemcpyKind, int);
SAME_SIZE(hipDevice_t, int);
SAME_SIZE(hipPointerAttribute_t, struct mpixq_hip_pointer);
SAME_SIZE(hipDeviceP2PAttr, int);
SAME_SIZE(hipIpcMemHandle_t, struct mpixq_gpu_handle);
SAME_SIZE(hipMemPoolPtrExportData, struct mpixq_gpu_handle);
SAME_SIZE(hipMemAllocationHandleType, int);
SAME_SIZE(hipPointer_attribute, int);
SAME_SIZE(hipMemAccessFlags, int);
SAME_SIZE(hipMemLocation, struct mpixq_gpu_location);
SAME_SIZE(hipMemAccessDesc, struct mpixq_gpu_access);
_Static_assert(offsetof(hipMemLocation, id) == offsetof(struct mpixq_gpu_location, device), "id");
_Static_assert(offsetof(hipMemAccessDesc, flags) == offsetof(struct mpixq_gpu_access, flags),
               "flags");

_Static_assert(sizeof(hipDeviceProp_t) <= 8192, "what hip_compile.c has room for");
_Static_assert(sizeof(((hipDeviceProp_t *)NULL)->gcnArchName) > 1, "what it looks for is a text");

#define SAME_PLACE(theirs, ours)                                                                   \
    _Static_assert(offsetof(hipPointerAttribute_t, theirs) ==                                      \
                       offsetof(struct mpixq_hip_pointer, ours),                                   \
                   #ours)
#if HIP_VERSION >= 60000000
SAME_PLACE(type, type);
#else
SAME_PLACE(memoryType, type);
#endif
SAME_PLACE(device, device);
SAME_PLACE(devicePointer, device_address);
SAME_PLACE(hostPointer, host_address);
SAME_PLACE(isManaged, is_managed);
SAME_PLACE(allocationFlags, flags);

#define SAME_NUMBER(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)
SAME_NUMBER(HIP_POINTER_ATTRIBUTE_BUFFER_ID, MPIXQ_GPU_BUFFER_ID);
SAME_NUMBER(hipHostMallocPortable, MPIXQ_GPU_PORTABLE);
SAME_NUMBER(hipHostMallocMapped, MPIXQ_GPU_MAPPED);
SAME_NUMBER(hipHostRegisterPortable, MPIXQ_GPU_PORTABLE);
SAME_NUMBER(hipHostRegisterMapped, MPIXQ_GPU_MAPPED);
SAME_NUMBER(hipHostRegisterIoMemory, MPIXQ_GPU_IO_MEMORY);
SAME_NUMBER(hipHostMallocCoherent, MPIXQ_HIP_COHERENT);
SAME_NUMBER(hipMallocSignalMemory, MPIXQ_HIP_SIGNAL_MEMORY);
SAME_NUMBER(hipDeviceMallocFinegrained, MPIXQ_HIP_FINE_GRAINED);
#if HIP_VERSION >= 60000000
SAME_NUMBER(hipDeviceMallocUncached, MPIXQ_HIP_UNCACHED);
#endif
SAME_NUMBER(hipDevP2PAttrAccessSupported, MPIXQ_HIP_PEERS_HAVE_ACCESS);
SAME_NUMBER(hipDevP2PAttrNativeAtomicSupported, MPIXQ_HIP_PEERS_HAVE_ATOMICS);
SAME_NUMBER(hipStreamNonBlocking, MPIXQ_GPU_NON_BLOCKING);
SAME_NUMBER(hipDeviceAttributeCanUseStreamWaitValue, MPIXQ_HIP_HAS_WAIT_VALUE);
SAME_NUMBER(hipStreamWaitValueGte, MPIXQ_GPU_WAIT_GEQ);
SAME_NUMBER(hipMemcpyDefault, MPIXQ_HIP_COPY_DEFAULT);
SAME_NUMBER(hipStreamCaptureStatusNone, MPIXQ_GPU_NOT_CAPTURING);
SAME_NUMBER(hipStreamCaptureModeRelaxed, 2); /* of both vendors, in gpu.c */
SAME_NUMBER(hipErrorStreamCaptureImplicit, MPIXQ_GPU_CAPTURE_IMPLICIT);
SAME_NUMBER(HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, MPIXQ_GPU_POOL);
SAME_NUMBER(hipMemHandleTypePosixFileDescriptor, MPIXQ_GPU_BY_FILE);
SAME_NUMBER(hipMemLocationTypeDevice, MPIXQ_GPU_AT_DEVICE);
SAME_NUMBER(hipMemAccessFlagsProtReadWrite, MPIXQ_GPU_READ_WRITE);
SAME_NUMBER(hipErrorNotReady, MPIXQ_GPU_NOT_READY);
SAME_NUMBER(hipErrorNotSupported, MPIXQ_GPU_NOT_SUPPORTED);
SAME_NUMBER(hipMemoryTypeDevice,
            HIP_VERSION >= MPIXQ_HIP_VERSION_6 ? MPIXQ_HIP_6_DEVICE : MPIXQ_HIP_5_DEVICE);

int hip_check_compiled;
