/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Does the vendor's hiprtc compile our kernels? For a kind of GPU that is named: none is needed.
 *
 *     hiprtc_check SOURCE KIND OUTPUT LIBRARY...   the first that is there and has it
 *
 * Exit codes: 0, the code is in OUTPUT; 1, it cannot be compiled; 77, there is no hiprtc.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* As src/stream/hip_runtime.h has them, which tests/hip_check.c compares with the header. */
#include "../src/stream/hip_runtime.h"

static struct mpixq_hiprtc rtc;

static int find(char *libraries[])
{
    for (int i = 0; libraries[i] != NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW);

        if (library == NULL || dlsym(library, "hip_double_calls") != NULL) {
            continue;
        }
        *(void **)&rtc.create = dlsym(library, "hiprtcCreateProgram");
        *(void **)&rtc.compile = dlsym(library, "hiprtcCompileProgram");
        *(void **)&rtc.log_size = dlsym(library, "hiprtcGetProgramLogSize");
        *(void **)&rtc.log = dlsym(library, "hiprtcGetProgramLog");
        *(void **)&rtc.code_size = dlsym(library, "hiprtcGetCodeSize");
        *(void **)&rtc.code = dlsym(library, "hiprtcGetCode");
        if (rtc.create != NULL && rtc.compile != NULL && rtc.log != NULL && rtc.code != NULL) {
            return 1;
        }
    }
    return 0;
}

static void say_log(void *program)
{
    size_t bytes = 0;
    char *log;

    if (rtc.log_size(program, &bytes) == 0 && (log = calloc(1, bytes + 1)) != NULL) {
        (void)rtc.log(program, log);
        printf("%s\n", log);
        free(log);
    }
}

static int compile(const char *source, const char *kind, const char *output)
{
    const char *options[] = {kind};
    void *program = NULL;
    size_t bytes = 0;
    FILE *file;
    char *code;
    int written;

    if (rtc.create(&program, source, "mpix_queue.hip", 0, NULL, NULL) != 0 ||
        rtc.compile(program, 1, options) != 0 || rtc.code_size(program, &bytes) != 0) {
        say_log(program);
        return 1;
    }
    code = malloc(bytes);
    file = fopen(output, "w");
    if (code == NULL || file == NULL || rtc.code(program, code) != 0) {
        return 1;
    }
    written = fwrite(code, 1, bytes, file) == bytes && fclose(file) == 0;
    free(code);
    return !written;
}

int main(int argc, char *argv[])
{
    static char source[1 << 20], kind[64];
    FILE *file = argc > 4 ? fopen(argv[1], "r") : NULL;

    if (file == NULL || fread(source, 1, sizeof source - 1, file) == 0) {
        return 99;
    }
    (void)fclose(file);
    if (!find(&argv[4])) {
        return 77;
    }
    (void)snprintf(kind, sizeof kind, "--offload-arch=%s", argv[2]);
    return compile(source, kind, argv[3]);
}
