/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_device.c - GPUs for the benchmarks, by the library's table of vendors (src/stream/gpu.h)
 * and a few functions that it has no use for
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "stream/gpu.h"
#include "stream/gpu_library.h"
#include "stream/gpu_share.h"

enum { THREADS = 256 };

_Static_assert(sizeof(struct mpixq_gpu_handle) == sizeof(((struct bench_shared *)NULL)->handle),
               "handle");

const char *const bench_device_names[] = {"host", "cuda", "hip", NULL};

static const struct mpixq_gpu *const vendors[] = {
    [BENCH_ON_CUDA] = &mpixq_gpu_cuda, [BENCH_ON_HIP] = &mpixq_gpu_hip};

/* Of the vendor's library, beside the table. */
static struct {
    int (*stream_destroy)(void *stream);
    int (*call)(void *stream, void (*fn)(void *), void *arg);
    int (*event_create)(void **event_p, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_elapsed)(float *ms_p, void *from, void *to);
    int (*stream_wait)(void *stream, void *event, unsigned flags);
} more;

static const struct mpixq_gpu_symbol symbols[][8] = {
    [BENCH_ON_CUDA] = {{"cuStreamDestroy_v2", (void **)&more.stream_destroy, false},
                       {"cuLaunchHostFunc", (void **)&more.call, false},
                       {"cuEventCreate", (void **)&more.event_create, false},
                       {"cuEventDestroy_v2", (void **)&more.event_destroy, false},
                       {"cuEventRecord", (void **)&more.event_record, false},
                       {"cuEventElapsedTime", (void **)&more.event_elapsed, false},
                       {"cuStreamWaitEvent", (void **)&more.stream_wait, false}},
    [BENCH_ON_HIP] = {{"hipStreamDestroy", (void **)&more.stream_destroy, false},
                      {"hipLaunchHostFunc", (void **)&more.call, false},
                      {"hipEventCreateWithFlags", (void **)&more.event_create, false},
                      {"hipEventDestroy", (void **)&more.event_destroy, false},
                      {"hipEventRecord", (void **)&more.event_record, false},
                      {"hipEventElapsedTime", (void **)&more.event_elapsed, false},
                      {"hipStreamWaitEvent", (void **)&more.stream_wait, false}},
};

/* Best first: machine code is for some GPUs only, and for drivers of its age; the second form of
 * the kernels is for GPUs of CUDA from sm_90 on. */
static const struct code {
    const unsigned char *bytes;
    const size_t *size;
} codes[][4] = {
    [BENCH_ON_CUDA] = {{bench_cubins, &bench_cubins_bytes},
                       {bench_code_cuda90, &bench_code_cuda90_bytes},
                       {bench_code_cuda, &bench_code_cuda_bytes}},
    [BENCH_ON_HIP] = {{bench_code_hip, &bench_code_hip_bytes}},
};

static const char *const kernel_names[] = {
    [BENCH_KERNEL_WORDS] = "bench_words",
    [BENCH_KERNEL_STRIPS] = "bench_strips",
    [BENCH_KERNEL_LIFE] = "bench_life",
    [BENCH_KERNEL_BOUNCE] = "bench_bounce",
    [BENCH_KERNEL_DELAY] = "bench_delay",
    [BENCH_KERNEL_PRODUCT] = "bench_product",
    [BENCH_KERNEL_FUSED] = "bench_fused",
    [BENCH_KERNEL_PUTS] = "bench_puts",
    [BENCH_KERNEL_LOOP] = "bench_loop",
    [BENCH_KERNEL_PUT_LOOP] = "bench_put_loop",
    [BENCH_KERNEL_HALO] = "bench_halo",
    [BENCH_KERNEL_CG_START] = "bench_cg_start",
    [BENCH_KERNEL_CG_PACK] = "bench_cg_pack",
    [BENCH_KERNEL_CG_MULTIPLY] = "bench_cg_multiply",
    [BENCH_KERNEL_CG_STEP] = "bench_cg_step",
    [BENCH_KERNEL_CG_TURN] = "bench_cg_turn",
    [BENCH_KERNEL_CG_PIPE] = "bench_cg_pipe",
    [BENCH_KERNEL_CG_SUM] = "bench_cg_sum",
    [BENCH_KERNEL_JACOBI_START] = "bench_jacobi_start",
    [BENCH_KERNEL_JACOBI_STEP] = "bench_jacobi_step",
    [BENCH_KERNEL_JACOBI_OPEN] = "bench_jacobi_open",
    [BENCH_KERNEL_JACOBI_FUSED] = "bench_jacobi_fused",
};

static enum bench_device device;
static const struct mpixq_gpu *gpu; /* NULL: there is no device */
static void *stream, *other_stream, *kernels[BENCH_KERNELS], *marks[BENCH_MARKS];
static void *fork_event, *join_event; /* once needed */
static bool joined; /* the next kernel follows two branches, and is not launched early */
static bool early;  /* may kernels be launched before what they follow has ended? */

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
        fprintf(stderr, "benchmark: %s: error %d of %s: %s\n", what, code, gpu->name,
                gpu->text(code));
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}

void *bench_device_symbol(const char *cuda, const char *hip)
{
    void *address = NULL;
    const struct mpixq_gpu_symbol one[] = {{device == BENCH_ON_CUDA ? cuda : hip, &address, true},
                                           {NULL, NULL, false}};

    return bench_on_device() && mpixq_gpu_open(gpu->libraries, false, one) ? address : NULL;
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

    need("load kernels", mpixq_gpu_load(gpu, code, &module));
    return module;
}

void *bench_device_find(void *module, const char *name)
{
    void *kernel;

    need("find a kernel", mpixq_gpu_function(gpu, module, name, &kernel));
    return kernel;
}

static void *load_kernels(void)
{
    const struct code *code = codes[device];
    void *module, *kernel;

    while (code[1].bytes != NULL &&
           (*code->size == 0 || mpixq_gpu_load(gpu, code->bytes, &module) != 0)) {
        code++;
    }
    if (code[1].bytes == NULL) {
        module = bench_device_load(code->bytes);
    }
    early = device == BENCH_ON_CUDA && gpu->calls->launch_with != NULL &&
            mpixq_gpu_function(gpu, module, "bench_early", &kernel) == 0;
    return module;
}

/* Whoever synchronizes with the device sleeps instead of looking at a word again and again. */
static void let_host_sleep(int number)
{
    enum { BLOCKING_SYNC = 4 }; /* of both vendors */
    void *set = bench_device_symbol("cuDevicePrimaryCtxSetFlags_v2", "hipSetDeviceFlags");

    if (set == NULL) {
        fprintf(stderr, "benchmark: %s has no --blocking-sync\n", gpu->name);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    } else if (device == BENCH_ON_CUDA) {
        need("let the host sleep", ((int (*)(int, unsigned))set)(number, BLOCKING_SYNC));
    } else {
        need("let the host sleep", ((int (*)(unsigned))set)(BLOCKING_SYNC));
    }
}

static void open_on(int number, bool sleeps)
{
    void *module;

    need("use a device", gpu->use(number));
    if (sleeps) {
        let_host_sleep(number);
    }
    need("make a stream", mpixq_gpu_own_stream(gpu, &stream));
    for (int i = 0; i < BENCH_MARKS; i++) {
        need("make an event", more.event_create(&marks[i], 0));
    }
    module = load_kernels();
    for (int i = 0; i < BENCH_KERNELS; i++) {
        kernels[i] = bench_device_find(module, kernel_names[i]);
    }
}

/* NULL, or what is missing; *count_p is how many devices there are. */
static const char *find(enum bench_device wanted, int *count_p)
{
    const struct mpixq_gpu *vendor = vendors[wanted];

    if ((wanted == BENCH_ON_CUDA ? bench_code_cuda_bytes : bench_code_hip_bytes) == 0) {
        return "kernels: there was no compiler for them";
    }
    if (!vendor->find(true)) {
        return vendor->library;
    }
    if (!mpixq_gpu_open(vendor->libraries, false, symbols[wanted])) {
        return "functions of its library";
    }
    return mpixq_gpu_count(vendor, count_p) != 0 || *count_p < 1 ? "a device" : NULL;
}

bool bench_device_open(const struct bench_options *opts)
{
    enum bench_device wanted = opts->device;
    int count = 0, lacking;
    const char *missing;

    if (wanted == BENCH_ON_HOST) {
        return true;
    }
    missing = find(wanted, &count);
    lacking = missing != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &lacking, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (lacking > 0) {
        bench_complain(opts, "--device %s cannot be used: %d ranks lack something (this one: %s)",
                       bench_device_names[wanted], lacking, missing != NULL ? missing : "nothing");
        return false;
    }
    device = wanted;
    gpu = vendors[wanted];
    open_on(choose(count), opts->sleeps);
    return true;
}

void bench_device_close(void)
{
    if (bench_on_device()) {
        for (int i = 0; i < BENCH_MARKS; i++) {
            need("destroy an event", more.event_destroy(marks[i]));
        }
        need("destroy a stream", more.stream_destroy(stream));
        if (other_stream != NULL) {
            need("destroy a stream", more.stream_destroy(other_stream));
        }
        if (fork_event != NULL) {
            need("destroy an event", more.event_destroy(fork_event));
            need("destroy an event", more.event_destroy(join_event));
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
    need("allocate memory", gpu->alloc(bytes, &memory));
    return memory;
}

void bench_memory_free(void *memory)
{
    if (bench_on_device()) {
        mpixq_gpu_free(gpu, memory);
    } else {
        free(memory);
    }
}

void *bench_staging(void *memory, size_t bytes)
{
    void *staging = memory;

    if (bench_on_device()) {
        need("allocate pinned memory", mpixq_gpu_host_alloc(gpu, bytes, &staging));
    }
    return staging;
}

void bench_staging_free(void *staging)
{
    if (bench_on_device()) {
        mpixq_gpu_host_free(gpu, staging);
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
    need("copy", gpu->copy(stream, to, from, bytes));
}

void bench_device_share(void *memory, struct bench_shared *shared)
{
    struct mpixq_gpu_handle handle;
    void *base;
    size_t bytes;

    need("find an allocation", mpixq_gpu_span(gpu, memory, &base, &bytes));
    need("share memory", mpixq_gpu_share(gpu, base, &handle));
    memcpy(shared->handle, &handle, sizeof handle);
    shared->offset = (uint64_t)((char *)memory - (char *)base);
}

void *bench_device_map(const struct bench_shared *shared)
{
    struct mpixq_gpu_handle handle;
    void *base;

    memcpy(&handle, shared->handle, sizeof handle);
    need("map memory of another process", mpixq_gpu_open_shared(gpu, &handle, &base));
    return (char *)base + shared->offset;
}

void bench_device_unmap(void *mapped, const struct bench_shared *shared)
{
    mpixq_gpu_close_shared(gpu, (char *)mapped - shared->offset);
}

void bench_device_mark(int mark)
{
    need("record an event", more.event_record(marks[mark], stream));
}

double bench_device_marked(void)
{
    float ms;

    need("read events", more.event_elapsed(&ms, marks[BENCH_MARK_BEGIN], marks[BENCH_MARK_END]));
    return ms * 1e-3;
}

void bench_device_run(void *kernel, size_t blocks, size_t rows, unsigned threads,
                      void *parameters[])
{
    const struct mpixq_grid grid = {.blocks = (unsigned)blocks,
                                    .rows = (unsigned)rows,
                                    .threads = threads,
                                    .early = early && !joined};

    joined = false;
    need("launch a kernel", mpixq_gpu_launch(gpu, stream, kernel, grid, parameters));
}

void bench_device_launch(enum bench_kernel kernel, size_t threads, size_t rows, void *parameters[])
{
    bench_device_run(kernels[kernel], (threads + THREADS - 1) / THREADS, rows, THREADS, parameters);
}

void bench_device_start(enum bench_kernel kernel, size_t blocks, size_t rows, unsigned threads,
                        void *parameters[])
{
    bench_device_run(kernels[kernel], blocks, rows, threads, parameters);
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
        need("make a stream", mpixq_gpu_own_stream(gpu, &other_stream));
    }
    stream = other_stream;
    other_stream = turned;
}

void bench_device_fork(void)
{
    enum { NO_TIMING = 2 }; /* of both vendors */

    if (fork_event == NULL) {
        need("make an event", more.event_create(&fork_event, NO_TIMING));
        need("make an event", more.event_create(&join_event, NO_TIMING));
    }
    need("record an event", more.event_record(fork_event, stream));
    bench_device_turn();
    need("wait for an event", more.stream_wait(stream, fork_event, 0));
}

void bench_device_back(void)
{
    need("record an event", more.event_record(join_event, stream));
    bench_device_turn();
}

void bench_device_join(void)
{
    need("wait for an event", more.stream_wait(stream, join_event, 0));
    joined = true;
}

void bench_device_call(void (*fn)(void *), void *arg)
{
    need("launch a function", more.call(stream, fn, arg));
}

void bench_device_synchronize(void)
{
    if (bench_on_device()) {
        need("synchronize", mpixq_gpu_finish(gpu, stream));
    }
}
