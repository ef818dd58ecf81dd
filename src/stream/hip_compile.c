/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP, compiled when the program runs: for kinds of GPUs that the compiler at build
 * time, if there was one, did not know. Without options hiprtc compiles for the device of the
 * calling thread, whose kind it asks the runtime for; we could not, as the structure that tells it
 * differs from version to version. */
#include <stddef.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/log.h"
#include "gpu.h"
#include "hip_runtime.h"

struct mpixq_hiprtc mpixq_hiprtc;

/* Optional only as it is looked for in several libraries. */
#define OPTIONAL(field, name)                                                                      \
    {                                                                                              \
        name, (void **)&mpixq_hiprtc.field, true                                                   \
    }
static const struct mpixq_gpu_symbol symbols[] = {
    OPTIONAL(create, "hiprtcCreateProgram"),       OPTIONAL(compile, "hiprtcCompileProgram"),
    OPTIONAL(log_size, "hiprtcGetProgramLogSize"), OPTIONAL(log, "hiprtcGetProgramLog"),
    OPTIONAL(code_size, "hiprtcGetCodeSize"),      OPTIONAL(code, "hiprtcGetCode"),
    OPTIONAL(destroy, "hiprtcDestroyProgram"),     {NULL, NULL, false},
};

static bool is_complete(void)
{
    for (int i = 0; symbols[i].name != NULL; i++) {
        if (*symbols[i].address_p == NULL) {
            return false;
        }
    }
    return true;
}

/* In the runtime up to version 6, and since 5 in a library of its own, that of the same version. */
static bool find(void)
{
    enum { MAJOR = 10000000 };
    char of_version[32];
    const char *const libraries[] = {of_version, "libhiprtc.so", NULL};
    int version = 0;

    if (is_complete() || (mpixq_gpu_open(mpixq_hip_libraries, false, symbols) && is_complete())) {
        return true;
    }
    (void)mpixq_hip.version(&version); /* 0: then the second name is left */
    (void)snprintf(of_version, sizeof of_version, "libhiprtc.so.%d", version / MAJOR);
    return mpixq_gpu_open(libraries, true, symbols) && is_complete();
}

static void say_log(void *program)
{
    size_t bytes = 0;
    char *log = NULL;

    if (mpixq_hiprtc.log_size(program, &bytes) == 0 && bytes > 0) {
        log = mpixq_alloc(bytes + 1);
    }
    if (log != NULL && mpixq_hiprtc.log(program, log) == 0) {
        mpixq_debug("hiprtc: %s", log);
    }
    mpixq_free(log);
}

static void *code_of(void *program)
{
    size_t bytes = 0;
    char *code = NULL;

    if (mpixq_hiprtc.code_size(program, &bytes) == 0 && bytes > 0) {
        code = mpixq_alloc(bytes);
    }
    if (code != NULL && mpixq_hiprtc.code(program, code) != 0) {
        mpixq_free(code);
        code = NULL;
    }
    return code;
}

void *mpixq_hip_compile(const char **why_p)
{
    const char *source = (const char *)mpixq_source_hip;
    void *program = NULL, *code = NULL;

    if (!find()) {
        *why_p = "hiprtc is not there";
        return NULL;
    }
    *why_p = "hiprtc cannot compile them";
    if (mpixq_hiprtc.create(&program, source, "mpix_queue.hip", 0, NULL, NULL) != 0) {
        return NULL;
    }
    if (mpixq_hiprtc.compile(program, 0, NULL) == 0) {
        code = code_of(program);
    } else {
        say_log(program);
    }
    (void)mpixq_hiprtc.destroy(&program); /* it was created */
    return code;
}
