/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of the host that GPUs see, and that stays with the host when the place is gone in which
 * it was made known to them: nobody of us faults there, and it can be made known again.
 *
 * In the place, unless said otherwise; codes of the vendor.
 */
#ifndef MPIXQ_GPU_PINNED_H
#define MPIXQ_GPU_PINNED_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu.h"

struct mpixq_pinned {
    const struct mpixq_gpu *gpu; /* NULL: there is none */
    void *host;
    size_t bytes;
    bool is_ours; /* else the GPU's library has allocated it, as it cannot map ours */
};

/* Zeroed. */
int mpixq_pinned_take(const struct mpixq_gpu *gpu, size_t bytes, struct mpixq_pinned *pinned_p);
/* Another life of the place has begun. The contents stay if it is ours; else the address may
 * change. On an error there is none any more. */
int mpixq_pinned_renew(struct mpixq_pinned *pinned);
/* In any place. None: nothing happens. over: the life of the place is. */
void mpixq_pinned_give_up(struct mpixq_pinned *pinned, bool over);

#endif
