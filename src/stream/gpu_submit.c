/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_submit.h"

#include "core/env.h"
#include "core/log.h"

/* On CUDA values won wherever the host answers; on HIP nothing was measured, and kernels need no
 * memory of a special kind. */
enum mpixq_error mpixq_gpu_lane_choose(struct mpixq_gpu_lane *lane)
{
    bool has_values = lane->gpu->has_values();
    bool has_kernels;

    lane->kernels = mpixq_gpu_kernels(lane->gpu, lane->place);
    has_kernels = lane->kernels.wait != NULL;
    switch (mpixq_env.gpu_ops) {
    case MPIXQ_GPU_OPS_KERNELS:
        has_values = false;
        break;
    case MPIXQ_GPU_OPS_VALUES:
        has_kernels = false;
        break;
    default:
        has_kernels = has_kernels && !(has_values && lane->gpu == &mpixq_gpu_cuda);
        break;
    }
    lane->by_values = !has_kernels;
    if (mpixq_env.info) {
        mpixq_print("%s: stream memory operations %s, kernels: %s; used: %s (MPIXQ_GPU_OPS)",
                    lane->gpu->name, lane->gpu->has_values() ? "can be used" : "cannot be used",
                    lane->kernels.why,
                    has_kernels  ? "kernels"
                    : has_values ? "values"
                                 : "none");
    }
    return has_kernels || has_values ? MPIXQ_E_NONE : MPIXQ_E_GPU_OPS;
}

static int write_reached(const struct mpixq_gpu_lane *lane, uint64_t ticket)
{
    void *reached_at = lane->reached_at;
    void *parameters[] = {&reached_at, &ticket};

    return lane->by_values ? lane->gpu->write(lane->handle, reached_at, ticket)
                           : lane->gpu->launch(lane->handle, lane->kernels.ring, parameters);
}

static int wait_for_gate(const struct mpixq_gpu_lane *lane, uint64_t ticket, uint64_t passed)
{
    void *gate_at = lane->gate_at, *reached_at = lane->reached_at;
    void *parameters[] = {&gate_at, &ticket, &reached_at, &passed};

    return lane->by_values ? lane->gpu->wait(lane->handle, gate_at, ticket, reached_at, passed)
                           : lane->gpu->launch(lane->handle, lane->kernels.wait, parameters);
}

static int copy(const struct mpixq_gpu_lane *lane, const struct mpixq_copy *what)
{
    return what != NULL ? lane->gpu->copy(lane->handle, what->to, what->from, what->bytes) : 0;
}

int mpixq_gpu_submit_start(const struct mpixq_gpu_lane *lane, const struct mpixq_trigger *triggers,
                           int n, uint64_t ticket)
{
    int code = 0;

    for (int i = 0; code == 0 && i < n; i++) {
        code = copy(lane, triggers[i].copy);
    }
    return code != 0 ? code : write_reached(lane, ticket);
}

int mpixq_gpu_submit_wait(const struct mpixq_gpu_lane *lane, const struct mpixq_awaited *awaited,
                          int n, uint64_t ticket)
{
    bool copies = false;
    int code;

    for (int i = 0; i < n; i++) {
        copies = copies || awaited[i].copy != NULL;
    }
    /* What is copied afterwards has not passed yet. */
    code = wait_for_gate(lane, ticket, copies ? ticket - 1 : ticket);
    for (int i = 0; code == 0 && i < n; i++) {
        code = copy(lane, awaited[i].copy);
    }
    return code != 0 || !copies ? code : write_reached(lane, ticket);
}
