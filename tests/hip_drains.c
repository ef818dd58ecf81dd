/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "drains.h"

#include <string.h>

#include "hip_double/hip_double.h"
#include "mtest.h"
#include "mtest_gpu.h"
#include "stream/pieces.h"

atomic_long drains, drain_copies;

static void see_work(const struct hip_double_work *work)
{
    const struct mpixq_words *all = work->parameters;

    if (work->threads > 0 && strncmp(work->what, "mpixq_wait_", 11) == 0) {
        for (unsigned i = 0; i < all->n; i++) {
            drains += all->at[i].taken != NULL;
        }
    }
    drain_copies += work->from != NULL || strcmp(work->what, "mpixq_copy") == 0;
}

void drains_watch(bool watches)
{
    void (*watch)(void (*)(const struct hip_double_work *)) = NULL;

    *(void **)&watch = mtest_gpu_symbol("hip_double_watch");
    MTEST_CHECK(watch != NULL);
    if (watch != NULL) {
        watch(watches ? see_work : NULL);
    }
}
