/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * api.h - what the double offers of the HIP runtime, under the vendor's names
 *
 * hip_check.c compiles api_defs.h with the vendor's header in place of these declarations, and so
 * finds any that are wrong.
 */
#ifndef HIP_DOUBLE_API_H
#define HIP_DOUBLE_API_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of the enumerations are in api_defs.h. */
typedef enum hipError_t {
#define HIP_ERROR(name, number) name = number,
#include "api_defs.h"
} hipError_t;

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost,
    hipMemcpyHostToDevice,
    hipMemcpyDeviceToHost,
    hipMemcpyDeviceToDevice,
    hipMemcpyDefault
} hipMemcpyKind;

enum {
#define HIP_FLAG(name, number) name = (int)(number),
#include "api_defs.h"
};

typedef enum hipDeviceAttribute_t {
#define HIP_ATTRIBUTE(name, number) name = number,
#include "api_defs.h"
} hipDeviceAttribute_t;

typedef enum hipDeviceP2PAttr {
    hipDevP2PAttrPerformanceRank,
    hipDevP2PAttrAccessSupported,
    hipDevP2PAttrNativeAtomicSupported,
    hipDevP2PAttrHipArrayAccessSupported
} hipDeviceP2PAttr;

/* Two numberings, so these are no names of an enumeration. */
enum { HIP5_HOST, HIP5_DEVICE, HIP5_ARRAY, HIP5_UNIFIED };
enum { HIP6_UNREGISTERED, HIP6_HOST, HIP6_DEVICE, HIP6_MANAGED };
typedef enum hipMemoryType { hipMemoryTypeLowest, hipMemoryTypeHighest = 11 } hipMemoryType;

typedef struct hipPointerAttribute_t {
    enum hipMemoryType memoryType; /* type, from ROCm 6 on */
    int device;
    void *devicePointer;
    void *hostPointer;
    int isManaged;
    unsigned allocationFlags;
} hipPointerAttribute_t;

typedef enum hipPointer_attribute {
    HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
} hipPointer_attribute;

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipCtx_t *hipCtx_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipUserObject *hipUserObject_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef void (*hipHostFn_t)(void *userData);
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *userData);

typedef enum hipStreamCaptureMode {
    hipStreamCaptureModeGlobal,
    hipStreamCaptureModeThreadLocal,
    hipStreamCaptureModeRelaxed
} hipStreamCaptureMode;
typedef enum hipStreamCaptureStatus {
    hipStreamCaptureStatusNone,
    hipStreamCaptureStatusActive,
    hipStreamCaptureStatusInvalidated
} hipStreamCaptureStatus;

typedef enum hipGraphExecUpdateResult {
    hipGraphExecUpdateSuccess,
    hipGraphExecUpdateError,
    hipGraphExecUpdateErrorTopologyChanged,
    hipGraphExecUpdateErrorNodeTypeChanged,
    hipGraphExecUpdateErrorFunctionChanged
} hipGraphExecUpdateResult;

/* Not the vendor's, of which every version has another. */
typedef struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem;
    int between[100];
    char gcnArchName[256];
    int behind[20];
} hipDeviceProp_t;

typedef enum hiprtcResult {
#define HIPRTC_RESULT(name, number) name = number,
#include "api_defs.h"
} hiprtcResult;
typedef struct _hiprtcProgram *hiprtcProgram;

typedef struct hipIpcMemHandle_st {
    char reserved[64];
} hipIpcMemHandle_t;

typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef struct ihipMemGenericAllocationHandle *hipMemGenericAllocationHandle_t;
typedef enum hipMemLocationType {
    hipMemLocationTypeInvalid,
    hipMemLocationTypeDevice
} hipMemLocationType;
typedef struct hipMemLocation {
    hipMemLocationType type;
    int id;
} hipMemLocation;
typedef enum hipMemAccessFlags {
    hipMemAccessFlagsProtNone = 0,
    hipMemAccessFlagsProtRead = 1,
    hipMemAccessFlagsProtReadWrite = 3
} hipMemAccessFlags;
typedef struct hipMemAccessDesc {
    hipMemLocation location;
    hipMemAccessFlags flags;
} hipMemAccessDesc;
typedef enum hipMemAllocationType {
    hipMemAllocationTypeInvalid,
    hipMemAllocationTypePinned,
    hipMemAllocationTypeMax = 0x7fffffff
} hipMemAllocationType;
typedef enum hipMemAllocationHandleType {
    hipMemHandleTypeNone = 0,
    hipMemHandleTypePosixFileDescriptor = 1
} hipMemAllocationHandleType;
typedef enum hipMemAllocationGranularity_flags {
    hipMemAllocationGranularityMinimum,
    hipMemAllocationGranularityRecommended
} hipMemAllocationGranularity_flags;
typedef struct hipMemPoolProps {
    hipMemAllocationType allocType;
    hipMemAllocationHandleType handleTypes;
    hipMemLocation location;
    void *win32SecurityAttributes;
    unsigned char reserved[64];
} hipMemPoolProps;
typedef struct hipMemPoolPtrExportData {
    unsigned char reserved[64];
} hipMemPoolPtrExportData;
/* Newer versions have the members in another order. */
typedef struct hipMemAllocationProp {
    unsigned char compressionType;
    hipMemLocation location;
    hipMemAllocationHandleType requestedHandleType;
    hipMemAllocationType type;
    unsigned short usage;
    void *win32HandleMetaData;
} hipMemAllocationProp;

#define hipStreamPerThread ((hipStream_t)2)

#define HIP_FUNCTION(result, name, parameters) result name parameters;
#include "api_defs.h"

#endif
