/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * check.c - the declarations of the double against those of the vendor's header: compiling it is
 * the check, which tests/hip_double.sh does where that header is found
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#if HIP_VERSION_MAJOR < 8
#define HIP_DOUBLE_CHECK_7 1 /* newer than that */
#endif
#if HIP_VERSION_MAJOR < 6
#define HIP_DOUBLE_CHECK_5 1
enum { type_host = 0, type_device = 1, type_unified = 3 };
_Static_assert(offsetof(hipPointerAttribute_t, memoryType) == 0, "memoryType");
#else
enum { type_host = 1, type_device = 2, type_unified = 11 };
_Static_assert(offsetof(hipPointerAttribute_t, type) == 0, "type");
_Static_assert(hipMemoryTypeUnregistered == 0 && hipMemoryTypeManaged == 3, "types of memory");
#endif
_Static_assert(hipMemoryTypeHost == type_host && hipMemoryTypeDevice == type_device &&
                   hipMemoryTypeUnified == type_unified,
               "types of memory");

/* Functions are declared once more: with other types, this does not compile. */
#define HIP_FUNCTION(result, name, parameters) result name parameters;
#define HIP_ERROR(name, number) _Static_assert(name == (number), #name);
#define HIP_FLAG(name, number) _Static_assert((unsigned)(name) == (unsigned)(number), #name);
#define HIP_ATTRIBUTE(name, number) _Static_assert(name == (number), #name);
#define HIPRTC_RESULT(name, number) _Static_assert(name == (number), #name);
#include "api_defs.h"

_Static_assert(hipMemcpyHostToHost == 0 && hipMemcpyHostToDevice == 1 &&
                   hipMemcpyDeviceToHost == 2 && hipMemcpyDeviceToDevice == 3 &&
                   hipMemcpyDefault == 4,
               "kinds of copies");
_Static_assert(offsetof(hipPointerAttribute_t, device) == 4, "device");
_Static_assert(offsetof(hipPointerAttribute_t, devicePointer) == 8, "devicePointer");
_Static_assert(offsetof(hipPointerAttribute_t, hostPointer) == 16, "hostPointer");
_Static_assert(offsetof(hipPointerAttribute_t, isManaged) == 24, "isManaged");
_Static_assert(offsetof(hipPointerAttribute_t, allocationFlags) == 28, "allocationFlags");
_Static_assert(sizeof(hipPointerAttribute_t) == 32, "hipPointerAttribute_t");
_Static_assert(HIP_POINTER_ATTRIBUTE_BUFFER_ID == 7, "HIP_POINTER_ATTRIBUTE_BUFFER_ID");
_Static_assert(sizeof(hipIpcMemHandle_t) == 64, "hipIpcMemHandle_t");

_Static_assert(HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE == 17 && hipMemLocationTypeDevice == 1 &&
                   hipMemAccessFlagsProtReadWrite == 3 && hipMemAllocationTypePinned == 1 &&
                   hipMemHandleTypePosixFileDescriptor == 1,
               "numbers of pools and chunks");
_Static_assert(offsetof(hipMemLocation, id) == 4 && offsetof(hipMemAccessDesc, flags) == 8 &&
                   sizeof(hipMemAccessDesc) == 12,
               "hipMemAccessDesc");
_Static_assert(offsetof(hipMemPoolProps, handleTypes) == 4 &&
                   offsetof(hipMemPoolProps, location) == 8 &&
                   offsetof(hipMemPoolProps, win32SecurityAttributes) == 16 &&
                   offsetof(hipMemPoolProps, reserved) == 24,
               "hipMemPoolProps");
_Static_assert(sizeof(hipMemPoolPtrExportData) == 64, "hipMemPoolPtrExportData");
#if HIP_VERSION_MAJOR < 6
_Static_assert(offsetof(hipMemAllocationProp, location) == 4 &&
                   offsetof(hipMemAllocationProp, requestedHandleType) == 12 &&
                   offsetof(hipMemAllocationProp, type) == 16 &&
                   offsetof(hipMemAllocationProp, usage) == 20 &&
                   offsetof(hipMemAllocationProp, win32HandleMetaData) == 24,
               "hipMemAllocationProp");
#endif

_Static_assert(hipStreamCaptureModeGlobal == 0 && hipStreamCaptureModeThreadLocal == 1 &&
                   hipStreamCaptureModeRelaxed == 2 && hipStreamCaptureStatusNone == 0 &&
                   hipStreamCaptureStatusActive == 1 && hipStreamCaptureStatusInvalidated == 2,
               "numbers of captures");

int hip_check_compiled;
