/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_policy.h"

#include <stdatomic.h>

#include "gpu_seat.h"
#include "util/env.h"
#include "util/log.h"

enum { EVERY = 128 }; /* starts: to ask takes half a microsecond */

static struct {
    atomic_uint times;  /* at which streams are to choose again */
    atomic_flag warned; /* that there are no kernels */
    struct mpixq_gpu_seats seats;
} policy = {.warned = ATOMIC_FLAG_INIT, .seats = MPIXQ_GPU_SEATS_INITIALIZER};

void mpixq_gpu_policy_look_again(void)
{
    atomic_fetch_add_explicit(&policy.times, 1, memory_order_relaxed);
}

static void follow_sharing(struct mpixq_gpu_lane *lane)
{
    lane->by_values = lane->seat != NULL && mpixq_gpu_seat_is_shared(lane->seat);
    lane->why = lane->by_values      ? "other processes use this GPU, too"
                : lane->seat != NULL ? "no other process uses this GPU"
                                     : "it cannot be told who else uses this GPU";
}

/* Both can be had. Kernels, if it does not matter who else uses the GPU. */
static void choose_either(struct mpixq_gpu_lane *lane)
{
    bool in_turns = lane->gpu->in_turns(&lane->why);

    lane->follows = in_turns || mpixq_env.gpu_ops == MPIXQ_GPU_OPS_UNSHARED;
    if (lane->follows) {
        follow_sharing(lane);
    }
}

static void take_seat(struct mpixq_gpu_lane *lane)
{
    char name[MPIXQ_GPU_NAME_ROOM];

    /* Also if it does not matter to us: others look. */
    lane->seat = lane->gpu->identify(name) == 0
                     ? mpixq_gpu_seat_take(&policy.seats, lane->gpu->kind, name)
                     : NULL;
    lane->looked_at = atomic_load_explicit(&policy.times, memory_order_relaxed);
}

static void print_choice(const struct mpixq_gpu_lane *lane, bool has_values)
{
    mpixq_print("%s: stream memory operations %s, kernels: %s; used: %s, since %s; small copies %s "
                "(MPIXQ_GPU_OPS)",
                lane->gpu->name, has_values ? "can be used" : "cannot be used", lane->kernels.why,
                lane->by_values ? "values" : "kernels", lane->why,
                lane->kernels.copy != NULL ? "together by a kernel" : "one by one");
}

/* Nothing else tells who did not ask for it: all works, and takes longer. */
static void warn_once(const struct mpixq_gpu_lane *lane)
{
    if (!atomic_flag_test_and_set(&policy.warned)) {
        mpixq_warn("no kernels for %s: %s; queues on its streams use stream memory operations, "
                   "which take longer, and the channel ipc serves none of them%s%s",
                   lane->gpu->name, lane->kernels.why, lane->kernels.cure != NULL ? ": " : "",
                   lane->kernels.cure != NULL ? lane->kernels.cure : "");
    }
}

/* A kernel that copies or rings waits for nobody, so it is used beside values, unless values are
 * asked for. */
enum mpixq_error mpixq_gpu_lane_choose(struct mpixq_gpu_lane *lane)
{
    bool has_values = lane->gpu->has_values(), may_values, may_kernels;

    lane->kernels = mpixq_gpu_kernels(lane->gpu, lane->place, lane->life);
    may_values = has_values && mpixq_env.gpu_ops != MPIXQ_GPU_OPS_KERNELS;
    may_kernels = lane->kernels.wait != NULL && mpixq_env.gpu_ops != MPIXQ_GPU_OPS_VALUES;
    if (!may_values && !may_kernels) {
        return MPIXQ_E_GPU_OPS;
    }
    if (lane->kernels.wait == NULL && mpixq_env.gpu_ops != MPIXQ_GPU_OPS_VALUES) {
        warn_once(lane);
    }
    if (mpixq_env.gpu_ops == MPIXQ_GPU_OPS_VALUES) {
        lane->kernels.copy = lane->kernels.ring_all = lane->kernels.move_all = NULL;
    }
    take_seat(lane);
    if (may_values && may_kernels) {
        choose_either(lane);
    } else {
        lane->by_values = may_values;
        lane->why = has_values && lane->kernels.wait != NULL ? "they are asked for"
                                                             : "there is nothing else";
    }
    if (mpixq_env.info) {
        print_choice(lane, has_values);
    }
    return MPIXQ_E_NONE;
}

void mpixq_gpu_lane_choose_again(struct mpixq_gpu_lane *lane)
{
    unsigned now = atomic_load_explicit(&policy.times, memory_order_relaxed);
    bool by_values = lane->by_values;

    if (!lane->follows || (now == lane->looked_at && ++lane->starts % EVERY != 0)) {
        return;
    }
    lane->looked_at = now;
    follow_sharing(lane);
    if (lane->by_values != by_values && mpixq_env.info) {
        mpixq_print("%s: from here on a queue uses %s, since %s", lane->gpu->name,
                    lane->by_values ? "values" : "kernels", lane->why);
    }
}

void mpixq_gpu_lane_end(struct mpixq_gpu_lane *lane)
{
    mpixq_gpu_seat_leave(lane->seat);
    lane->seat = NULL;
}
