/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_device.c - what the benchmarks use of CUDA's driver and of HIP's runtime, by their
 * documentation
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { NON_BLOCKING = 1, PORTABLE = 1, COPY_DEFAULT = 4, EARLY = 6 };
enum { THREADS = 256 };

const char *const bench_device_names[] = {"host", "cuda", "hip", NULL};

struct handle {
    unsigned char bytes[64];
};

/* CUlaunchConfig, and CUlaunchAttribute with a value that is a number. */
struct attribute {
    int id, pad, value[16];
};
struct launch {
    unsigned blocks[3], threads[3], shared_bytes;
    void *stream;
    struct attribute *attributes;
    unsigned n;
};

/* What the two have in common, and what they have not. */
static struct {
    int (*count)(int *count_p);
    int (*stream_create)(void **stream_p, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*stream_synchronize)(void *stream);
    int (*call)(void *stream, void (*fn)(void *), void *arg);
    int (*host_alloc)(void **memory_p, size_t bytes, unsigned flags);
    int (*host_free)(void *memory);
    int (*alloc)(void **memory_p, size_t bytes);
    int (*free)(void *memory);
    int (*load)(void **module_p, const void *code);
    int (*function)(void **function_p, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **parameters, void **extra);
    int (*launch_with)(const struct launch *with, void *function, void **parameters, void **extra);
    int (*event_create)(void **event_p, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_elapsed)(float *ms_p, void *from, void *to);
    int (*range)(void **base_p, size_t *bytes_p, void *memory);
    int (*share)(unsigned char handle[64], void *memory);
    int (*map)(void **memory_p, struct handle handle, unsigned flags);
    int (*unmap)(void *memory);
    int (*cuda_copy)(void *to, const void *from, size_t bytes, void *stream);
    int (*cuda_init)(unsigned flags);
    int (*cuda_retain)(void **context_p, int device);
    int (*cuda_set_current)(void *context);
    int (*hip_copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*hip_set_device)(int device);
} gpu;

struct function {
    void **address;
    const char *names[3]; /* by enum bench_device */
};

static const struct function functions[] = {
    {(void **)&gpu.count, {NULL, "cuDeviceGetCount", "hipGetDeviceCount"}},
    {(void **)&gpu.stream_create, {NULL, "cuStreamCreate", "hipStreamCreateWithFlags"}},
    {(void **)&gpu.stream_destroy, {NULL, "cuStreamDestroy_v2", "hipStreamDestroy"}},
    {(void **)&gpu.stream_synchronize, {NULL, "cuStreamSynchronize", "hipStreamSynchronize"}},
    {(void **)&gpu.call, {NULL, "cuLaunchHostFunc", "hipLaunchHostFunc"}},
    {(void **)&gpu.host_alloc, {NULL, "cuMemHostAlloc", "hipHostMalloc"}},
    {(void **)&gpu.host_free, {NULL, "cuMemFreeHost", "hipHostFree"}},
    {(void **)&gpu.alloc, {NULL, "cuMemAlloc_v2", "hipMalloc"}},
    {(void **)&gpu.free, {NULL, "cuMemFree_v2", "hipFree"}},
    {(void **)&gpu.load, {NULL, "cuModuleLoadData", "hipModuleLoadData"}},
    {(void **)&gpu.function, {NULL, "cuModuleGetFunction", "hipModuleGetFunction"}},
    {(void **)&gpu.launch, {NULL, "cuLaunchKernel", "hipModuleLaunchKernel"}},
    {(void **)&gpu.event_create, {NULL, "cuEventCreate", "hipEventCreateWithFlags"}},
    {(void **)&gpu.event_destroy, {NULL, "cuEventDestroy_v2", "hipEventDestroy"}},
    {(void **)&gpu.event_record, {NULL, "cuEventRecord", "hipEventRecord"}},
    {(void **)&gpu.event_elapsed, {NULL, "cuEventElapsedTime", "hipEventElapsedTime"}},
    {(void **)&gpu.range, {NULL, "cuMemGetAddressRange_v2", "hipMemGetAddressRange"}},
    {(void **)&gpu.share, {NULL, "cuIpcGetMemHandle", "hipIpcGetMemHandle"}},
    {(void **)&gpu.map, {NULL, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle"}},
    {(void **)&gpu.unmap, {NULL, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle"}},
    {(void **)&gpu.cuda_copy, {NULL, "cuMemcpyAsync", NULL}},
    {(void **)&gpu.cuda_init, {NULL, "cuInit", NULL}},
    {(void **)&gpu.cuda_retain, {NULL, "cuDevicePrimaryCtxRetain", NULL}},
    {(void **)&gpu.cuda_set_current, {NULL, "cuCtxSetCurrent", NULL}},
    {(void **)&gpu.hip_copy, {NULL, NULL, "hipMemcpyAsync"}},
    {(void **)&gpu.hip_set_device, {NULL, NULL, "hipSetDevice"}},
};

static const struct function early_functions[] = {
    {(void **)&gpu.launch_with, {NULL, "cuLaunchKernelEx", NULL}},
};

static const char *const libraries[][5] = {
    [BENCH_ON_CUDA] = {"libcuda.so.1"},
    [BENCH_ON_HIP] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
};

static const char *const kernel_names[] = {
    [BENCH_KERNEL_WORDS] = "bench_words", [BENCH_KERNEL_STRIPS] = "bench_strips",
    [BENCH_KERNEL_LIFE] = "bench_life",   [BENCH_KERNEL_BOUNCE] = "bench_bounce",
    [BENCH_KERNEL_DELAY] = "bench_delay", [BENCH_KERNEL_PRODUCT] = "bench_product",
};

static enum bench_device device;
static void *stream, *other_stream, *kernels[BENCH_KERNELS], *marks[BENCH_MARKS];
static void *library;
static bool early; /* may kernels be launched before what they follow has ended? */

bool bench_parse_device(const char *text, enum bench_device *device_p)
{
    for (int i = 0; bench_device_names[i] != NULL; i++) {
        if (strcmp(bench_device_names[i], text) == 0) {
            *device_p = (enum bench_device)i;
            return true;
        }
    }
    return false;
}

static void need(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "benchmark: %s: error %d of %s\n", what, code, bench_device_names[device]);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}

/* Look up functions in the library; what is missing, or NULL. */
static const char *look_up(enum bench_device wanted, const struct function table[], size_t num)
{
    for (size_t i = 0; i < num; i++) {
        const char *name = table[i].names[wanted];

        if (name != NULL) {
            *table[i].address = dlsym(library, name);
            if (*table[i].address == NULL) {
                return name;
            }
        }
    }
    return NULL;
}

/* The functions of the library, or what is missing. */
static const char *find(enum bench_device wanted)
{
    for (int i = 0; library == NULL && libraries[wanted][i] != NULL; i++) {
        library = dlopen(libraries[wanted][i], RTLD_NOW); /* never closed */
    }
    if (library == NULL) {
        return libraries[wanted][0];
    }
    (void)look_up(wanted, early_functions, 1);
    return look_up(wanted, functions, sizeof functions / sizeof functions[0]);
}

void *bench_device_symbol(const char *cuda, const char *hip)
{
    const char *name = device == BENCH_ON_CUDA ? cuda : hip;

    return bench_on_device() && name != NULL ? dlsym(library, name) : NULL;
}

/* The ranks of a machine take turns at its devices. */
static int choose(int count)
{
    MPI_Comm near;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_rank(near, &rank);
    MPI_Comm_free(&near);
    return rank % count;
}

void *bench_device_load(const void *code)
{
    void *module;

    need("load kernels", gpu.load(&module, code));
    return module;
}

void *bench_device_find(void *module, const char *name)
{
    void *kernel;

    need("find a kernel", gpu.function(&kernel, module, name));
    return kernel;
}

/* Machine code is for some GPUs only, and for drivers of its age; the second form of the kernels is
 * for GPUs of CUDA from sm_90 on. */
static void *load_kernels(void)
{
    void *module, *kernel;

    if (device != BENCH_ON_CUDA) {
        return bench_device_load(bench_code_hip);
    }
    if ((bench_cubins_bytes == 0 || gpu.load(&module, bench_cubins) != 0) &&
        (bench_code_cuda90_bytes == 0 || gpu.load(&module, bench_code_cuda90) != 0)) {
        module = bench_device_load(bench_code_cuda);
    }
    early = gpu.launch_with != NULL && gpu.function(&kernel, module, "bench_early") == 0;
    return module;
}

static void open_on(int number)
{
    void *context, *module;

    if (device == BENCH_ON_CUDA) {
        need("cuDevicePrimaryCtxRetain", gpu.cuda_retain(&context, number));
        need("cuCtxSetCurrent", gpu.cuda_set_current(context));
    } else {
        need("hipSetDevice", gpu.hip_set_device(number));
    }
    need("make a stream", gpu.stream_create(&stream, NON_BLOCKING));
    for (int i = 0; i < BENCH_MARKS; i++) {
        need("make an event", gpu.event_create(&marks[i], 0));
    }
    module = load_kernels();
    for (int i = 0; i < BENCH_KERNELS; i++) {
        kernels[i] = bench_device_find(module, kernel_names[i]);
    }
}

bool bench_device_open(const struct bench_options *opts)
{
    enum bench_device wanted = opts->device;
    int count = 0, lacking;
    const char *missing;

    if (wanted == BENCH_ON_HOST) {
        return true;
    }
    missing = find(wanted);
    if (missing == NULL &&
        (wanted == BENCH_ON_CUDA ? bench_code_cuda_bytes : bench_code_hip_bytes) == 0) {
        missing = "kernels: there was no compiler for them";
    }
    if (missing == NULL && ((wanted == BENCH_ON_CUDA && gpu.cuda_init(0) != 0) ||
                            gpu.count(&count) != 0 || count < 1)) {
        missing = "a device";
    }
    lacking = missing != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &lacking, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (lacking > 0) {
        bench_complain(opts, "--device %s cannot be used: %d ranks lack something (this one: %s)",
                       bench_device_names[wanted], lacking, missing != NULL ? missing : "nothing");
        return false;
    }
    device = wanted;
    open_on(choose(count));
    return true;
}

void bench_device_close(void)
{
    if (bench_on_device()) {
        for (int i = 0; i < BENCH_MARKS; i++) {
            need("destroy an event", gpu.event_destroy(marks[i]));
        }
        need("destroy a stream", gpu.stream_destroy(stream));
        if (other_stream != NULL) {
            need("destroy a stream", gpu.stream_destroy(other_stream));
        }
    }
}

bool bench_on_device(void)
{
    return device != BENCH_ON_HOST;
}

void *bench_device_stream(void)
{
    return stream;
}

enum bench_device bench_device_vendor(void)
{
    return device;
}

const char *bench_device_kind(void)
{
    return device == BENCH_ON_CUDA ? "cudaStream_t" : "hipStream_t";
}

void *bench_memory(size_t bytes)
{
    void *memory;

    if (!bench_on_device()) {
        return bench_alloc(bytes);
    }
    need("allocate memory", gpu.alloc(&memory, bytes));
    return memory;
}

void bench_memory_free(void *memory)
{
    if (bench_on_device()) {
        need("free memory", gpu.free(memory));
    } else {
        free(memory);
    }
}

void *bench_staging(void *memory, size_t bytes)
{
    void *staging = memory;

    if (bench_on_device()) {
        need("allocate pinned memory", gpu.host_alloc(&staging, bytes, PORTABLE));
    }
    return staging;
}

void bench_staging_free(void *staging)
{
    if (bench_on_device()) {
        need("free pinned memory", gpu.host_free(staging));
    }
}

void bench_memory_copy(void *to, const void *from, size_t bytes)
{
    if (bench_on_device()) {
        bench_device_copy(to, from, bytes);
        bench_device_synchronize();
    } else {
        memcpy(to, from, bytes);
    }
}

void bench_device_copy(void *to, const void *from, size_t bytes)
{
    need("copy", device == BENCH_ON_CUDA ? gpu.cuda_copy(to, from, bytes, stream)
                                         : gpu.hip_copy(to, from, bytes, COPY_DEFAULT, stream));
}

void bench_device_share(void *memory, struct bench_shared *shared)
{
    void *base;
    size_t bytes;

    need("find an allocation", gpu.range(&base, &bytes, memory));
    need("share memory", gpu.share(shared->handle, base));
    shared->offset = (uint64_t)((char *)memory - (char *)base);
}

void *bench_device_map(const struct bench_shared *shared)
{
    struct handle handle;
    void *base;

    memcpy(handle.bytes, shared->handle, sizeof handle.bytes);
    /* With CUDA peer access has to be asked for, with HIP it comes by itself. */
    need("map memory of another process", gpu.map(&base, handle, device == BENCH_ON_CUDA ? 1 : 0));
    return (char *)base + shared->offset;
}

void bench_device_unmap(void *mapped, const struct bench_shared *shared)
{
    need("unmap memory", gpu.unmap((char *)mapped - shared->offset));
}

void bench_device_mark(int mark)
{
    need("record an event", gpu.event_record(marks[mark], stream));
}

double bench_device_marked(void)
{
    float ms;

    need("read events", gpu.event_elapsed(&ms, marks[BENCH_MARK_BEGIN], marks[BENCH_MARK_END]));
    return ms * 1e-3;
}

void bench_device_run(void *kernel, size_t blocks, size_t rows, unsigned threads,
                      void *parameters[])
{
    struct attribute attribute = {.id = EARLY, .value = {1}};
    struct launch with = {.blocks = {(unsigned)blocks, (unsigned)rows, 1},
                          .threads = {threads, 1, 1},
                          .stream = stream,
                          .attributes = &attribute,
                          .n = 1};

    need("launch a kernel", early ? gpu.launch_with(&with, kernel, parameters, NULL)
                                  : gpu.launch(kernel, with.blocks[0], with.blocks[1], 1, threads,
                                               1, 1, 0, stream, parameters, NULL));
}

void bench_device_launch(enum bench_kernel kernel, size_t threads, size_t rows, void *parameters[])
{
    bench_device_run(kernels[kernel], (threads + THREADS - 1) / THREADS, rows, THREADS, parameters);
}

void bench_device_words(const struct bench_words *work)
{
    const uint64_t *from = work->from;
    uint64_t *to = work->to;
    uint64_t add = work->add, words = work->words, stride = work->stride;
    uint64_t messages = work->messages;
    void *parameters[] = {(void *)&from, &to, &add, &words, &stride, &messages};

    bench_device_launch(BENCH_KERNEL_WORDS, (work->words + 1) / 2, work->messages, parameters);
}

void bench_device_delay(double us)
{
    uint64_t nanoseconds = (uint64_t)(us * 1e3);
    void *parameters[] = {&nanoseconds};

    bench_device_run(kernels[BENCH_KERNEL_DELAY], 1, 1, 1, parameters);
}

void bench_device_turn(void)
{
    void *turned = stream;

    if (other_stream == NULL) {
        need("make a stream", gpu.stream_create(&other_stream, NON_BLOCKING));
    }
    stream = other_stream;
    other_stream = turned;
}

void bench_device_call(void (*fn)(void *), void *arg)
{
    need("launch a function", gpu.call(stream, fn, arg));
}

void bench_device_synchronize(void)
{
    if (bench_on_device()) {
        need("synchronize", gpu.stream_synchronize(stream));
    }
}
