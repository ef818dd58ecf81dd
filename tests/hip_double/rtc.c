/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rtc.c - hiprtc: what it makes of a source is the names of the kernels of the double that the
 * source defines, for the kind of device that is named, or that of the devices as they are
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

#define RTC_ENTER(name)                                                                            \
    do {                                                                                           \
        int entered = (int)hip_enter(HIP_CALL_##name);                                             \
                                                                                                   \
        if (entered != 0) {                                                                        \
            return (hiprtcResult)entered;                                                          \
        }                                                                                          \
    } while (0)

struct _hiprtcProgram {
    char *source;
    const char *log;
    struct hip_compiled *code; /* NULL: not compiled */
};

HIP_EXPORT hiprtcResult hiprtcCreateProgram(hiprtcProgram *program_p, const char *source,
                                            const char *name, int n_headers, const char **headers,
                                            const char **names)
{
    hiprtcProgram program;

    (void)name;
    RTC_ENTER(hiprtcCreateProgram);
    if (program_p == NULL || source == NULL || n_headers != 0 || headers != NULL || names != NULL) {
        return HIPRTC_ERROR_INVALID_INPUT;
    }
    program = calloc(1, sizeof(*program));
    if (program == NULL) {
        return HIPRTC_ERROR_OUT_OF_MEMORY;
    }
    program->source = strdup(source);
    program->log = "";
    *program_p = program;
    return HIPRTC_SUCCESS;
}

/* The name, and that a list of parameters follows. */
static bool defines(const char *source, const char *name)
{
    for (const char *at = source; (at = strstr(at, name)) != NULL; at++) {
        if (at > source && at[-1] == ' ' && at[strlen(name)] == '(') {
            return true;
        }
    }
    return false;
}

static struct hip_compiled *code_for(const char *source, const char *kind)
{
    struct hip_compiled *code = calloc(1, sizeof(*code));
    const char *name;

    if (code == NULL) {
        return NULL;
    }
    strcpy(code->magic, HIP_COMPILED);
    strncpy(code->arch, kind, sizeof(code->arch) - 1);
    code->arch[strcspn(code->arch, ":")] = '\0'; /* without features */
    for (int i = 0; (name = hip_kernel_name(i)) != NULL; i++) {
        if (defines(source, name) && code->bytes + strlen(name) < sizeof(code->names)) {
            strcpy(&code->names[code->bytes], name);
            code->bytes += strlen(name) + 1;
        }
    }
    return code;
}

HIP_EXPORT hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int n_options,
                                             const char **options)
{
    static const char named[] = "--offload-arch=";
    const char *kind = hip_arch();

    RTC_ENTER(hiprtcCompileProgram);
    if (program == NULL || program->source == NULL) {
        return HIPRTC_ERROR_INVALID_PROGRAM;
    }
    if (n_options == 1 && strncmp(options[0], named, strlen(named)) == 0) {
        kind = options[0] + strlen(named);
    } else if (n_options != 0) {
        return HIPRTC_ERROR_INVALID_OPTION;
    } else if (hip_switches.rtc == RTC_TOLD) {
        program->log = "no kind of device is named";
        return HIPRTC_ERROR_COMPILATION;
    }
    if (strstr(program->source, "#include") != NULL && !hip_is_wrong("image-compiled")) {
        program->log = "a file that is included was not found";
        return HIPRTC_ERROR_COMPILATION;
    }
    free(program->code);
    program->code = code_for(program->source, kind);
    return program->code != NULL ? HIPRTC_SUCCESS : HIPRTC_ERROR_OUT_OF_MEMORY;
}

HIP_EXPORT hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes_p)
{
    RTC_ENTER(hiprtcGetProgramLogSize);
    if (program == NULL || bytes_p == NULL) {
        return HIPRTC_ERROR_INVALID_INPUT;
    }
    *bytes_p = strlen(program->log);
    return HIPRTC_SUCCESS;
}

/* Without a 0 at the end, so that nobody relies on one. */
HIP_EXPORT hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log_p)
{
    RTC_ENTER(hiprtcGetProgramLog);
    if (program == NULL || log_p == NULL) {
        return HIPRTC_ERROR_INVALID_INPUT;
    }
    memcpy(log_p, program->log, strlen(program->log));
    return HIPRTC_SUCCESS;
}

HIP_EXPORT hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes_p)
{
    RTC_ENTER(hiprtcGetCodeSize);
    if (program == NULL || bytes_p == NULL) {
        return HIPRTC_ERROR_INVALID_INPUT;
    }
    *bytes_p = program->code != NULL ? sizeof(*program->code) : 0;
    return HIPRTC_SUCCESS;
}

HIP_EXPORT hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code_p)
{
    RTC_ENTER(hiprtcGetCode);
    if (program == NULL || program->code == NULL || code_p == NULL) {
        return HIPRTC_ERROR_INVALID_PROGRAM;
    }
    memcpy(code_p, program->code, sizeof(*program->code));
    return HIPRTC_SUCCESS;
}

HIP_EXPORT hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program_p)
{
    RTC_ENTER(hiprtcDestroyProgram);
    if (program_p == NULL || *program_p == NULL) {
        return HIPRTC_ERROR_INVALID_INPUT;
    }
    free((*program_p)->source);
    free((*program_p)->code);
    free(*program_p);
    *program_p = NULL;
    return HIPRTC_SUCCESS;
}
