/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_ask.h"

#include "gpu_life.h"

bool mpixq_gpu_is_default(const void *handle)
{
    return (uintptr_t)handle <= (uintptr_t)MPIXQ_GPU_PER_THREAD;
}

bool mpixq_gpu_is_elsewhere(const struct mpixq_gpu_lane *lane)
{
    return lane->handle == MPIXQ_GPU_PER_THREAD && !pthread_equal(lane->owner, pthread_self());
}

/* Has the place been reset since? In it. */
static bool is_in_another_life(const struct mpixq_gpu_lane *lane)
{
    return mpixq_gpu_life(lane->gpu, lane->place) != lane->life;
}

/* Default streams come again with the place, so that their handles tell nothing. Which stream they
 * are depends on the place, too. */
static bool is_default_captured(const struct mpixq_gpu_lane *lane, bool *is_lost_p)
{
    bool captured, unknown;
    void *before;

    if (lane->gpu->enter(lane->place, &before) != 0) {
        return false; /* the submission will fail, and say why */
    }
    captured = mpixq_gpu_is_capturing(lane->gpu, lane->handle, &unknown);
    *is_lost_p = is_in_another_life(lane);
    lane->gpu->leave(lane->place, before);
    return captured;
}

bool mpixq_gpu_is_captured(const struct mpixq_gpu_lane *lane, bool *is_lost_p)
{
    bool captured, unknown;
    void *before;

    /* What a handle names that went with its device may be anything by now. */
    *is_lost_p = mpixq_gpu_life_is_over(lane->life);
    if (*is_lost_p) {
        return false;
    }
    if (mpixq_gpu_is_default(lane->handle)) {
        return is_default_captured(lane, is_lost_p);
    }
    captured = mpixq_gpu_is_capturing(lane->gpu, lane->handle, &unknown);
    if (unknown && lane->gpu->enter(lane->place, &before) == 0) {
        *is_lost_p = is_in_another_life(lane);
        lane->gpu->leave(lane->place, before);
    }
    return captured;
}

const char *mpixq_gpu_ask(const struct mpixq_gpu_lane *lane)
{
    const char *why = NULL;
    bool unknown;
    void *before;

    if (mpixq_gpu_is_elsewhere(lane) || mpixq_gpu_life_is_over(lane->life) ||
        lane->gpu->enter(lane->place, &before) != 0) {
        return NULL;
    }
    if (!mpixq_gpu_is_capturing(lane->gpu, lane->handle, &unknown)) {
        why = mpixq_gpu_broken(lane->gpu, lane->handle);
    }
    lane->gpu->leave(lane->place, before);
    return why;
}
