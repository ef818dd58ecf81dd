/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The kernels for HIP, compiled when the program runs: for kinds of GPUs that the compiler at build
 * time, if there was one, did not know. Told no kind, hiprtc takes that of the calling thread's
 * device; but as a library of its own it looks for the runtime by a name that only developers
 * have. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "gpu_library.h"
#include "hip_runtime.h"
#include "util/alloc.h"
#include "util/log.h"

/* Optional only as it is looked for in several libraries. */
#define OPTIONAL(field, name)                                                                      \
    {                                                                                              \
        name, (void **)&mpixq_hip.compiler.field, true                                             \
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

/* The kind of the current device, as in gfx90a:sramecc+:xnack-. Where it is in the structure
 * differs from version to version of the runtime, but nothing else there looks like it. */
static bool find_kind(char *kind, size_t room)
{
    static const char begins[] = {'\0', 'g', 'f', 'x'};
    enum { ROOM = 8192 }; /* several times as much as any version has used */
    char *properties = mpixq_alloc(ROOM), *found = NULL;
    int (*ask)(void *, int) =
        mpixq_hip.new_properties != NULL ? mpixq_hip.new_properties : mpixq_hip.properties;
    int device, code = mpixq_hip.both.device(&device);

    if (properties != NULL && ask != NULL) {
        code = code != 0 ? code : ask(properties, device);
        found = code == 0 ? memmem(properties, ROOM - 1, begins, sizeof begins) : NULL;
    }
    if (found != NULL) {
        (void)snprintf(kind, room, "%s", found + 1);
    }
    if (code != 0) {
        (void)mpixq_hip.both.last_error(); /* the program would take it for its own */
    }
    mpixq_free(properties);
    return found != NULL;
}

static int compile(void *program)
{
    char kind[128], option[160];
    const char *options[] = {option};
    int n = find_kind(kind, sizeof kind);

    (void)snprintf(option, sizeof option, "--offload-arch=%s", n > 0 ? kind : "");
    return mpixq_hip.compiler.compile(program, n, options);
}

static void say_log(void *program)
{
    size_t bytes = 0;
    char *log = NULL;

    if (mpixq_hip.compiler.log_size(program, &bytes) == 0 && bytes > 0) {
        log = mpixq_alloc(bytes + 1);
    }
    if (log != NULL && mpixq_hip.compiler.log(program, log) == 0) {
        mpixq_debug("hiprtc: %s", log);
    }
    mpixq_free(log);
}

static void *code_of(void *program)
{
    size_t bytes = 0;
    char *code = NULL;

    if (mpixq_hip.compiler.code_size(program, &bytes) == 0 && bytes > 0) {
        code = mpixq_alloc(bytes);
    }
    if (code != NULL && mpixq_hip.compiler.code(program, code) != 0) {
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
    if (mpixq_hip.compiler.create(&program, source, "mpix_queue.hip", 0, NULL, NULL) != 0) {
        return NULL;
    }
    if (compile(program) == 0) {
        code = code_of(program);
    } else {
        say_log(program);
    }
    (void)mpixq_hip.compiler.destroy(&program); /* it was created */
    return code;
}
