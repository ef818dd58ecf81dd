/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mtest.h"
#include "../mtest_gpu.h"
#include "device_code.h"

static int (*load)(void **module, const void *code);
static int (*find)(void **function, void *module, const char *name);
static int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                     void *stream, void **parameters, void **extra);
static void *kernel, *puts_kernel;
static unsigned *results, *results_seen; /* of device_code_results */

static void *symbol(bool hip, const char *cuda_name, const char *hip_name)
{
    void *found = mtest_gpu_symbol(hip ? hip_name : cuda_name);

    if (found == NULL) {
        fprintf(stderr, "device: there is no %s\n", hip ? hip_name : cuda_name);
        exit(MTEST_HARD);
    }
    return found;
}

bool device_code_open(void)
{
    bool hip = strcmp(mtest_gpu_kind(), "hipStream_t") == 0;
    void *module = NULL;

    if ((hip ? device_code_hip_bytes : device_code_cuda_bytes) == 0) {
        return false;
    }
    *(void **)&load = symbol(hip, "cuModuleLoadData", "hipModuleLoadData");
    *(void **)&find = symbol(hip, "cuModuleGetFunction", "hipModuleGetFunction");
    *(void **)&launch = symbol(hip, "cuLaunchKernel", "hipModuleLaunchKernel");
    if (hip) {
        MTEST_EQ(load(&module, device_code_hip), 0);
    } else if ((device_code_cuda90_bytes == 0 || load(&module, device_code_cuda90) != 0)) {
        MTEST_EQ(load(&module, device_code_cuda), 0);
    }
    MTEST_EQ(find(&kernel, module, "mpixq_test_device"), 0);
    MTEST_EQ(find(&puts_kernel, module, "mpixq_test_puts"), 0);
    return kernel != NULL && puts_kernel != NULL;
}

unsigned *device_code_results(unsigned **seen_p)
{
    bool hip = strcmp(mtest_gpu_kind(), "hipStream_t") == 0;
    int (*see)(void **seen, void *memory, unsigned flags);

    results = mtest_gpu_alloc(MTEST_PINNED, 2 * DEVICE_STEPS * sizeof(*results));
    memset(results, 0, 2 * DEVICE_STEPS * sizeof(*results));
    *(void **)&see = symbol(hip, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer");
    MTEST_EQ(see((void **)&results_seen, results, 0), 0);
    if (seen_p != NULL) {
        *seen_p = results_seen;
    }
    return results;
}

void device_code_launch(void *stream, unsigned blocks, unsigned threads,
                        const struct device_script *script)
{
    struct device_script copy = *script;
    void *parameters[] = {&copy};

    MTEST_EQ(launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL), 0);
}

unsigned device_code_run(void *stream, unsigned threads, const struct device_step *step,
                         const MPIXQ_Device_request *r)
{
    struct device_script script = {.n = 1, .n_handles = 1, .step = {*step}, .handle = {*r}};

    script.step[0].first = 0;
    script.step[0].result = results_seen;
    results[0] = results[1] = 0;
    device_code_launch(stream, 1, threads, &script);
    mtest_gpu_synchronize(stream);
    return results[0];
}

void device_code_launch_puts(void *stream, unsigned threads, const struct puts_script *script)
{
    struct puts_script copy = *script;
    void *parameters[] = {&copy};

    MTEST_EQ(launch(puts_kernel, 1, 1, 1, threads, 1, 1, 0, stream, parameters, NULL), 0);
}
