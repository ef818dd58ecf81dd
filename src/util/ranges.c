/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ranges.h"

#include <stddef.h>

static const struct mpixq_range_taker *const all[] = {&mpixq_nvtx, &mpixq_roctx};
enum { N_ALL = sizeof all / sizeof all[0] };

bool mpixq_ranges_on;
/* Constant like that. */
static const struct mpixq_range_taker *takers[N_ALL];
static size_t n_takers;

void mpixq_ranges_open(void)
{
    for (size_t i = 0; i < N_ALL; i++) {
        if (all[i]->open()) {
            takers[n_takers++] = all[i];
        }
    }
    mpixq_ranges_on = n_takers > 0;
}

void mpixq_range_push_slow(const char *name, int n)
{
    for (size_t i = 0; i < n_takers; i++) {
        takers[i]->push(name, n);
    }
}

void mpixq_range_pop_slow(void)
{
    for (size_t i = n_takers; i-- > 0;) {
        takers[i]->pop();
    }
}
