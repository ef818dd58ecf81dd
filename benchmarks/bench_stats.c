/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_stats.c - median, 99th percentile and confidence interval of the times of the trials
 *
 * The median is reported because on a machine that does other things the mean is ruled by a few
 * trials that were interrupted. Its interval comes from the percentile bootstrap, which assumes
 * nothing about the distribution.
 */
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 1000

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sorted_median(const double sorted[], int num)
{
    return num % 2 == 1 ? sorted[num / 2] : (sorted[num / 2 - 1] + sorted[num / 2]) / 2;
}

/* The generator xorshift64*; its low bits are weaker than the high ones. */
uint32_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(2685821657736338717)) >> 32);
}

/* The median of a resample needs no copy of the values: draw indices into the sorted array, count
 * them, and walk to the middle. */
static double resampled_median(const double sorted[], int num, int counts[], uint64_t *state)
{
    int seen = 0, i = 0;
    double low;

    memset(counts, 0, (size_t)num * sizeof *counts);
    for (int k = 0; k < num; k++) {
        counts[bench_random(state) % (unsigned)num]++;
    }
    while (seen + counts[i] < (num + 1) / 2) {
        seen += counts[i++];
    }
    low = sorted[i];
    if (num % 2 == 1 || seen + counts[i] > num / 2) {
        return low;
    }
    do {
        i++;
    } while (counts[i] == 0);
    return (low + sorted[i]) / 2;
}

static double bootstrap_half_width(const double sorted[], int num)
{
    double medians[RESAMPLES];
    int *counts = bench_alloc((size_t)num * sizeof *counts);
    uint64_t state = 1; /* always: the result depends on the measured times alone */

    for (int i = 0; i < RESAMPLES; i++) {
        medians[i] = resampled_median(sorted, num, counts, &state);
    }
    free(counts);
    qsort(medians, RESAMPLES, sizeof medians[0], compare_doubles);
    return (medians[RESAMPLES * 975 / 1000 - 1] - medians[RESAMPLES * 25 / 1000]) / 2;
}

struct bench_summary bench_summarise(const double values[], int num)
{
    struct bench_summary summary = {.median = NAN, .p99 = NAN, .ci95 = NAN};
    double *sorted;

    if (num == 0) {
        return summary;
    }
    sorted = bench_alloc((size_t)num * sizeof *sorted);
    memcpy(sorted, values, (size_t)num * sizeof *sorted);
    qsort(sorted, (size_t)num, sizeof *sorted, compare_doubles);
    summary.median = sorted_median(sorted, num);
    summary.p99 = sorted[(99 * num + 99) / 100 - 1];
    summary.ci95 = bootstrap_half_width(sorted, num);
    free(sorted);
    return summary;
}
