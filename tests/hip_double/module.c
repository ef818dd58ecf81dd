/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * module.c - code objects, and launches of what is in them
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* What a code object for the double begins with, and one for GPUs: a bundle of objects of clang, of
 * which kernels are taken by name only, as nothing here can run them. */
static const char own_magic[] = "hip double", bundle_magic[] = "__CLANG_OFFLOAD_BUNDLE__";

/* The code of one kind of device in a bundle. */
struct code {
    const char *bytes;
    size_t size;
};

struct ihipModuleSymbol_t {
    struct ihipModuleSymbol_t *next;
    const struct hip_kernel *kernel;
    struct ihipModule_t *module;
};

struct ihipModule_t {
    struct ihipModule_t *next;
    struct ihipModuleSymbol_t *functions;
    int device;
    struct code code; /* a copy; bytes NULL: the double's own, with all kernels */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ihipModule_t *modules;

static uint64_t number_at(const char *place)
{
    uint64_t number;

    memcpy(&number, place, sizeof(number));
    return number;
}

/* In a bundle: the magic, the number of entries, and for each one offset, size and length of its
 * name, and the name, which ends with the kind of device. */
static bool find_code(const char *bundle, const char *arch, struct code *code_p)
{
    const char *place = bundle + strlen(bundle_magic);
    uint64_t entries = number_at(place);

    place += sizeof(uint64_t);
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t length = number_at(place + 2 * sizeof(uint64_t));
        const char *name = place + 3 * sizeof(uint64_t);

        if (length > strlen(arch) && name[length - strlen(arch) - 1] == '-' &&
            memcmp(name + length - strlen(arch), arch, strlen(arch)) == 0) {
            code_p->bytes = bundle + number_at(place);
            code_p->size = (size_t)number_at(place + sizeof(uint64_t));
            return true;
        }
        place = name + length;
    }
    return false;
}

const char *hip_arch(void)
{
    return hip_switches.arch == NULL ? "gfx90a" : hip_switches.arch;
}

/* What hiprtc has made. */
static hipError_t look_at_compiled(const char *image, struct code *code_p)
{
    const struct hip_compiled *compiled = (const struct hip_compiled *)(const void *)image;

    *code_p = (struct code){compiled->names, compiled->bytes};
    return strcmp(compiled->arch, hip_arch()) == 0 ? hipSuccess : hipErrorNoBinaryForGpu;
}

/* What there is for the devices in an image. */
static hipError_t look_at(const char *image, struct code *code_p)
{
    *code_p = (struct code){NULL, 0};
    if (strncmp(image, own_magic, strlen(own_magic)) == 0 || hip_is_wrong("image-refused")) {
        return hipSuccess;
    }
    if (strncmp(image, HIP_COMPILED, strlen(HIP_COMPILED)) == 0) {
        return look_at_compiled(image, code_p);
    }
    if (strncmp(image, bundle_magic, strlen(bundle_magic)) != 0) {
        return hipErrorInvalidImage;
    }
    return find_code(image, hip_arch(), code_p) ? hipSuccess : hipErrorNoBinaryForGpu;
}

static bool has_kernel(const struct ihipModule_t *module, const char *name)
{
    return module->code.bytes == NULL ||
           memmem(module->code.bytes, module->code.size, name, strlen(name) + 1) != NULL;
}

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *module_p, const void *image)
{
    struct ihipModule_t *module;
    struct code code;
    hipError_t error;

    HIP_ENTER(hipModuleLoadData);
    if (module_p == NULL || image == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    error = look_at(image, &code);
    if (error != hipSuccess) {
        return hip_leave(error);
    }
    hip_synchronizing(HIP_CALL_hipModuleLoadData, hip_current(), false);
    module = calloc(1, sizeof(*module));
    if (module == NULL) {
        return hip_leave(hipErrorOutOfMemory);
    }
    if (code.bytes != NULL) {
        char *copy = malloc(code.size);

        if (copy == NULL) {
            free(module);
            return hip_leave(hipErrorOutOfMemory);
        }
        module->code = (struct code){memcpy(copy, code.bytes, code.size), code.size};
    }
    module->device = hip_current();
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    *module_p = module;
    return hip_leave(hipSuccess);
}

static void module_free(struct ihipModule_t *module)
{
    while (module->functions != NULL) {
        struct ihipModuleSymbol_t *function = module->functions;

        module->functions = function->next;
        free(function);
    }
    free((void *)module->code.bytes);
    free(module);
}

/* Under lock: where the module stands in the list, or NULL. */
static struct ihipModule_t **module_place(const struct ihipModule_t *module)
{
    for (struct ihipModule_t **place = &modules; *place != NULL; place = &(*place)->next) {
        if (*place == module) {
            return place;
        }
    }
    return NULL;
}

void hip_modules_reset(int device)
{
    struct ihipModule_t **place = &modules;

    pthread_mutex_lock(&lock);
    while (*place != NULL) {
        struct ihipModule_t *module = *place;

        if (module->device == device) {
            *place = module->next;
            module_free(module);
        } else {
            place = &module->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module)
{
    struct ihipModule_t **place;

    HIP_ENTER(hipModuleUnload);
    pthread_mutex_lock(&lock);
    place = module_place(module);
    pthread_mutex_unlock(&lock);
    if (place == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    hip_synchronizing(HIP_CALL_hipModuleUnload, module->device, false);
    pthread_mutex_lock(&lock);
    place = module_place(module);
    if (place != NULL) {
        *place = module->next;
        module_free(module);
    }
    pthread_mutex_unlock(&lock);
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function_p, hipModule_t module,
                                           const char *name)
{
    hipError_t error = hipErrorInvalidHandle;
    struct ihipModuleSymbol_t *function;

    HIP_ENTER(hipModuleGetFunction);
    if (function_p == NULL || name == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    function = calloc(1, sizeof(*function));
    if (function == NULL) {
        return hip_leave(hipErrorOutOfMemory);
    }
    function->kernel = hip_kernel_find(name);
    function->module = module;
    pthread_mutex_lock(&lock);
    if (module_place(module) != NULL) {
        error =
            function->kernel == NULL || !has_kernel(module, name) ? hipErrorNotFound : hipSuccess;
    }
    if (error == hipSuccess) {
        function->next = module->functions;
        module->functions = function;
        *function_p = function;
    } else {
        free(function);
    }
    pthread_mutex_unlock(&lock);
    return hip_leave(error);
}

/* The kernel of a function of a loaded module, and its device; NULL if there is none. */
static const struct hip_kernel *kernel_of(hipFunction_t handle, int *device_p)
{
    const struct hip_kernel *kernel = NULL;

    pthread_mutex_lock(&lock);
    for (const struct ihipModule_t *module = modules; module != NULL; module = module->next) {
        for (const struct ihipModuleSymbol_t *function = module->functions; function != NULL;
             function = function->next) {
            if (function == handle) {
                kernel = function->kernel;
                *device_p = module->device;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return kernel;
}

/* For tests that a program notices what a kernel has not done. */
static bool is_skipped(const struct hip_kernel *kernel)
{
    static _Atomic long runs;
    size_t length = strlen(kernel->name);
    const char *text = hip_switches.skip;
    long n;
    char *end;

    if (text == NULL || strncmp(text, kernel->name, length) != 0 || text[length] != ':') {
        return false;
    }
    n = strtol(text + length + 1, &end, 10);
    if (n < 1 || *end != '\0') {
        hip_die("HIP_DOUBLE_SKIP: cannot read \"%s\"", text);
    }
    return ++runs == n;
}

static void run_kernel(struct hip_op *op)
{
    if (!is_skipped(op->kernel)) {
        op->kernel->run(op->parameters);
    }
}

static struct hip_op *kernel_op(const struct hip_kernel *kernel, void *const parameters[])
{
    struct hip_op *op;
    size_t bytes = 0;

    for (int i = 0; kernel->sizes[i] > 0; i++) {
        bytes += (kernel->sizes[i] + 7) / 8 * 8;
    }
    op = hip_op_new(kernel->name, run_kernel, bytes);
    op->kernel = kernel;
    op->waits = kernel->waits;
    bytes = 0;
    for (int i = 0; kernel->sizes[i] > 0; i++) {
        memcpy(op->parameters + bytes, parameters[i], kernel->sizes[i]);
        bytes += (kernel->sizes[i] + 7) / 8 * 8;
    }
    return op;
}

static int device_of(hipStream_t handle)
{
    struct ihipStream_t *stream;
    int device = -1;

    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        device = stream->device;
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return device;
}

/* Launches return when the kernel has ended, as a debugging aid of the vendor. */
static bool launches_block(void)
{
    const char *value = getenv("HIP_LAUNCH_BLOCKING");

    return !hip_is_wrong("launch-blocking") && value != NULL && *value != '\0' &&
           strcmp(value, "0") != 0;
}

static bool grid_fits(const struct hip_kernel *kernel, unsigned x, unsigned y, unsigned z)
{
    return x > 0 && y > 0 && z > 0 && y <= 65535 && z <= 65535 &&
           (kernel->grid || (x == 1 && y == 1 && z == 1));
}

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned shared_bytes, hipStream_t stream,
                                            void **parameters, void **extra)
{
    const struct hip_kernel *kernel;
    struct hip_op *op;
    int device = -1, stream_device;

    HIP_ENTER(hipModuleLaunchKernel);
    kernel = kernel_of(function, &device);
    if (kernel == NULL) {
        return hip_leave(hipErrorInvalidHandle);
    }
    if (!grid_fits(kernel, grid_x, grid_y, grid_z) || block_x < 1 || block_y != 1 || block_z != 1 ||
        block_x > 1024 || shared_bytes > 65536 || extra != NULL || parameters == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    stream_device = device_of(stream);
    if (stream_device != device) {
        return hip_leave(stream_device < 0 ? hipErrorContextIsDestroyed : hipErrorInvalidHandle);
    }
    op = kernel_op(kernel, parameters);
    op->blocks = grid_x;
    op->threads = block_x;
    op->may_be_captured = true; /* also where launches wait */
    return hip_leave(launches_block() ? hip_submit_and_wait(stream, op)
                                      : hip_submit(stream, op, NULL, NULL));
}
