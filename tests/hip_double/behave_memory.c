/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_memory.c - cases about memory, devices and failures
 */
#include "behave.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static unsigned char *device_memory(size_t bytes)
{
    void *memory;

    NEED(hipMalloc(&memory, bytes) == hipSuccess);
    return memory;
}

static void add_to(void *memory, size_t bytes)
{
    hipStream_t stream = behave_stream();
    struct behave_words words = {NULL, 1, memory, bytes};

    NEED(behave_launch(BEHAVE_ADD, stream, words) == hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
}

static void touch(void *arg)
{
    volatile unsigned char *memory = arg == NULL ? device_memory(100) : arg;

    memory[0] = 1;
}

static bool host_access(void)
{
    return behave_aborts(touch, NULL);
}

static void touch_freed(void *arg)
{
    unsigned char *memory = device_memory(100);

    (void)arg;
    NEED(hipFree(memory) == hipSuccess);
    touch(memory);
}

static void add_freed(void *arg)
{
    unsigned char *memory = device_memory(100);

    (void)arg;
    NEED(hipFree(memory) == hipSuccess);
    add_to(memory, 100);
}

static bool memory_freed(void)
{
    return behave_aborts(touch_freed, NULL) && behave_aborts(add_freed, NULL);
}

static void add_behind(void *arg)
{
    (void)arg;
    add_to(device_memory(256), 257);
}

static void free_after_margin(void *arg)
{
    unsigned char *memory = device_memory(100);

    (void)arg;
    add_to(memory, 101);
    (void)hipFree(memory);
}

static bool memory_margin(void)
{
    return behave_aborts(add_behind, NULL) && behave_aborts(free_after_margin, NULL);
}

static bool memory_kernel(void)
{
    unsigned char *memory = device_memory(3 * PAGE), bytes[3];

    NEED(hipMemset(memory, 5, 3 * PAGE) == hipSuccess);
    add_to(memory, 3 * PAGE - 1);
    NEED(hipMemcpy(&bytes[0], memory, 1, hipMemcpyDeviceToHost) == hipSuccess);
    NEED(hipMemcpy(&bytes[1], memory + 3 * PAGE - 2, 2, hipMemcpyDeviceToHost) == hipSuccess);
    return bytes[0] == 6 && bytes[1] == 6 && bytes[2] == 5;
}

static void add_to_peer(void *arg)
{
    unsigned char *memory = device_memory(100);

    NEED(hipSetDevice(1) == hipSuccess);
    if (arg != NULL) {
        NEED(hipDeviceEnablePeerAccess(0, 0) == hipSuccess);
    }
    add_to(memory, 100);
}

static bool memory_peer(void)
{
    int yes = 1;

    setenv("HIP_DOUBLE_DEVICES", "2", 1);
    return behave_aborts(add_to_peer, NULL) && !behave_aborts(add_to_peer, &yes);
}

static bool memory_peer_offered(void)
{
    int can;

    setenv("HIP_DOUBLE_DEVICES", "2", 1);
    NEED(hipDeviceCanAccessPeer(&can, 0, 1) == hipSuccess);
    return can == 1;
}

static bool memory_rdma(void)
{
    int ordering = -1;

    NEED(hipDeviceGetAttribute(&ordering, hipDeviceAttributeGPUDirectRDMAWritesOrdering, 0) ==
         hipSuccess);
    return ordering == 0;
}

static void free_opened(void *arg)
{
    unsigned char *memory = device_memory(100);
    void *alias;

    NEED(hip_double_nic_open(memory + 10, 90, &alias) == 0);
    if (arg != NULL) {
        hip_double_nic_close(memory + 10, 90, alias);
    }
    NEED(hipFree(memory) == hipSuccess);
}

static bool memory_nic(void)
{
    unsigned char *memory = device_memory(100), byte = 7;
    const void *base;
    size_t bytes;
    void *alias;
    int yes = 1;

    NEED(hip_double_nic_open(&byte, 1, &alias) == -1);
    NEED(hip_double_nic_open(memory + 10, 91, &alias) == 1);
    NEED(hip_double_nic_open(memory + 10, 90, &alias) == 0);
    hip_double_nic_range(memory + 10, &base, &bytes);
    NEED(base == memory && bytes == 100);
    *(unsigned char *)alias = 42;
    NEED(hipMemcpy(&byte, memory + 10, 1, hipMemcpyDeviceToHost) == hipSuccess);
    return byte == 42 && !behave_aborts(free_opened, &yes) && behave_aborts(free_opened, NULL);
}

/* Of two allocations of a size, the first of which is freed. */
struct twice {
    unsigned char *memory[2];
    uint64_t id[2];
};

static struct twice allocate_twice(void)
{
    struct twice twice = {{NULL, NULL}, {0, 0}};

    for (int i = 0; i < 2; i++) {
        twice.memory[i] = device_memory(100);
        NEED(hipPointerGetAttribute(&twice.id[i], HIP_POINTER_ATTRIBUTE_BUFFER_ID,
                                    twice.memory[i] + 99) == hipSuccess);
        NEED(i == 1 || hipFree(twice.memory[i]) == hipSuccess);
    }
    return twice;
}

static bool memory_address(void)
{
    struct twice twice = allocate_twice();

    return twice.memory[0] != twice.memory[1];
}

static bool memory_id(void)
{
    struct twice twice = allocate_twice();

    return twice.id[0] != twice.id[1];
}

static bool memory_moved(void)
{
    static char pages[3 * PAGE];
    char *page = pages + PAGE - (uintptr_t)pages % PAGE;
    void *pinned, *there, *registered;

    NEED(hipHostMalloc(&pinned, 64, 0) == hipSuccess);
    NEED(hipHostGetDevicePointer(&there, pinned, 0) == hipSuccess);
    NEED(hipHostRegister(page, PAGE, hipHostRegisterMapped) == hipSuccess);
    NEED(hipHostGetDevicePointer(&registered, page + 8, 0) == hipSuccess);
    NEED(hipHostUnregister(page) == hipSuccess);
    NEED(hipHostGetDevicePointer(&there, page, 0) == hipErrorInvalidValue);
    return there != pinned && registered != page + 8;
}

static bool memory_full(void)
{
    void *memory = &memory;
    hipError_t error = hipMalloc(&memory, (size_t)2048 * 1024 * 1024);

    NEED(hipMalloc(&memory, 1024 * 1024) == hipSuccess);
    return error == hipErrorOutOfMemory;
}

static bool memory_types(void)
{
    void *device = device_memory(64), *pinned, *managed;
    hipPointerAttribute_t of_device, of_pinned, of_managed;

    NEED(hipHostMalloc(&pinned, 64, 0) == hipSuccess);
    NEED(hipMallocManaged(&managed, 64, hipMemAttachGlobal) == hipSuccess);
    NEED(hipPointerGetAttributes(&of_device, device) == hipSuccess);
    NEED(hipPointerGetAttributes(&of_pinned, pinned) == hipSuccess);
    NEED(hipPointerGetAttributes(&of_managed, managed) == hipSuccess);
    NEED(of_device.devicePointer == device && of_device.hostPointer == NULL);
    NEED(of_pinned.hostPointer == pinned && of_managed.isManaged && !of_device.isManaged);
    return (int)of_device.memoryType == 1 && (int)of_pinned.memoryType == 0;
}

static bool memory_unknown(void)
{
    hipPointerAttribute_t attributes;
    int here = 0;

    return hipPointerGetAttributes(&attributes, &here) == hipErrorInvalidValue;
}

static bool memory_range(void)
{
    unsigned char *memory = device_memory(1000);
    hipDeviceptr_t base;
    size_t bytes;

    NEED(hipMemGetAddressRange(&base, &bytes, memory + 999) == hipSuccess);
    return base == memory && bytes == 1000 &&
           hipMemGetAddressRange(&base, &bytes, memory + 1000) == hipErrorNotFound;
}

static bool memory_io(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    NEED(page != MAP_FAILED);
    return hipHostRegister(page, PAGE, hipHostRegisterIoMemory) == hipSuccess;
}

static bool memory_io_plain(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    NEED(page != MAP_FAILED);
    if (hipHostRegister(page, PAGE, hipHostRegisterIoMemory) == hipSuccess) {
        NEED(hipHostUnregister(page) == hipSuccess);
    }
    return hipHostRegister(page, PAGE, hipHostRegisterDefault) == hipSuccess;
}

/* What the owner of memory sends to the process that maps it, and what comes back. */
struct note {
    hipIpcMemHandle_t handle;
    int offered;
};

static void owner(int in, int out)
{
    unsigned char *memory = device_memory(5000), byte = 0;
    struct note note = {.offered = 0};

    NEED(hipMemset(memory, 3, 5000) == hipSuccess);
    note.offered = hipIpcGetMemHandle(&note.handle, memory + 4000) == hipSuccess;
    NEED(write(out, &note, sizeof(note)) == sizeof(note));
    NEED(read(in, &byte, 1) == 1);
    if (note.offered) {
        void *mapped;

        NEED(hipIpcOpenMemHandle(&mapped, note.handle, 0) == hipErrorInvalidContext);
        NEED(hipMemcpy(&byte, memory + 4010, 1, hipMemcpyDefault) == hipSuccess && byte == 4);
    }
    _exit(0);
}

static bool memory_shared(void)
{
    int to[2], from[2], status;
    struct note note;
    void *mapped;
    pid_t child;

    NEED(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    if (child == 0) {
        owner(to[0], from[1]);
    }
    NEED(read(from[0], &note, sizeof(note)) == sizeof(note));
    if (note.offered) {
        unsigned char byte = 0;

        NEED(hipIpcOpenMemHandle(&mapped, note.handle, 0) == hipSuccess);
        NEED(hipMemcpy(&byte, mapped, 1, hipMemcpyDefault) == hipSuccess && byte == 3);
        add_to(mapped, 1000);
        NEED(hipIpcCloseMemHandle(mapped) == hipSuccess);
    }
    NEED(write(to[1], "", 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    return note.offered;
}

static bool error_last(void)
{
    int device;

    NEED(hipGetDevice(NULL) == hipErrorInvalidValue);
    NEED(hipPeekAtLastError() == hipErrorInvalidValue && hipGetDevice(&device) == hipSuccess);
    return hipGetLastError() == hipSuccess;
}

static bool error_injected(void)
{
    int device;

    NEED(hip_double_fail("hipGetDevice", 2, hipErrorUnknown) == 0);
    NEED(hip_double_fail("hipNothing", 2, hipErrorUnknown) == -1);
    return hipGetDevice(&device) == hipSuccess && hipGetDevice(&device) == hipErrorUnknown &&
           hipGetDevice(&device) == hipSuccess && hip_double_calls("hipGetDevice") == 3;
}

static bool error_sticky(void)
{
    hipStream_t stream = behave_stream();
    uint64_t *word;
    void *memory;

    NEED(hipExtMallocWithFlags(&memory, 8, hipMallocSignalMemory) == hipSuccess);
    word = memory;
    behave_set(word, 0);
    NEED(hipStreamWaitValue64(stream, word, 1, hipStreamWaitValueGte, UINT64_MAX) == hipSuccess);
    hip_double_break(hipErrorLaunchFailure);
    return hipStreamQuery(stream) == hipErrorLaunchFailure &&
           hipStreamSynchronize(stream) == hipErrorLaunchFailure &&
           hipMalloc(&memory, 8) == hipErrorLaunchFailure;
}

static bool image_refused(void)
{
    hipModule_t module;

    return hipModuleLoadData(&module, "no code at all") == hipErrorInvalidImage;
}

/* A bundle of code for devices of one kind, with the names of two kernels in it. */
static bool image_bundle(void)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    static const char kind[] = "hipv4-amdgcn-amd-amdhsa--gfx90a", names[] = "x\0hip_test_store\0x";
    uint64_t numbers[] = {1, 100, sizeof(names), strlen(kind)};
    char bundle[200] = "";
    hipFunction_t function;
    hipModule_t module;

    memcpy(bundle, magic, strlen(magic));
    memcpy(bundle + 24, numbers, sizeof(numbers));
    memcpy(bundle + 56, kind, strlen(kind));
    memcpy(bundle + 100, names, sizeof(names));
    return hipModuleLoadData(&module, bundle) == hipSuccess &&
           hipModuleGetFunction(&function, module, "hip_test_store") == hipSuccess &&
           hipModuleGetFunction(&function, module, "hip_test_wait") == hipErrorNotFound &&
           hipModuleUnload(module) == hipSuccess;
}

/* 0 on success; then *code_p is to be freed. */
static int compile(const char *source, int n_options, char **code_p)
{
    const char *options[] = {"--offload-arch=gfx90a:xnack-"};
    hiprtcProgram program;
    size_t bytes = 0;
    int code;

    NEED(hiprtcCreateProgram(&program, source, "name", 0, NULL, NULL) == HIPRTC_SUCCESS);
    code = (int)hiprtcCompileProgram(program, n_options, options);
    if (code == 0) {
        NEED(hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS && bytes > 0);
        *code_p = malloc(bytes);
        NEED(*code_p != NULL && hiprtcGetCode(program, *code_p) == HIPRTC_SUCCESS);
    }
    NEED(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);
    return code;
}

static bool image_compiled(void)
{
    static const char good[] = "__global__ void hip_test_store(struct words words) {}";
    static const char bad[] = "#include \"words.h\"\n__global__ void hip_test_store(int i) {}";
    hipFunction_t function;
    hipModule_t module;
    char *code = NULL, *none = NULL;
    bool is_good;

    NEED(compile(good, 1, &code) == 0);
    is_good = hipModuleLoadData(&module, code) == hipSuccess &&
              hipModuleGetFunction(&function, module, "hip_test_store") == hipSuccess &&
              hipModuleGetFunction(&function, module, "hip_test_wait") == hipErrorNotFound &&
              compile(bad, 1, &none) == HIPRTC_ERROR_COMPILATION;
    free(code);
    free(none);
    return is_good;
}

static bool image_kind(void)
{
    char *code = NULL;
    bool found = compile("__global__ void hip_test_store(int i) {}", 0, &code) == 0;

    free(code);
    return found;
}

static void live_check(void *arg)
{
    (void)arg;
    NEED(hip_double_live() == 0);
    (void)device_memory(8);
    abort();
}

static bool device_count(void)
{
    int count = -1;

    NEED(behave_aborts(live_check, NULL));
    return hipGetDeviceCount(&count) == hipSuccess && count == 1;
}

/* One way for the host to wait, or none. */
static bool device_flags(void)
{
    return hipSetDeviceFlags(hipDeviceScheduleBlockingSync) == hipSuccess &&
           hipSetDeviceFlags(hipDeviceScheduleSpin | hipDeviceMapHost) == hipSuccess &&
           hipSetDeviceFlags(hipDeviceScheduleSpin | hipDeviceScheduleYield) ==
               hipErrorInvalidValue &&
           hipSetDeviceFlags(0x100) == hipErrorInvalidValue;
}

const struct behave_case behave_memory_cases[] = {
    {"device-count", device_count},       {"device-flags", device_flags},
    {"host-access", host_access},         {"memory-freed", memory_freed},
    {"memory-margin", memory_margin},     {"memory-kernel", memory_kernel},
    {"memory-peer", memory_peer},         {"memory-peer-offered", memory_peer_offered},
    {"memory-address", memory_address},   {"memory-id", memory_id},
    {"memory-moved", memory_moved},       {"memory-full", memory_full},
    {"memory-types", memory_types},       {"memory-unknown", memory_unknown},
    {"memory-range", memory_range},       {"memory-io", memory_io},
    {"memory-io-plain", memory_io_plain}, {"memory-shared", memory_shared},
    {"memory-rdma", memory_rdma},         {"memory-nic", memory_nic},
    {"error-last", error_last},           {"error-injected", error_injected},
    {"error-sticky", error_sticky},       {"image-refused", image_refused},
    {"image-bundle", image_bundle},       {"image-compiled", image_compiled},
    {"image-kind", image_kind},           {NULL, NULL},
};
