/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg_parts.c - which elements of the vector that is multiplied come from which rank
 *
 * They follow from the matrix: those of all columns in this rank's rows that are not its own. In
 * the order of the columns they are one block for each rank, behind the own elements. Who needs
 * which of this rank's elements it is told.
 */
#include "cg.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

    return (a > b) - (a < b);
}

/* The columns that are not this rank's, each once and in order. */
static uint32_t *find_halo(const struct matrix *mine, size_t *num_p)
{
    size_t entries = mine->begin[mine->rows], num = 0, different = 0;
    uint32_t *columns = bench_alloc(entries * sizeof *columns);

    for (size_t i = 0; i < entries; i++) {
        uint32_t column = mine->columns[i];

        if (column < mine->first || column >= mine->first + mine->rows) {
            columns[num++] = column;
        }
    }
    qsort(columns, num, sizeof *columns, ascending);
    for (size_t i = 0; i < num; i++) {
        if (i == 0 || columns[i] != columns[i - 1]) {
            columns[different++] = columns[i];
        }
    }
    *num_p = different;
    return columns;
}

/* How many of the columns are each rank's. */
static void count_by_rank(const struct cg *cg, const uint32_t columns[], size_t num, int counts[])
{
    int rank = 0;

    memset(counts, 0, (size_t)cg->ranks * sizeof *counts);
    for (size_t i = 0; i < num; i++) {
        while (columns[i] >= cg_first(cg->mine.side, rank + 1, cg->ranks)) {
            rank++;
        }
        counts[rank]++;
    }
}

/* Blocks of those ranks that have elements in it; places: where each begins. */
static struct cg_block *make_blocks(const struct cg *cg, const int counts[], int places[],
                                    int *num_p, size_t *elements_p)
{
    struct cg_block *blocks = bench_alloc((size_t)cg->ranks * sizeof *blocks);
    size_t begin = 0;
    int num = 0;

    for (int rank = 0; rank < cg->ranks; rank++) {
        places[rank] = (int)begin;
        if (counts[rank] > 0) {
            blocks[num++] = (struct cg_block){.rank = rank, .begin = begin, .count = counts[rank]};
        }
        begin += (size_t)counts[rank];
    }
    *num_p = num;
    *elements_p = begin;
    return blocks;
}

/* In the rows: own columns from 0 on, and behind them those of other ranks. */
static void rename_columns(struct matrix *mine, const uint32_t halo[], size_t num)
{
    for (size_t i = 0; i < mine->begin[mine->rows]; i++) {
        uint32_t column = mine->columns[i];

        if (column >= mine->first && column < mine->first + mine->rows) {
            mine->columns[i] = (uint32_t)(column - mine->first);
        } else {
            const uint32_t *at = bsearch(&column, halo, num, sizeof *halo, ascending);

            mine->columns[i] = (uint32_t)(mine->rows + (size_t)(at - halo));
        }
    }
}

void cg_divide(struct cg *cg)
{
    size_t num, ranks = (size_t)cg->ranks;
    uint32_t *halo = find_halo(&cg->mine, &num);
    int *counts = bench_alloc(4 * ranks * sizeof *counts);
    int *in = counts, *out = counts + ranks, *in_at = out + ranks, *out_at = in_at + ranks;

    count_by_rank(cg, halo, num, in);
    PMPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
    cg->from = make_blocks(cg, in, in_at, &cg->num_from, &cg->halo);
    cg->to = make_blocks(cg, out, out_at, &cg->num_to, &cg->sends);
    cg->index = bench_alloc(cg->sends * sizeof *cg->index);
    PMPI_Alltoallv(halo, in, in_at, MPI_UNSIGNED, cg->index, out, out_at, MPI_UNSIGNED,
                   MPI_COMM_WORLD);
    for (size_t i = 0; i < cg->sends; i++) {
        cg->index[i] -= (unsigned)cg->mine.first;
    }
    rename_columns(&cg->mine, halo, num);
    free(counts);
    free(halo);
}

void cg_unite(struct cg *cg)
{
    free(cg->from);
    free(cg->to);
    free(cg->index);
}
