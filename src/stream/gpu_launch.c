/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a stream of a GPU launches for windows in memory of GPUs: one kernel for each call. */
#include "gpu_submit.h"

int mpixq_gpu_submit_launch(const struct mpixq_gpu_lane *lane, const struct mpixq_launch *what,
                            uint64_t ticket)
{
    void *parameters[] = {what->parameters};
    void *kernel = what->kind == MPIXQ_LAUNCH_PUTS  ? lane->kernels.put_all
                   : what->kind == MPIXQ_LAUNCH_SET ? lane->kernels.set_signal
                                                    : lane->kernels.await_signal;

    what->behind->word = lane->reached_at;
    what->behind->value = ticket;
    what->behind->halt = lane->halt_at;
    return mpixq_gpu_launch(lane->gpu, lane->handle, kernel,
                            (struct mpixq_grid){.blocks = what->blocks,
                                                .threads = what->threads,
                                                .early = lane->kernels.early},
                            parameters);
}
