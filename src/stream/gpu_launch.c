/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a stream of a GPU launches for windows in memory of GPUs, one kernel for each call, to
 * combine contributions to reductions, and to say how far it has come. */
#include "gpu_submit.h"

int mpixq_gpu_write_reached(const struct mpixq_gpu_lane *lane, uint64_t ticket)
{
    void *reached_at = lane->reached_at;
    void *parameters[] = {&reached_at, &ticket};

    return lane->by_values
               ? mpixq_gpu_write(lane->gpu, lane->handle, reached_at, ticket)
               : mpixq_gpu_launch(lane->gpu, lane->handle, lane->kernels.ring,
                                  (struct mpixq_grid){.blocks = 1, .threads = 1}, parameters);
}

/* A block tells by itself that it is done; of several nobody knows which one is the last. */
static int combine(const struct mpixq_gpu_lane *lane, struct mpixq_combine all, bool tells,
                   uint64_t ticket)
{
    void *parameters[] = {&all};
    int code;

    all.word = tells && all.blocks == 1 ? lane->reached_at : NULL;
    all.value = ticket;
    code = mpixq_gpu_launch(
        lane->gpu, lane->handle,
        all.bytes < MPIXQ_WIDE_BYTES ? lane->kernels.combine_all : lane->kernels.combine_wide,
        (struct mpixq_grid){
            .blocks = all.blocks, .threads = MPIXQ_BLOCK_OF_MOVES, .early = lane->kernels.early},
        parameters);
    return code != 0 || !tells || all.blocks == 1 ? code : mpixq_gpu_write_reached(lane, ticket);
}

int mpixq_gpu_combine(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int combines,
                      bool is_told, bool tells, uint64_t ticket)
{
    int code = 0;

    for (; code == 0 && combines > 0; op++) {
        if (op->kind == MPIXQ_OP_COMBINE) {
            struct mpixq_combine all = *op->gpu.combine;

            combines--;
            all.go = all.closed != NULL || is_told ? all.go : NULL;
            code = combine(lane, all, tells && combines == 0, ticket);
        }
    }
    return code;
}

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
