/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_ask.h"

bool mpixq_gpu_is_default(const void *handle)
{
    return (uintptr_t)handle <= (uintptr_t)MPIXQ_GPU_PER_THREAD;
}

bool mpixq_gpu_is_elsewhere(const struct mpixq_gpu_lane *lane)
{
    return lane->handle == MPIXQ_GPU_PER_THREAD && !pthread_equal(lane->owner, pthread_self());
}

/* Only which stream a default one is depends on the place. */
bool mpixq_gpu_is_captured(const struct mpixq_gpu_lane *lane)
{
    bool captured;
    void *before;

    if (!mpixq_gpu_is_default(lane->handle)) {
        return lane->gpu->is_capturing(lane->handle);
    }
    if (lane->gpu->enter(lane->place, &before) != 0) {
        return false; /* the submission will fail, and say why */
    }
    captured = lane->gpu->is_capturing(lane->handle);
    lane->gpu->leave(lane->place, before);
    return captured;
}

const char *mpixq_gpu_ask(const struct mpixq_gpu_lane *lane)
{
    const char *why = NULL;
    void *before;

    if (mpixq_gpu_is_elsewhere(lane) || lane->gpu->enter(lane->place, &before) != 0) {
        return NULL;
    }
    if (!lane->gpu->is_capturing(lane->handle)) {
        why = lane->gpu->broken(lane->handle);
    }
    lane->gpu->leave(lane->place, before);
    return why;
}
