/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The table that MPIXQ_STATS prints: what is known of ranks, added up.
 */
#ifndef MPIXQ_STATS_TABLE_H
#define MPIXQ_STATS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/served.h"
#include "core/stats.h"

struct mpixq_stats_row {
    bool is_known;
    struct mpixq_stats counts;
};

/* Pairs that a better channel did not serve, for one reason. */
struct mpixq_stats_missed {
    uint64_t all, at_peer;
    int ranks, first; /* that say so, and the first that did */
};

struct mpixq_stats_table {
    int size, known;           /* ranks that there are, and that have told */
    bool was_printed, is_late; /* somebody has told since */
    struct mpixq_stats_row *rows;
    struct mpixq_stats_missed missed[MPIXQ_N_CHANNELS][MPIXQ_N_CHANNELS][MPIXQ_N_REASONS];
};

/* NULL without memory. */
struct mpixq_stats_table *mpixq_stats_table_create(int size);
void mpixq_stats_table_free(struct mpixq_stats_table *table);
/* What a rank says counts once; what it misses, as long as it has not said the rest. */
void mpixq_stats_table_add(struct mpixq_stats_table *table, int rank,
                           const struct mpixq_stats *counts);
void mpixq_stats_table_miss(struct mpixq_stats_table *table, int rank,
                            const struct mpixq_missed *missed);
/* A title, and all that is known. */
void mpixq_stats_table_print(struct mpixq_stats_table *table, const char *title);

#endif
