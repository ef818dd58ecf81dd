/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_files.c - cases about memory that is shared by files: pools and chunks
 */
#include "behave.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static const hipMemLocation here = {hipMemLocationTypeDevice, 0};

static hipMemPool_t make_pool(hipMemAllocationHandleType type)
{
    hipMemPoolProps props = {
        .allocType = hipMemAllocationTypePinned, .handleTypes = type, .location = here};
    hipMemPool_t pool;

    NEED(hipMemPoolCreate(&pool, &props) == hipSuccess);
    return pool;
}

static unsigned char *make_piece(hipMemPool_t pool, size_t bytes)
{
    void *memory;

    NEED(hipMallocFromPoolAsync(&memory, bytes, pool, NULL) == hipSuccess);
    return memory;
}

static const hipMemAllocationProp open_props = {.location = {hipMemLocationTypeDevice, 0},
                                                .requestedHandleType =
                                                    hipMemHandleTypePosixFileDescriptor,
                                                .type = hipMemAllocationTypePinned};

static size_t granularity(void)
{
    size_t bytes;

    NEED(hipMemGetAllocationGranularity(&bytes, &open_props, hipMemAllocationGranularityMinimum) ==
         hipSuccess);
    return bytes;
}

static void map(void *address, hipMemGenericAllocationHandle_t chunk)
{
    hipMemAccessDesc access = {here, hipMemAccessFlagsProtReadWrite};

    NEED(hipMemMap(address, granularity(), 0, chunk, 0) == hipSuccess);
    NEED(hipMemSetAccess(address, granularity(), &access, 1) == hipSuccess);
}

/* Two chunks side by side. */
static unsigned char *make_chunks(void)
{
    size_t bytes = granularity();
    void *address;

    NEED(hipMemAddressReserve(&address, 2 * bytes, 0, NULL, 0) == hipSuccess);
    for (int i = 0; i < 2; i++) {
        hipMemGenericAllocationHandle_t chunk;

        NEED(hipMemCreate(&chunk, bytes, &open_props, 0) == hipSuccess);
        map((char *)address + (size_t)i * bytes, chunk);
        NEED(hipMemRelease(chunk) == hipSuccess);
    }
    return address;
}

/* What the owner of memory sends to the process that maps it. */
struct note {
    hipMemPoolPtrExportData piece;
    int file, is_private;
};

static void add_to(void *memory, size_t bytes)
{
    hipStream_t stream = behave_stream();
    struct behave_words words = {NULL, 1, memory, bytes};

    NEED(behave_launch(BEHAVE_ADD, stream, words) == hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
}

/* Its memory, filled with 3; then somebody adds 1. */
static void owner(bool of_pool, int in, int out)
{
    hipMemPool_t pool = of_pool ? make_pool(hipMemHandleTypePosixFileDescriptor) : NULL;
    unsigned char *memory = of_pool ? make_piece(pool, 5000) : make_chunks(), byte = 0;
    hipMemGenericAllocationHandle_t chunk;
    hipIpcMemHandle_t handle;
    struct note note;

    memset(&note, 0, sizeof(note));
    NEED(hipMemset(memory, 3, 5000) == hipSuccess);
    note.is_private = hipIpcGetMemHandle(&handle, memory) != hipSuccess;
    if (of_pool) {
        NEED(hipMemPoolExportToShareableHandle(
                 &note.file, pool, hipMemHandleTypePosixFileDescriptor, 0) == hipSuccess);
        NEED(hipMemPoolExportPointer(&note.piece, memory) == hipSuccess);
    } else {
        NEED(hipMemRetainAllocationHandle(&chunk, memory + 10) == hipSuccess);
        NEED(hipMemExportToShareableHandle(&note.file, chunk, hipMemHandleTypePosixFileDescriptor,
                                           0) == hipSuccess);
        NEED(hipMemRelease(chunk) == hipSuccess);
    }
    NEED(write(out, &note, sizeof(note)) == sizeof(note));
    NEED(read(in, &byte, 1) == 1);
    NEED(hipMemcpy(&byte, memory + 4999, 1, hipMemcpyDefault) == hipSuccess && byte == 4);
    _exit(0);
}

static void use_piece(int file, hipMemPoolPtrExportData *data)
{
    hipMemPool_t pool;
    void *memory, *other;

    NEED(hipMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)file,
                                             hipMemHandleTypePosixFileDescriptor, 0) == hipSuccess);
    NEED(hipMallocFromPoolAsync(&other, 100, pool, NULL) == hipErrorInvalidValue);
    NEED(hipMemPoolImportPointer(&memory, pool, data) == hipSuccess);
    add_to(memory, 5000);
    NEED(hipFree(memory) == hipSuccess && hipMemPoolDestroy(pool) == hipSuccess);
}

static void use_chunk(int file)
{
    hipMemGenericAllocationHandle_t chunk;
    void *memory;

    NEED(hipMemImportFromShareableHandle(&chunk, (void *)(uintptr_t)file,
                                         hipMemHandleTypePosixFileDescriptor) == hipSuccess);
    NEED(hipMemAddressReserve(&memory, granularity(), 0, NULL, 0) == hipSuccess);
    map(memory, chunk);
    NEED(hipMemRelease(chunk) == hipSuccess);
    add_to(memory, 5000);
    NEED(hipMemUnmap(memory, granularity()) == hipSuccess);
    NEED(hipMemAddressFree(memory, granularity()) == hipSuccess);
}

static bool is_shared(bool of_pool)
{
    int to[2], from[2], status, file;
    struct note note;
    pid_t child;

    NEED(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    if (child == 0) {
        owner(of_pool, to[0], from[1]);
    }
    NEED(read(from[0], &note, sizeof(note)) == sizeof(note));
    file = (int)syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, child, 0), note.file, 0);
    NEED(file >= 0);
    if (of_pool) {
        use_piece(file, &note.piece);
    } else {
        use_chunk(file);
    }
    NEED(write(to[1], "", 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    return note.is_private;
}

static bool pool_shared(void)
{
    return is_shared(true);
}

static bool chunk_shared(void)
{
    return is_shared(false);
}

static bool pool_closed(void)
{
    hipMemPool_t pool = make_pool(hipMemHandleTypeNone);
    int file = -1;

    (void)make_piece(pool, 100);
    return hipMemPoolExportToShareableHandle(&file, pool, hipMemHandleTypePosixFileDescriptor, 0) ==
           hipErrorInvalidValue;
}

static bool pool_first(void)
{
    hipMemPool_t pool = make_pool(hipMemHandleTypePosixFileDescriptor);
    void *memory = make_piece(pool, 100);
    hipMemPoolPtrExportData data;
    int file = -1;

    if (hipMemPoolExportPointer(&data, memory) != hipErrorInvalidValue) {
        return false;
    }
    NEED(hipMemPoolExportToShareableHandle(&file, pool, hipMemHandleTypePosixFileDescriptor, 0) ==
         hipSuccess);
    return hipMemPoolExportPointer(&data, memory) == hipSuccess;
}

static bool pool_again(void)
{
    hipMemPool_t pool = make_pool(hipMemHandleTypeNone), of;
    unsigned char *first = make_piece(pool, 100), *second;
    hipStream_t stream = behave_stream();

    NEED(hipPointerGetAttribute(&of, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first + 99) ==
             hipSuccess &&
         of == pool);
    NEED(hipFreeAsync(first, stream) == hipSuccess && hipStreamSynchronize(stream) == hipSuccess);
    second = make_piece(pool, 100);
    NEED(hipFree(second) == hipSuccess && hipMemPoolDestroy(pool) == hipSuccess);
    return second == first;
}

static void add_to_chunk(void *arg)
{
    hipMemGenericAllocationHandle_t chunk;
    void *address;

    NEED(hipMemAddressReserve(&address, granularity(), 0, NULL, 0) == hipSuccess);
    NEED(hipMemCreate(&chunk, granularity(), &open_props, 0) == hipSuccess);
    if (arg != NULL) {
        map(address, chunk);
    } else {
        NEED(hipMemMap(address, granularity(), 0, chunk, 0) == hipSuccess);
    }
    add_to(address, granularity());
}

static bool memory_access(void)
{
    int yes = 1;

    return behave_aborts(add_to_chunk, NULL) && !behave_aborts(add_to_chunk, &yes);
}

static bool chunk_closed(void)
{
    hipMemAllocationProp props = open_props;
    hipMemGenericAllocationHandle_t chunk;
    int file;

    props.requestedHandleType = hipMemHandleTypeNone;
    NEED(hipMemCreate(&chunk, granularity(), &props, 0) == hipSuccess);
    return hipMemExportToShareableHandle(&file, chunk, hipMemHandleTypePosixFileDescriptor, 0) ==
           hipErrorInvalidValue;
}

static bool chunk_range(void)
{
    size_t whole = granularity(), bytes;
    unsigned char *memory = make_chunks();
    hipMemGenericAllocationHandle_t first, second;
    hipDeviceptr_t base;

    NEED(hipMemRetainAllocationHandle(&first, memory + whole - 1) == hipSuccess);
    NEED(hipMemRetainAllocationHandle(&second, memory + whole) == hipSuccess && first != second);
    NEED(hipMemAddressFree(memory, 2 * whole) == hipErrorInvalidValue);
    NEED(hipMemUnmap(memory, whole / 2) == hipErrorInvalidValue);
    NEED(hipMemGetAddressRange(&base, &bytes, memory + whole + 1) == hipSuccess);
    return base == memory + whole && bytes == whole;
}

const struct behave_case behave_file_cases[] = {
    {"memory-access", memory_access}, {"pool-shared", pool_shared}, {"pool-closed", pool_closed},
    {"pool-first", pool_first},       {"pool-again", pool_again},   {"chunk-shared", chunk_shared},
    {"chunk-closed", chunk_closed},   {"chunk-range", chunk_range}, {NULL, NULL},
};
