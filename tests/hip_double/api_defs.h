/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * api_defs.h - functions and numbers of the HIP runtime; no include guard on purpose
 *
 * HIP_FUNCTION(result, name, (parameters)), HIP_ERROR, HIP_FLAG, HIP_ATTRIBUTE and
 * HIPRTC_RESULT(name, number).
 */
#ifndef HIP_FUNCTION
#define HIP_FUNCTION(result, name, parameters)
#endif
#ifndef HIP_ERROR
#define HIP_ERROR(name, number)
#endif
#ifndef HIP_FLAG
#define HIP_FLAG(name, number)
#endif
#ifndef HIP_ATTRIBUTE
#define HIP_ATTRIBUTE(name, number)
#endif
#ifndef HIPRTC_RESULT
#define HIPRTC_RESULT(name, number)
#endif

HIP_ERROR(hipSuccess, 0)
HIP_ERROR(hipErrorInvalidValue, 1)
HIP_ERROR(hipErrorOutOfMemory, 2)
HIP_ERROR(hipErrorInvalidDevicePointer, 17)
HIP_ERROR(hipErrorInvalidMemcpyDirection, 21)
HIP_ERROR(hipErrorInvalidDeviceFunction, 98)
HIP_ERROR(hipErrorNoDevice, 100)
HIP_ERROR(hipErrorInvalidDevice, 101)
HIP_ERROR(hipErrorInvalidImage, 200)
HIP_ERROR(hipErrorInvalidContext, 201)
HIP_ERROR(hipErrorNoBinaryForGpu, 209)
HIP_ERROR(hipErrorPeerAccessUnsupported, 217)
HIP_ERROR(hipErrorInvalidHandle, 400)
HIP_ERROR(hipErrorIllegalState, 401)
HIP_ERROR(hipErrorNotFound, 500)
HIP_ERROR(hipErrorNotReady, 600)
HIP_ERROR(hipErrorIllegalAddress, 700)
HIP_ERROR(hipErrorPeerAccessAlreadyEnabled, 704)
HIP_ERROR(hipErrorPeerAccessNotEnabled, 705)
HIP_ERROR(hipErrorContextIsDestroyed, 709)
HIP_ERROR(hipErrorHostMemoryAlreadyRegistered, 712)
HIP_ERROR(hipErrorHostMemoryNotRegistered, 713)
HIP_ERROR(hipErrorLaunchFailure, 719)
HIP_ERROR(hipErrorNotSupported, 801)
HIP_ERROR(hipErrorStreamCaptureUnsupported, 900)
HIP_ERROR(hipErrorStreamCaptureInvalidated, 901)
HIP_ERROR(hipErrorStreamCaptureMerge, 902)
HIP_ERROR(hipErrorStreamCaptureUnmatched, 903)
HIP_ERROR(hipErrorStreamCaptureUnjoined, 904)
HIP_ERROR(hipErrorStreamCaptureIsolation, 905)
HIP_ERROR(hipErrorStreamCaptureImplicit, 906)
HIP_ERROR(hipErrorCapturedEvent, 907)
HIP_ERROR(hipErrorStreamCaptureWrongThread, 908)
HIP_ERROR(hipErrorGraphExecUpdateFailure, 910)
HIP_ERROR(hipErrorUnknown, 999)

HIP_FLAG(hipDeviceScheduleSpin, 1)
HIP_FLAG(hipDeviceScheduleYield, 2)
HIP_FLAG(hipDeviceScheduleBlockingSync, 4)
HIP_FLAG(hipDeviceScheduleMask, 7)
HIP_FLAG(hipDeviceMapHost, 8)
HIP_FLAG(hipDeviceLmemResizeToMax, 0x16)
HIP_FLAG(hipStreamDefault, 0)
HIP_FLAG(hipStreamNonBlocking, 1)
HIP_FLAG(hipEventDefault, 0)
HIP_FLAG(hipEventBlockingSync, 1)
HIP_FLAG(hipEventDisableTiming, 2)
HIP_FLAG(hipEventInterprocess, 4)
HIP_FLAG(hipHostMallocDefault, 0)
HIP_FLAG(hipHostMallocPortable, 1)
HIP_FLAG(hipHostMallocMapped, 2)
HIP_FLAG(hipHostMallocWriteCombined, 4)
HIP_FLAG(hipHostMallocNumaUser, 0x20000000)
HIP_FLAG(hipHostMallocCoherent, 0x40000000)
HIP_FLAG(hipHostMallocNonCoherent, 0x80000000)
HIP_FLAG(hipHostRegisterDefault, 0)
HIP_FLAG(hipHostRegisterPortable, 1)
HIP_FLAG(hipHostRegisterMapped, 2)
HIP_FLAG(hipHostRegisterIoMemory, 4)
HIP_FLAG(hipMemAttachGlobal, 1)
HIP_FLAG(hipDeviceMallocDefault, 0)
HIP_FLAG(hipDeviceMallocFinegrained, 1)
HIP_FLAG(hipMallocSignalMemory, 2)
HIP_FLAG(hipStreamWaitValueGte, 0)
HIP_FLAG(hipStreamWaitValueEq, 1)
HIP_FLAG(hipStreamWaitValueAnd, 2)
HIP_FLAG(hipStreamWaitValueNor, 3)
HIP_FLAG(hipIpcMemLazyEnablePeerAccess, 0)
HIP_FLAG(hipStreamAddCaptureDependencies, 0)
HIP_FLAG(hipStreamSetCaptureDependencies, 1)
#ifndef HIP_DOUBLE_CHECK_5
HIP_FLAG(hipUserObjectNoDestructorSync, 1)
HIP_FLAG(hipGraphUserObjectMove, 1)
#endif

HIP_ATTRIBUTE(hipDeviceAttributeCanMapHostMemory, 3)
HIP_ATTRIBUTE(hipDeviceAttributeCanUseHostPointerForRegisteredMem, 4)
HIP_ATTRIBUTE(hipDeviceAttributeManagedMemory, 24)
HIP_ATTRIBUTE(hipDeviceAttributeMultiprocessorCount, 63)
HIP_ATTRIBUTE(hipDeviceAttributeStreamPrioritiesSupported, 78)
HIP_ATTRIBUTE(hipDeviceAttributeUnifiedAddressing, 85)
HIP_ATTRIBUTE(hipDeviceAttributeWarpSize, 87)
#ifndef HIP_DOUBLE_CHECK_7
HIP_ATTRIBUTE(hipDeviceAttributeGPUDirectRDMAWritesOrdering, 99)
#endif
HIP_ATTRIBUTE(hipDeviceAttributeIsLargeBar, 10011)
HIP_ATTRIBUTE(hipDeviceAttributeCanUseStreamWaitValue, 10013)

HIPRTC_RESULT(HIPRTC_SUCCESS, 0)
HIPRTC_RESULT(HIPRTC_ERROR_OUT_OF_MEMORY, 1)
HIPRTC_RESULT(HIPRTC_ERROR_INVALID_INPUT, 3)
HIPRTC_RESULT(HIPRTC_ERROR_INVALID_PROGRAM, 4)
HIPRTC_RESULT(HIPRTC_ERROR_INVALID_OPTION, 5)
HIPRTC_RESULT(HIPRTC_ERROR_COMPILATION, 6)

HIP_FUNCTION(hipError_t, hipInit, (unsigned flags))
HIP_FUNCTION(hipError_t, hipRuntimeGetVersion, (int *version))
HIP_FUNCTION(hipError_t, hipDriverGetVersion, (int *version))
HIP_FUNCTION(hipError_t, hipGetLastError, (void))
HIP_FUNCTION(hipError_t, hipPeekAtLastError, (void))
HIP_FUNCTION(const char *, hipGetErrorName, (hipError_t error))
HIP_FUNCTION(const char *, hipGetErrorString, (hipError_t error))

HIP_FUNCTION(hipError_t, hipGetDeviceCount, (int *count))
HIP_FUNCTION(hipError_t, hipGetDevice, (int *device))
HIP_FUNCTION(hipError_t, hipSetDevice, (int device))
HIP_FUNCTION(hipError_t, hipSetDeviceFlags, (unsigned flags))
HIP_FUNCTION(hipError_t, hipDeviceGet, (hipDevice_t * device, int ordinal))
HIP_FUNCTION(hipError_t, hipDeviceGetName, (char *name, int length, hipDevice_t device))
HIP_FUNCTION(hipError_t, hipGetDeviceProperties, (hipDeviceProp_t * properties, int device))
HIP_FUNCTION(hipError_t, hipDeviceGetPCIBusId, (char *id, int length, int device))
HIP_FUNCTION(hipError_t, hipDeviceGetAttribute,
             (int *value, hipDeviceAttribute_t which, int device))
HIP_FUNCTION(hipError_t, hipDeviceGetStreamPriorityRange, (int *least, int *greatest))
HIP_FUNCTION(hipError_t, hipDeviceSynchronize, (void))
HIP_FUNCTION(hipError_t, hipDeviceReset, (void))
#ifndef HIP_DOUBLE_CHECK_7
HIP_FUNCTION(hipError_t, hipDeviceFlushGPUDirectRDMAWrites, (int target, int scope))
#endif
HIP_FUNCTION(hipError_t, hipDeviceCanAccessPeer, (int *can, int device, int peer))
HIP_FUNCTION(hipError_t, hipDeviceGetP2PAttribute,
             (int *value, hipDeviceP2PAttr attribute, int device, int peer))
HIP_FUNCTION(hipError_t, hipDeviceEnablePeerAccess, (int peer, unsigned flags))
HIP_FUNCTION(hipError_t, hipDeviceDisablePeerAccess, (int peer))
HIP_FUNCTION(hipError_t, hipCtxSynchronize, (void))

HIP_FUNCTION(hipError_t, hipMalloc, (void **memory, size_t bytes))
HIP_FUNCTION(hipError_t, hipExtMallocWithFlags, (void **memory, size_t bytes, unsigned flags))
HIP_FUNCTION(hipError_t, hipMallocManaged, (void **memory, size_t bytes, unsigned flags))
HIP_FUNCTION(hipError_t, hipFree, (void *memory))
HIP_FUNCTION(hipError_t, hipHostMalloc, (void **memory, size_t bytes, unsigned flags))
HIP_FUNCTION(hipError_t, hipHostFree, (void *memory))
HIP_FUNCTION(hipError_t, hipHostRegister, (void *memory, size_t bytes, unsigned flags))
HIP_FUNCTION(hipError_t, hipHostUnregister, (void *memory))
HIP_FUNCTION(hipError_t, hipHostGetDevicePointer, (void **there, void *memory, unsigned flags))
HIP_FUNCTION(hipError_t, hipHostGetFlags, (unsigned *flags, void *memory))
HIP_FUNCTION(hipError_t, hipPointerGetAttributes,
             (hipPointerAttribute_t * attributes, const void *memory))
#ifndef HIP_DOUBLE_CHECK_7
HIP_FUNCTION(hipError_t, hipPointerSetAttribute, (const void *value, int which, void *memory))
#endif
HIP_FUNCTION(hipError_t, hipMemGetAddressRange,
             (hipDeviceptr_t * base, size_t *bytes, hipDeviceptr_t memory))
HIP_FUNCTION(hipError_t, hipMemGetInfo, (size_t * free_bytes, size_t *total))
HIP_FUNCTION(hipError_t, hipIpcGetMemHandle, (hipIpcMemHandle_t * handle, void *memory))
HIP_FUNCTION(hipError_t, hipIpcOpenMemHandle,
             (void **memory, hipIpcMemHandle_t handle, unsigned flags))
HIP_FUNCTION(hipError_t, hipIpcCloseMemHandle, (void *memory))

HIP_FUNCTION(hipError_t, hipPointerGetAttribute,
             (void *value, hipPointer_attribute which, hipDeviceptr_t memory))
HIP_FUNCTION(hipError_t, hipMemPoolCreate, (hipMemPool_t * pool, const hipMemPoolProps *props))
HIP_FUNCTION(hipError_t, hipMemPoolDestroy, (hipMemPool_t pool))
HIP_FUNCTION(hipError_t, hipMallocFromPoolAsync,
             (void **memory, size_t bytes, hipMemPool_t pool, hipStream_t stream))
HIP_FUNCTION(hipError_t, hipFreeAsync, (void *memory, hipStream_t stream))
HIP_FUNCTION(hipError_t, hipMemPoolSetAccess,
             (hipMemPool_t pool, const hipMemAccessDesc *list, size_t count))
HIP_FUNCTION(hipError_t, hipMemPoolGetAccess,
             (hipMemAccessFlags * flags, hipMemPool_t pool, hipMemLocation *location))
HIP_FUNCTION(hipError_t, hipMemPoolExportToShareableHandle,
             (void *handle, hipMemPool_t pool, hipMemAllocationHandleType type, unsigned flags))
HIP_FUNCTION(hipError_t, hipMemPoolImportFromShareableHandle,
             (hipMemPool_t * pool, void *handle, hipMemAllocationHandleType type, unsigned flags))
HIP_FUNCTION(hipError_t, hipMemPoolExportPointer, (hipMemPoolPtrExportData * data, void *memory))
HIP_FUNCTION(hipError_t, hipMemPoolImportPointer,
             (void **memory, hipMemPool_t pool, hipMemPoolPtrExportData *data))
HIP_FUNCTION(hipError_t, hipMemGetAllocationGranularity,
             (size_t * bytes, const hipMemAllocationProp *props,
              hipMemAllocationGranularity_flags option))
HIP_FUNCTION(hipError_t, hipMemCreate,
             (hipMemGenericAllocationHandle_t * handle, size_t bytes,
              const hipMemAllocationProp *props, unsigned long long flags))
HIP_FUNCTION(hipError_t, hipMemRelease, (hipMemGenericAllocationHandle_t handle))
HIP_FUNCTION(hipError_t, hipMemRetainAllocationHandle,
             (hipMemGenericAllocationHandle_t * handle, void *memory))
HIP_FUNCTION(hipError_t, hipMemAddressReserve,
             (void **address, size_t bytes, size_t alignment, void *wanted,
              unsigned long long flags))
HIP_FUNCTION(hipError_t, hipMemAddressFree, (void *address, size_t bytes))
HIP_FUNCTION(hipError_t, hipMemMap,
             (void *address, size_t bytes, size_t offset, hipMemGenericAllocationHandle_t handle,
              unsigned long long flags))
HIP_FUNCTION(hipError_t, hipMemUnmap, (void *address, size_t bytes))
HIP_FUNCTION(hipError_t, hipMemSetAccess,
             (void *address, size_t bytes, const hipMemAccessDesc *list, size_t count))
HIP_FUNCTION(hipError_t, hipMemExportToShareableHandle,
             (void *out, hipMemGenericAllocationHandle_t handle, hipMemAllocationHandleType type,
              unsigned long long flags))
HIP_FUNCTION(hipError_t, hipMemImportFromShareableHandle,
             (hipMemGenericAllocationHandle_t * handle, void *in, hipMemAllocationHandleType type))

HIP_FUNCTION(hipError_t, hipMemcpy, (void *to, const void *from, size_t bytes, hipMemcpyKind kind))
HIP_FUNCTION(hipError_t, hipMemcpyAsync,
             (void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream))
HIP_FUNCTION(hipError_t, hipMemset, (void *memory, int value, size_t bytes))
HIP_FUNCTION(hipError_t, hipMemsetAsync,
             (void *memory, int value, size_t bytes, hipStream_t stream))

HIP_FUNCTION(hipError_t, hipStreamCreate, (hipStream_t * stream))
HIP_FUNCTION(hipError_t, hipStreamCreateWithFlags, (hipStream_t * stream, unsigned flags))
HIP_FUNCTION(hipError_t, hipStreamCreateWithPriority,
             (hipStream_t * stream, unsigned flags, int priority))
HIP_FUNCTION(hipError_t, hipStreamDestroy, (hipStream_t stream))
HIP_FUNCTION(hipError_t, hipStreamQuery, (hipStream_t stream))
HIP_FUNCTION(hipError_t, hipStreamSynchronize, (hipStream_t stream))
HIP_FUNCTION(hipError_t, hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags))
HIP_FUNCTION(hipError_t, hipStreamGetFlags, (hipStream_t stream, unsigned *flags))
HIP_FUNCTION(hipError_t, hipStreamGetPriority, (hipStream_t stream, int *priority))
#ifndef HIP_DOUBLE_CHECK_5
HIP_FUNCTION(hipError_t, hipStreamGetDevice, (hipStream_t stream, hipDevice_t *device))
#endif
HIP_FUNCTION(hipError_t, hipStreamAddCallback,
             (hipStream_t stream, hipStreamCallback_t callback, void *data, unsigned flags))
HIP_FUNCTION(hipError_t, hipLaunchHostFunc, (hipStream_t stream, hipHostFn_t function, void *data))
HIP_FUNCTION(hipError_t, hipStreamWaitValue32,
             (hipStream_t stream, void *word, uint32_t value, unsigned flags, uint32_t mask))
HIP_FUNCTION(hipError_t, hipStreamWaitValue64,
             (hipStream_t stream, void *word, uint64_t value, unsigned flags, uint64_t mask))
HIP_FUNCTION(hipError_t, hipStreamWriteValue32,
             (hipStream_t stream, void *word, uint32_t value, unsigned flags))
HIP_FUNCTION(hipError_t, hipStreamWriteValue64,
             (hipStream_t stream, void *word, uint64_t value, unsigned flags))

HIP_FUNCTION(hipError_t, hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode))
HIP_FUNCTION(hipError_t, hipStreamEndCapture, (hipStream_t stream, hipGraph_t *graph))
HIP_FUNCTION(hipError_t, hipStreamIsCapturing, (hipStream_t stream, hipStreamCaptureStatus *status))
HIP_FUNCTION(hipError_t, hipStreamGetCaptureInfo,
             (hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id))
HIP_FUNCTION(hipError_t, hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode))
HIP_FUNCTION(hipError_t, hipGraphGetNodes, (hipGraph_t graph, hipGraphNode_t *nodes, size_t *count))
HIP_FUNCTION(hipError_t, hipStreamGetCaptureInfo_v2,
             (hipStream_t stream, hipStreamCaptureStatus *status, unsigned long long *id,
              hipGraph_t *graph, const hipGraphNode_t **after, size_t *count))
HIP_FUNCTION(hipError_t, hipStreamUpdateCaptureDependencies,
             (hipStream_t stream, hipGraphNode_t *after, size_t count, unsigned flags))
HIP_FUNCTION(hipError_t, hipGraphCreate, (hipGraph_t * graph, unsigned flags))
HIP_FUNCTION(hipError_t, hipGraphAddChildGraphNode,
             (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t *after, size_t count,
              hipGraph_t child))
HIP_FUNCTION(hipError_t, hipGraphDestroy, (hipGraph_t graph))
HIP_FUNCTION(hipError_t, hipGraphInstantiate,
             (hipGraphExec_t * exec, hipGraph_t graph, hipGraphNode_t *wrong, char *log,
              size_t bytes))
HIP_FUNCTION(hipError_t, hipGraphInstantiateWithFlags,
             (hipGraphExec_t * exec, hipGraph_t graph, unsigned long long flags))
HIP_FUNCTION(hipError_t, hipGraphExecUpdate,
             (hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t *wrong,
              hipGraphExecUpdateResult *result))
HIP_FUNCTION(hipError_t, hipGraphLaunch, (hipGraphExec_t exec, hipStream_t stream))
HIP_FUNCTION(hipError_t, hipGraphExecDestroy, (hipGraphExec_t exec))
#ifndef HIP_DOUBLE_CHECK_5
HIP_FUNCTION(hipError_t, hipUserObjectCreate,
             (hipUserObject_t * object, void *data, hipHostFn_t destroy, unsigned count,
              unsigned flags))
HIP_FUNCTION(hipError_t, hipUserObjectRelease, (hipUserObject_t object, unsigned count))
HIP_FUNCTION(hipError_t, hipGraphRetainUserObject,
             (hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags))
#endif

HIP_FUNCTION(hipError_t, hipEventCreate, (hipEvent_t * event))
HIP_FUNCTION(hipError_t, hipEventCreateWithFlags, (hipEvent_t * event, unsigned flags))
HIP_FUNCTION(hipError_t, hipEventRecord, (hipEvent_t event, hipStream_t stream))
HIP_FUNCTION(hipError_t, hipEventDestroy, (hipEvent_t event))
HIP_FUNCTION(hipError_t, hipEventQuery, (hipEvent_t event))
HIP_FUNCTION(hipError_t, hipEventSynchronize, (hipEvent_t event))
HIP_FUNCTION(hipError_t, hipEventElapsedTime, (float *ms, hipEvent_t from, hipEvent_t to))

HIP_FUNCTION(hipError_t, hipModuleLoadData, (hipModule_t * module, const void *image))
HIP_FUNCTION(hipError_t, hipModuleUnload, (hipModule_t module))
HIP_FUNCTION(hipError_t, hipModuleGetFunction,
             (hipFunction_t * function, hipModule_t module, const char *name))
HIP_FUNCTION(hipError_t, hipModuleLaunchKernel,
             (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
              hipStream_t stream, void **parameters, void **extra))

HIP_FUNCTION(hiprtcResult, hiprtcCreateProgram,
             (hiprtcProgram * program, const char *source, const char *name, int n_headers,
              const char **headers, const char **names))
HIP_FUNCTION(hiprtcResult, hiprtcCompileProgram,
             (hiprtcProgram program, int n_options, const char **options))
HIP_FUNCTION(hiprtcResult, hiprtcGetProgramLogSize, (hiprtcProgram program, size_t *bytes))
HIP_FUNCTION(hiprtcResult, hiprtcGetProgramLog, (hiprtcProgram program, char *log))
HIP_FUNCTION(hiprtcResult, hiprtcGetCodeSize, (hiprtcProgram program, size_t *bytes))
HIP_FUNCTION(hiprtcResult, hiprtcGetCode, (hiprtcProgram program, char *code))
HIP_FUNCTION(hiprtcResult, hiprtcDestroyProgram, (hiprtcProgram * program))

#undef HIP_FUNCTION
#undef HIP_ERROR
#undef HIP_FLAG
#undef HIP_ATTRIBUTE
#undef HIPRTC_RESULT
