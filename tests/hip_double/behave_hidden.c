/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_hidden.c - cases about devices that a process does not see, and their memory
 */
#include "behave.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool device_visible(void)
{
    char first[16], second[16];
    int count = -1;

    setenv("HIP_DOUBLE_DEVICES", "2", 1);
    NEED(hipGetDeviceCount(&count) == hipSuccess && count > 0);
    NEED(hipDeviceGetPCIBusId(first, (int)sizeof(first), 0) == hipSuccess);
    return count == 2 && hipDeviceGetPCIBusId(second, (int)sizeof(second), 1) == hipSuccess;
}

/* Each process sees one device. */
static void hide(const char *rank)
{
    setenv("HIP_DOUBLE_DEVICES", "2", 1);
    setenv("HIP_DOUBLE_VISIBLE", "own", 1);
    setenv("PMI_RANK", rank, 1);
}

static uint64_t get(const uint64_t *word)
{
    uint64_t value = 0;

    NEED(hipMemcpy(&value, word, sizeof(value), hipMemcpyDefault) == hipSuccess);
    return value;
}

/* Has a word on device 1, and ends with 4 more than that was changed by. */
static void owner(int in, int out)
{
    hipIpcMemHandle_t handle;
    void *word;
    char byte;

    hide("1");
    NEED(hipMalloc(&word, sizeof(uint64_t)) == hipSuccess);
    NEED(hipMemset(word, 0, sizeof(uint64_t)) == hipSuccess);
    NEED(hipIpcGetMemHandle(&handle, word) == hipSuccess);
    NEED(write(out, &handle, sizeof(handle)) == sizeof(handle));
    NEED(read(in, &byte, 1) == 1);
    _exit(4 + (int)get(word));
}

static void change(uint64_t *word)
{
    uint64_t *outcome, *there = NULL;
    void *parameters[] = {&word, &there};
    hipStream_t stream = behave_stream();
    hipFunction_t function;
    hipModule_t module;

    outcome = behave_word(&there);
    NEED(hipModuleLoadData(&module, "hip double") == hipSuccess);
    NEED(hipModuleGetFunction(&function, module, "mpixq_try_end") == hipSuccess);
    NEED(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) ==
         hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    NEED(behave_get(outcome) == 2); /* that is what the kernel has seen itself */
}

/* Opens it on device 0. What the owner sees of it then; or -1: it was refused. */
static int change_theirs(void)
{
    int to[2], from[2], status;
    hipIpcMemHandle_t handle;
    hipError_t error;
    void *mapped;
    pid_t child;

    NEED(pipe(to) == 0 && pipe(from) == 0);
    child = fork();
    if (child == 0) {
        owner(to[0], from[1]);
    }
    hide("0");
    NEED(read(from[0], &handle, sizeof(handle)) == sizeof(handle));
    error = hipIpcOpenMemHandle(&mapped, handle, hipIpcMemLazyEnablePeerAccess);
    NEED(error == hipSuccess || error == hipErrorInvalidDevice);
    if (error == hipSuccess) {
        change(mapped);
    }
    NEED(write(to[1], "", 1) == 1 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    NEED(WEXITSTATUS(status) >= 4);
    return error == hipSuccess ? WEXITSTATUS(status) - 4 : -1;
}

static bool hidden_opened(void)
{
    return change_theirs() >= 0;
}

static bool hidden_atomic(void)
{
    return change_theirs() == 2;
}

const struct behave_case behave_hidden_cases[] = {
    {"device-visible", device_visible},
    {"hidden-opened", hidden_opened},
    {"hidden-atomic", hidden_atomic},
    {NULL, NULL},
};
