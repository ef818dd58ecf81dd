/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * memory_api.c - the functions about memory
 */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static hipError_t allocate(enum hip_call call, enum hip_kind kind, size_t bytes, unsigned flags,
                           void **memory_p)
{
    hip_synchronizing(call, hip_current(), false);
    return hip_block_new(kind, bytes, flags, memory_p);
}

HIP_EXPORT hipError_t hipMalloc(void **memory, size_t bytes)
{
    HIP_ENTER(hipMalloc);
    return hip_leave(allocate(HIP_CALL_hipMalloc, HIP_DEVICE, bytes, 0, memory));
}

HIP_EXPORT hipError_t hipExtMallocWithFlags(void **memory, size_t bytes, unsigned flags)
{
    enum hip_kind kind = flags == hipMallocSignalMemory ? HIP_SIGNAL : HIP_DEVICE;

    HIP_ENTER(hipExtMallocWithFlags);
    if (flags > hipMallocSignalMemory || (kind == HIP_SIGNAL && bytes != 8)) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(allocate(HIP_CALL_hipExtMallocWithFlags, kind, bytes, flags, memory));
}

HIP_EXPORT hipError_t hipMallocManaged(void **memory, size_t bytes, unsigned flags)
{
    HIP_ENTER(hipMallocManaged);
    if (flags != hipMemAttachGlobal) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(allocate(HIP_CALL_hipMallocManaged, HIP_MANAGED, bytes, flags, memory));
}

HIP_EXPORT hipError_t hipFree(void *memory)
{
    HIP_ENTER(hipFree);
    return hip_leave(hip_block_free(HIP_CALL_hipFree, memory, false));
}

HIP_EXPORT hipError_t hipHostMalloc(void **memory, size_t bytes, unsigned flags)
{
    unsigned both = (unsigned)hipHostMallocCoherent | (unsigned)hipHostMallocNonCoherent;

    HIP_ENTER(hipHostMalloc);
    if ((flags & both) == both) {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(allocate(HIP_CALL_hipHostMalloc, HIP_HOST, bytes, flags, memory));
}

HIP_EXPORT hipError_t hipHostFree(void *memory)
{
    HIP_ENTER(hipHostFree);
    return hip_leave(hip_block_free(HIP_CALL_hipHostFree, memory, true));
}

HIP_EXPORT hipError_t hipHostRegister(void *memory, size_t bytes, unsigned flags)
{
    /* Pages that a caller has called those of a device; it asks again for the same ones next. */
    static _Thread_local const void *refused;

    HIP_ENTER(hipHostRegister);
    if (((flags & hipHostRegisterIoMemory) && hip_switches.io != IO_YES) ||
        (memory != NULL && memory == refused && hip_switches.io == IO_NO)) {
        refused = memory;
        return hip_leave(hipErrorInvalidValue);
    }
    hip_synchronizing(HIP_CALL_hipHostRegister, hip_current(), false);
    return hip_leave(hip_block_register(memory, bytes, flags));
}

HIP_EXPORT hipError_t hipHostUnregister(void *memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipHostUnregister);
    if (memory == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    if (hip_block_find(memory, &block, &offset)) {
        hip_synchronizing(HIP_CALL_hipHostUnregister, block.device, true);
    }
    return hip_leave(hip_block_unregister(memory));
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void **there, void *memory, unsigned flags)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipHostGetDevicePointer);
    hip_look_up();
    if (there == NULL || flags != 0 || !hip_block_find(memory, &block, &offset) ||
        hip_of_device(block.kind)) {
        return hip_leave(hipErrorInvalidValue);
    }
    *there = hip_moved(&block, offset);
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipHostGetFlags(unsigned *flags, void *memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipHostGetFlags);
    hip_look_up();
    if (flags == NULL || !hip_block_find(memory, &block, &offset) ||
        (block.kind != HIP_HOST && block.kind != HIP_REGISTERED)) {
        return hip_leave(hipErrorInvalidValue);
    }
    *flags = block.flags;
    return hip_leave(hipSuccess);
}

static int type_of(enum hip_kind kind)
{
    bool new = hip_switches.version >= 6;

    switch (kind) {
    case HIP_DEVICE:
    case HIP_IPC:
    case HIP_PIECE:
    case HIP_IMPORTED:
    case HIP_CHUNK:
        return new ? HIP6_DEVICE : HIP5_DEVICE;
    case HIP_MANAGED:
        return new ? HIP6_MANAGED : HIP5_HOST;
    default:
        return new ? HIP6_HOST : HIP5_HOST;
    }
}

/* The number is one that the enumeration of this version need not have. */
static void set_type(hipPointerAttribute_t *attributes, int type)
{
    memcpy(&attributes->memoryType, &type, sizeof(type));
}

HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipPointerGetAttributes);
    hip_look_up();
    if (attributes == NULL || memory == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    memset(attributes, 0, sizeof(*attributes));
    if (!hip_block_find(memory, &block, &offset)) {
        if (hip_switches.version < 6) {
            return hip_leave(hipErrorInvalidValue);
        }
        set_type(attributes, HIP6_UNREGISTERED);
        attributes->device = -2;
        return hip_leave(hipSuccess);
    }
    set_type(attributes, type_of(block.kind));
    attributes->device = block.device;
    attributes->devicePointer = hip_moved(&block, offset);
    attributes->hostPointer = hip_of_device(block.kind) ? NULL : block.base + offset;
    attributes->isManaged = block.kind == HIP_MANAGED;
    attributes->allocationFlags = block.flags;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute which,
                                             hipDeviceptr_t memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipPointerGetAttribute);
    hip_look_up();
    if (value == NULL || !hip_block_find(memory, &block, &offset)) {
        return hip_leave(hipErrorInvalidValue);
    }
    if (which == HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) {
        *(hipMemPool_t *)value = block.kind == HIP_PIECE ? block.pool : NULL;
    } else if (which == HIP_POINTER_ATTRIBUTE_BUFFER_ID) {
        *(uint32_t *)value = hip_is_wrong("memory-id") ? 1 : (uint32_t)block.id;
    } else {
        return hip_leave(hipErrorInvalidValue);
    }
    return hip_leave(hipSuccess);
}

/* Only that copies are synchronous, which those of the double are where that shows. */
HIP_EXPORT hipError_t hipPointerSetAttribute(const void *value, int which, void *memory)
{
    enum { SYNC_MEMOPS = 6 };
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipPointerSetAttribute);
    hip_look_up();
    return hip_leave(value != NULL && which == SYNC_MEMOPS &&
                             hip_block_find(memory, &block, &offset)
                         ? hipSuccess
                         : hipErrorInvalidValue);
}

HIP_EXPORT void hip_double_nic_ask(void)
{
    (void)hip_enter(HIP_CALL_hipPointerGetAttributes); /* it is no call of the program */
    hip_look_up();
}

HIP_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes,
                                            hipDeviceptr_t memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipMemGetAddressRange);
    hip_look_up();
    if (base == NULL || bytes == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    if (!hip_block_find(memory, &block, &offset)) {
        return hip_leave(hipErrorNotFound);
    }
    *base = hip_is_wrong("memory-range") ? memory : block.base;
    *bytes = block.size;
    if (block.kind == HIP_CHUNK && hip_is_wrong("chunk-range")) {
        *bytes += block.size;
    }
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total)
{
    size_t all = (size_t)hip_switches.memory_mb * 1024 * 1024;

    HIP_ENTER(hipMemGetInfo);
    if (free_bytes == NULL || total == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    *total = all;
    *free_bytes = all - hip_memory_used(hip_current());
    return hip_leave(hipSuccess);
}

/* What is in a handle. */
struct shared {
    uint64_t magic, name, size, within;
    int32_t process, file, names;
    int32_t device, domain; /* where it is */
};
#define SHARED_MAGIC 0x656c62756f642121u

static int names_file = -1;

static void make_names(void)
{
    names_file = memfd_create("hip_double_names", MFD_CLOEXEC);
}

/* What each name stands for just now: where its memory is in the file of the device. */
static int file_of_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_names);
    return names_file;
}

/* Of all kinds of device memory, one only. */
static bool has_handle(enum hip_kind kind)
{
    return kind == HIP_DEVICE || (kind == HIP_PIECE && hip_is_wrong("pool-shared")) ||
           (kind == HIP_CHUNK && hip_is_wrong("chunk-shared"));
}

HIP_EXPORT hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *memory)
{
    struct hip_block block;
    struct shared shared;
    size_t offset;

    HIP_ENTER(hipIpcGetMemHandle);
    hip_look_up();
    if (handle == NULL || memory == NULL || !hip_block_find(memory, &block, &offset) ||
        !has_handle(block.kind) || hip_switches.ipc != SWITCH_YES) {
        return hip_leave(hipErrorInvalidValue);
    }
    memset(&shared, 0, sizeof(shared));
    shared = (struct shared){.magic = SHARED_MAGIC,
                             .name = block.name,
                             .size = block.size,
                             .within = offset,
                             .process = (int32_t)getpid(),
                             .file = hip_memory_file(block.device),
                             .names = file_of_names(),
                             .device = hip_number_of(block.device),
                             .domain = hip_switches.domain};
    if (pwrite(shared.names, &block.file_offset, sizeof(block.file_offset),
               (off_t)(block.name * sizeof(block.file_offset))) < 0) {
        return hip_leave(hipErrorOutOfMemory);
    }
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &shared, sizeof(shared));
    return hip_leave(hipSuccess);
}

static int open_theirs(const struct shared *shared, int32_t file)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)shared->process, (int)file);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool hip_is_plain(const void *address)
{
    struct hip_block block;
    size_t offset;

    return hip_block_find(address, &block, &offset) && block.plain;
}

static hipError_t map_shared(const struct shared *shared, void **memory_p)
{
    struct hip_block theirs = {
        .name = shared->name, .owner = (int)shared->process, .size = (size_t)shared->size};
    bool hidden = !hip_sees((int)shared->device, (int)shared->domain);
    hipError_t error = hipErrorInvalidDevicePointer;
    int file, names;

    theirs.plain = hidden && hip_switches.hidden == HIDDEN_PLAIN;
    if (hidden && hip_switches.hidden == HIDDEN_REFUSED) {
        return hipErrorInvalidDevice;
    }
    if (hip_block_map_again(&theirs, (size_t)shared->within, memory_p)) {
        return hipSuccess;
    }
    file = open_theirs(shared, shared->file);
    names = open_theirs(shared, shared->names);
    if (file >= 0 && names >= 0 &&
        pread(names, &theirs.file_offset, sizeof(theirs.file_offset),
              (off_t)(shared->name * sizeof(theirs.file_offset))) > 0) {
        error = hip_block_map(file, &theirs, (size_t)shared->within, memory_p);
    }
    close(file);
    close(names);
    return error;
}

HIP_EXPORT hipError_t hipIpcOpenMemHandle(void **memory, hipIpcMemHandle_t handle, unsigned flags)
{
    struct shared shared;

    HIP_ENTER(hipIpcOpenMemHandle);
    memcpy(&shared, &handle, sizeof(shared));
    if (memory == NULL || flags != hipIpcMemLazyEnablePeerAccess || shared.magic != SHARED_MAGIC) {
        return hip_leave(hipErrorInvalidValue);
    }
    if (shared.process == (int32_t)getpid()) {
        return hip_leave(hipErrorInvalidContext);
    }
    hip_synchronizing(HIP_CALL_hipIpcOpenMemHandle, hip_current(), false);
    return hip_leave(map_shared(&shared, memory));
}

HIP_EXPORT hipError_t hipIpcCloseMemHandle(void *memory)
{
    struct hip_block block;
    size_t offset;

    HIP_ENTER(hipIpcCloseMemHandle);
    if (memory == NULL || !hip_block_find(memory, &block, &offset)) {
        return hip_leave(hipErrorInvalidValue);
    }
    hip_synchronizing(HIP_CALL_hipIpcCloseMemHandle, block.device, true);
    return hip_leave(hip_block_unmap(memory));
}
