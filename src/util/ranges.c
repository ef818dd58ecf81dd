/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ranges.h"

static const struct mpixq_range_taker *const all[MPIXQ_RANGE_TAKERS] = {&mpixq_nvtx, &mpixq_roctx};

struct mpixq_ranges mpixq_ranges;

void mpixq_ranges_open(void)
{
    for (size_t i = 0; i < MPIXQ_RANGE_TAKERS; i++) {
        if (all[i]->open(&mpixq_ranges.takers[mpixq_ranges.n].calls)) {
            mpixq_ranges.takers[mpixq_ranges.n++].taker = all[i];
        }
    }
}

void mpixq_range_push_slow(const char *name, int n)
{
    for (size_t i = 0; i < mpixq_ranges.n; i++) {
        mpixq_ranges.takers[i].taker->push(&mpixq_ranges.takers[i].calls, name, n);
    }
}

void mpixq_range_pop_slow(void)
{
    for (size_t i = mpixq_ranges.n; i-- > 0;) {
        mpixq_ranges.takers[i].taker->pop(&mpixq_ranges.takers[i].calls);
    }
}
