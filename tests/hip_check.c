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
    CHECK(user_object, hipUserObjectCreate, ENUM(hipError_t),                                      \
          (HANDLE(hipUserObject_t) *, void *, void (*)(void *), unsigned, unsigned))               \
    CHECK(retain_user_object, hipGraphRetainUserObject, ENUM(hipError_t),                          \
          (HANDLE(hipGraph_t), HANDLE(hipUserObject_t), unsigned, unsigned))
#else
#define OBJECTS
#endif
#define FUNCTIONS                                                                                  \
    OBJECTS                                                                                        \
    CHECK(capture_info, hipStreamGetCaptureInfo_v2, ENUM(hipError_t),                              \
          (HANDLE(hipStream_t), ENUM(hipStreamCaptureStatus) *, unsigned long long *,              \
           HANDLE(hipGraph_t) *, HANDLE(hipGraphNode_t) const **, size_t *))                       \
    CHECK(capture_after, hipStreamUpdateCaptureDependencies, ENUM(hipError_t),                     \
          (HANDLE(hipStream_t), HANDLE(hipGraphNode_t) *, size_t, unsigned))                       \
    CHECK(version, hipRuntimeGetVersion, ENUM(hipError_t), (int *))                                \
    CHECK(error_string, hipGetErrorString, const char *, (ENUM(hipError_t)))                       \
    CHECK(last_error, hipGetLastError, ENUM(hipError_t), (void))                                   \
    CHECK(device_count, hipGetDeviceCount, ENUM(hipError_t), (int *))                              \
    CHECK(device, hipGetDevice, ENUM(hipError_t), (int *))                                         \
    CHECK(set_device, hipSetDevice, ENUM(hipError_t), (int))                                       \
    CHECK(attribute, hipDeviceGetAttribute, ENUM(hipError_t),                                      \
          (int *, ENUM(hipDeviceAttribute_t), int))                                                \
    CHECK(host_alloc, hipHostMalloc, ENUM(hipError_t), (void **, size_t, unsigned))                \
    CHECK(host_free, hipHostFree, ENUM(hipError_t), (void *))                                      \
    CHECK(properties, hipGetDeviceProperties, ENUM(hipError_t), (HANDLE(hipDeviceProp_t *), int))  \
    CHECK(bus_id, hipDeviceGetPCIBusId, ENUM(hipError_t), (char *, int, int))                      \
    CHECK(map, hipHostRegister, ENUM(hipError_t), (void *, size_t, unsigned))                      \
    CHECK(unmap, hipHostUnregister, ENUM(hipError_t), (void *))                                    \
    CHECK(address, hipHostGetDevicePointer, ENUM(hipError_t), (void **, void *, unsigned))         \
    CHECK(alloc, hipExtMallocWithFlags, ENUM(hipError_t), (void **, size_t, unsigned))             \
    CHECK(free, hipFree, ENUM(hipError_t), (void *))                                               \
    CHECK(pointer_attributes, hipPointerGetAttributes, ENUM(hipError_t),                           \
          (POINTER(hipPointerAttribute_t) *, const void *))                                        \
    CHECK(pointer_attribute, hipPointerGetAttribute, ENUM(hipError_t),                             \
          (void *, ENUM(hipPointer_attribute), HANDLE(hipDeviceptr_t)))                            \
    CHECK(load, hipModuleLoadData, ENUM(hipError_t), (HANDLE(hipModule_t) *, const void *))        \
    CHECK(function, hipModuleGetFunction, ENUM(hipError_t),                                        \
          (HANDLE(hipFunction_t) *, HANDLE(hipModule_t), const char *))                            \
    CHECK(launch, hipModuleLaunchKernel, ENUM(hipError_t),                                         \
          (HANDLE(hipFunction_t), unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,      \
           unsigned, HANDLE(hipStream_t), void **, void **))                                       \
    CHECK(copy, hipMemcpyAsync, ENUM(hipError_t),                                                  \
          (void *, const void *, size_t, ENUM(hipMemcpyKind), HANDLE(hipStream_t)))                \
    CHECK(query, hipStreamQuery, ENUM(hipError_t), (HANDLE(hipStream_t)))                          \
    CHECK(write, hipStreamWriteValue64, ENUM(hipError_t),                                          \
          (HANDLE(hipStream_t), void *, uint64_t, unsigned))                                       \
    CHECK(wait, hipStreamWaitValue64, ENUM(hipError_t),                                            \
          (HANDLE(hipStream_t), void *, uint64_t, unsigned, uint64_t))                             \
    CHECK(is_capturing, hipStreamIsCapturing, ENUM(hipError_t),                                    \
          (HANDLE(hipStream_t), ENUM(hipStreamCaptureStatus) *))                                   \
    CHECK(exchange_mode, hipThreadExchangeStreamCaptureMode, ENUM(hipError_t),                     \
          (ENUM(hipStreamCaptureMode) *))                                                          \
    CHECK(device_name, hipDeviceGetName, ENUM(hipError_t), (char *, int, int))                     \
    CHECK(between, hipDeviceGetP2PAttribute, ENUM(hipError_t),                                     \
          (int *, ENUM(hipDeviceP2PAttr), int, int))                                               \
    CHECK(span, hipMemGetAddressRange, ENUM(hipError_t), (void **, size_t *, void *))              \
    CHECK(share, hipIpcGetMemHandle, ENUM(hipError_t), (SHARED(hipIpcMemHandle_t) *, void *))      \
    CHECK(open_shared, hipIpcOpenMemHandle, ENUM(hipError_t),                                      \
          (void **, SHARED(hipIpcMemHandle_t), unsigned))                                          \
    CHECK(close_shared, hipIpcCloseMemHandle, ENUM(hipError_t), (void *))                          \
    CHECK(zero, hipMemsetAsync, ENUM(hipError_t), (void *, int, size_t, HANDLE(hipStream_t)))      \
    CHECK(stream_create, hipStreamCreateWithFlags, ENUM(hipError_t),                               \
          (HANDLE(hipStream_t) *, unsigned))                                                       \
    CHECK(finish, hipStreamSynchronize, ENUM(hipError_t), (HANDLE(hipStream_t)))                   \
    CHECK(idle, hipDeviceSynchronize, ENUM(hipError_t), (void))                                    \
    CHECK(pool_export, hipMemPoolExportToShareableHandle, ENUM(hipError_t),                        \
          (void *, HANDLE(hipMemPool_t), ENUM(hipMemAllocationHandleType), unsigned))              \
    CHECK(pool_import, hipMemPoolImportFromShareableHandle, ENUM(hipError_t),                      \
          (HANDLE(hipMemPool_t) *, void *, ENUM(hipMemAllocationHandleType), unsigned))            \
    CHECK(pool_access, hipMemPoolGetAccess, ENUM(hipError_t),                                      \
          (ENUM(hipMemAccessFlags) *, HANDLE(hipMemPool_t), LOCATION(hipMemLocation) *))           \
    CHECK(pool_set_access, hipMemPoolSetAccess, ENUM(hipError_t),                                  \
          (HANDLE(hipMemPool_t), const ACCESS(hipMemAccessDesc) *, size_t))                        \
    CHECK(pool_destroy, hipMemPoolDestroy, ENUM(hipError_t), (HANDLE(hipMemPool_t)))               \
    CHECK(piece_export, hipMemPoolExportPointer, ENUM(hipError_t),                                 \
          (SHARED(hipMemPoolPtrExportData) *, void *))                                             \
    CHECK(piece_import, hipMemPoolImportPointer, ENUM(hipError_t),                                 \
          (void **, HANDLE(hipMemPool_t), SHARED(hipMemPoolPtrExportData) *))                      \
    CHECK(chunk_of, hipMemRetainAllocationHandle, ENUM(hipError_t),                                \
          (HANDLE(hipMemGenericAllocationHandle_t) *, void *))                                     \
    CHECK(chunk_release, hipMemRelease, ENUM(hipError_t),                                          \
          (HANDLE(hipMemGenericAllocationHandle_t)))                                               \
    CHECK(chunk_export, hipMemExportToShareableHandle, ENUM(hipError_t),                           \
          (void *, HANDLE(hipMemGenericAllocationHandle_t), ENUM(hipMemAllocationHandleType),      \
           unsigned long long))                                                                    \
    CHECK(chunk_import, hipMemImportFromShareableHandle, ENUM(hipError_t),                         \
          (HANDLE(hipMemGenericAllocationHandle_t) *, void *, ENUM(hipMemAllocationHandleType)))   \
    CHECK(reserve, hipMemAddressReserve, ENUM(hipError_t),                                         \
          (void **, size_t, size_t, void *, unsigned long long))                                   \
    CHECK(unreserve, hipMemAddressFree, ENUM(hipError_t), (void *, size_t))                        \
    CHECK(chunk_map, hipMemMap, ENUM(hipError_t),                                                  \
          (void *, size_t, size_t, HANDLE(hipMemGenericAllocationHandle_t), unsigned long long))   \
    CHECK(chunk_unmap, hipMemUnmap, ENUM(hipError_t), (void *, size_t))                            \
    CHECK(set_access, hipMemSetAccess, ENUM(hipError_t),                                           \
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
    CHECK(set_pointer, hipPointerSetAttribute, int, (const void *, int, void *))                   \
    CHECK(flush, hipDeviceFlushGPUDirectRDMAWrites, int, (int, int))

#define ENUM(type) type
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
#undef HANDLE
#undef POINTER
#undef SHARED
#undef LOCATION
#undef ACCESS
#undef CHECK

#define ENUM(type) int
#define HANDLE(type) void *
#define POINTER(type) struct mpixq_hip_pointer
#define SHARED(type) struct mpixq_hip_handle
#define LOCATION(type) struct mpixq_hip_location
#define ACCESS(type) struct mpixq_hip_access
#define CHECK(field, name, result, parameters)                                                     \
    SAME_TYPE(__typeof__(mpixq_hip.field), result(*) parameters);
FUNCTIONS
NEW_FUNCTIONS
UNDECLARED_FUNCTIONS
#define mpixq_hip mpixq_hiprtc
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
SAME_SIZE(hipIpcMemHandle_t, struct mpixq_hip_handle);
SAME_SIZE(hipMemPoolPtrExportData, struct mpixq_hip_handle);
SAME_SIZE(hipMemAllocationHandleType, int);
SAME_SIZE(hipPointer_attribute, int);
SAME_SIZE(hipMemAccessFlags, int);
SAME_SIZE(hipMemLocation, struct mpixq_hip_location);
SAME_SIZE(hipMemAccessDesc, struct mpixq_hip_access);
_Static_assert(offsetof(hipMemLocation, id) == offsetof(struct mpixq_hip_location, device), "id");
_Static_assert(offsetof(hipMemAccessDesc, flags) == offsetof(struct mpixq_hip_access, flags),
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
SAME_NUMBER(HIP_POINTER_ATTRIBUTE_BUFFER_ID, MPIXQ_HIP_BUFFER_ID);
SAME_NUMBER(hipHostMallocPortable, MPIXQ_HIP_PORTABLE);
SAME_NUMBER(hipHostMallocMapped, MPIXQ_HIP_MAPPED);
SAME_NUMBER(hipHostRegisterPortable, MPIXQ_HIP_PORTABLE);
SAME_NUMBER(hipHostRegisterMapped, MPIXQ_HIP_MAPPED);
SAME_NUMBER(hipHostRegisterIoMemory, MPIXQ_HIP_IO_MEMORY);
SAME_NUMBER(hipHostMallocCoherent, MPIXQ_HIP_COHERENT);
SAME_NUMBER(hipMallocSignalMemory, MPIXQ_HIP_SIGNAL_MEMORY);
SAME_NUMBER(hipDeviceMallocFinegrained, MPIXQ_HIP_FINE_GRAINED);
#if HIP_VERSION >= 60000000
SAME_NUMBER(hipDeviceMallocUncached, MPIXQ_HIP_UNCACHED);
#endif
SAME_NUMBER(hipDevP2PAttrAccessSupported, MPIXQ_HIP_PEERS_HAVE_ACCESS);
SAME_NUMBER(hipDevP2PAttrNativeAtomicSupported, MPIXQ_HIP_PEERS_HAVE_ATOMICS);
SAME_NUMBER(hipStreamNonBlocking, MPIXQ_HIP_NON_BLOCKING);
SAME_NUMBER(hipDeviceAttributeCanUseStreamWaitValue, MPIXQ_HIP_HAS_WAIT_VALUE);
SAME_NUMBER(hipStreamWaitValueGte, MPIXQ_HIP_WAIT_GEQ);
SAME_NUMBER(hipMemcpyDefault, MPIXQ_HIP_COPY_DEFAULT);
SAME_NUMBER(hipStreamCaptureStatusNone, MPIXQ_HIP_NOT_CAPTURING);
SAME_NUMBER(hipStreamCaptureModeRelaxed, 2); /* of both vendors, in gpu.c */
SAME_NUMBER(hipErrorStreamCaptureImplicit, MPIXQ_HIP_CAPTURE_IMPLICIT);
SAME_NUMBER(HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, MPIXQ_HIP_POOL);
SAME_NUMBER(hipMemHandleTypePosixFileDescriptor, MPIXQ_HIP_BY_FILE);
SAME_NUMBER(hipMemLocationTypeDevice, MPIXQ_HIP_AT_DEVICE);
SAME_NUMBER(hipMemAccessFlagsProtReadWrite, MPIXQ_HIP_READ_WRITE);
SAME_NUMBER(hipErrorNotReady, MPIXQ_HIP_NOT_READY);
SAME_NUMBER(hipErrorNotSupported, MPIXQ_HIP_NOT_SUPPORTED);
SAME_NUMBER(hipMemoryTypeDevice,
            HIP_VERSION >= MPIXQ_HIP_VERSION_6 ? MPIXQ_HIP_6_DEVICE : MPIXQ_HIP_5_DEVICE);

int hip_check_compiled;
