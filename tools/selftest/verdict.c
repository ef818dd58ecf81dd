/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * verdict.c - the rows of all ranks, and what is slow in them
 *
 * Slow is what a better channel could serve and does not; and, by the times, a pair that takes far
 * longer than the fastest one like it, or a channel that serves although another takes far less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftest.h"

/* Below that a difference is not worth a word, whatever the factor. */
#define LEAST_US 2.0

void rows_gather(struct rows *rows)
{
    int rank, n, bytes = rows->n * (int)sizeof *rows->list, sum = 0, *counts, *starts;
    struct row *all = NULL;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    counts = need(calloc((size_t)n, sizeof *counts));
    starts = need(calloc((size_t)n, sizeof *starts));
    MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        starts[i] = sum;
        sum += counts[i];
    }
    all = need(malloc((size_t)sum + 1));
    MPI_Gatherv(rows->list, bytes, MPI_BYTE, all, counts, starts, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        free(rows->list);
        *rows = (struct rows){.list = all, .n = sum / (int)sizeof *all};
    } else {
        free(all);
    }
    free(counts);
    free(starts);
}

static void find(struct finding **list, int *n, int low, int high, const char *text)
{
    struct finding *all = *list;

    for (int i = 0; i < *n; i++) {
        if (strcmp(all[i].text, text) == 0) {
            all[i].n++;
            return;
        }
    }
    all = need(realloc(all, (size_t)(*n + 1) * sizeof *all));
    all[*n] = (struct finding){.low = low, .high = high, .n = 1};
    (void)snprintf(all[*n].text, sizeof all[*n].text, "%s", text);
    (*n)++;
    *list = all;
}

void verdict_add_error(struct verdict *verdict, int rank, const char *text)
{
    find(&verdict->errors, &verdict->n_errors, rank, rank, text);
}

void verdict_add_slow(struct verdict *verdict, int rank, const char *text)
{
    find(&verdict->slow, &verdict->n_slow, rank, rank, text);
}

void verdict_add_nics(struct verdict *verdict, int rank, const char *text)
{
    find(&verdict->nics, &verdict->n_nics, rank, rank, text);
}

static const char *path(char *text, size_t room, const struct plan *plan, const struct row *row)
{
    struct pair pair = {.low = row->low, .high = row->high};

    (void)snprintf(text, room, "%s memory, stream of %s, %s", lane_memory(row->lane),
                   lane_stream(row->lane), where_names[plan_where(plan, &pair, row->lane)]);
    return text;
}

/* Could the channel serve, if all were well? */
static bool could_serve(const struct plan *plan, const struct row *row)
{
    const struct who *low = &plan->who[row->low], *high = &plan->who[row->high];
    struct pair pair = {.low = row->low, .high = row->high};
    enum where where = plan_where(plan, &pair, row->lane);

    switch (row->channel) {
    case MPIXQ_CHANNEL_IPC:
        return row->lane % 2 == 1 && where != OTHER_NODE;
    case MPIXQ_CHANNEL_CXI:
        return where != OWN_PROCESS && low->has_nic && high->has_nic;
    default:
        return false;
    }
}

static void judge_channel(struct verdict *verdict, const struct plan *plan, const struct row *row,
                          const struct row *serves)
{
    char text[2 * TEXT], where[80];

    if (row->state == REFUSED && row->is_missed && could_serve(plan, row)) {
        (void)snprintf(text, sizeof text, "%s: by %s, not by %s: %s",
                       path(where, sizeof where, plan, row),
                       mpixq_channel_name((uint32_t)serves->channel),
                       mpixq_channel_name((uint32_t)row->channel), row->text);
        find(&verdict->slow, &verdict->n_slow, row->low, row->high, text);
    } else if (opts.slow > 0 && !verdict->is_crowded && row->state == SERVED &&
               serves->state == SERVED &&
               serves->small_least_us > opts.slow * row->small_least_us + LEAST_US) {
        (void)snprintf(text, sizeof text,
                       "%s: %s serves, and %s takes less than 1/%d of the time: see MPIXQ_CHANNELS",
                       path(where, sizeof where, plan, row),
                       mpixq_channel_name((uint32_t)serves->channel),
                       mpixq_channel_name((uint32_t)row->channel), opts.slow);
        find(&verdict->slow, &verdict->n_slow, row->low, row->high, text);
    }
}

static void judge_error(struct verdict *verdict, const struct plan *plan, const struct row *row)
{
    char text[2 * TEXT], where[80];

    verdict->n_served += row->state == SERVED;
    verdict->n_left_out += row->state == LEFT_OUT;
    if (row->state >= FAILED) {
        (void)snprintf(
            text, sizeof text, "%s, channel %s: %s: %s", path(where, sizeof where, plan, row),
            mpixq_channel_name((uint32_t)row->channel), state_names[row->state], row->text);
        find(&verdict->errors, &verdict->n_errors, row->low, row->high, text);
    }
}

/* The rows of one pair on one lane. */
static void judge_lane(struct verdict *verdict, const struct plan *plan, const struct row *rows,
                       int n)
{
    const struct row *serves = NULL;
    bool is_refused = true;
    char text[2 * TEXT], where[80];

    for (int i = 0; i < n; i++) {
        judge_error(verdict, plan, &rows[i]);
        serves = rows[i].is_default ? &rows[i] : serves;
        is_refused = is_refused && rows[i].state == REFUSED;
    }
    for (int i = 0; serves != NULL && i < n; i++) {
        judge_channel(verdict, plan, &rows[i], serves);
    }
    if (is_refused) {
        (void)snprintf(text, sizeof text, "%s: no channel serves",
                       path(where, sizeof where, plan, &rows[0]));
        find(&verdict->errors, &verdict->n_errors, rows[0].low, rows[0].high, text);
    }
}

static void judge_time(struct verdict *verdict, const struct plan *plan, const struct row *row,
                       const double least[2])
{
    const double times[2] = {row->small_least_us, row->large_least_us};
    char text[2 * TEXT], where[80], who[40];

    (void)snprintf(who, sizeof who,
                   row->low == row->high ? "rank %d takes" : "ranks %d and %d take", row->low,
                   row->high);
    for (int i = 0; i < 2; i++) {
        if (times[i] > opts.slow * least[i] + LEAST_US) {
            (void)snprintf(text, sizeof text, "%s, channel %s: %s %.2f us for %s, others %.2f us",
                           path(where, sizeof where, plan, row),
                           mpixq_channel_name((uint32_t)row->channel), who, times[i],
                           i == 0 ? "8 bytes" : "1 MiB", least[i]);
            find(&verdict->slow, &verdict->n_slow, row->low, row->high, text);
            return;
        }
    }
}

static double lesser(double best, double us)
{
    return best == 0.0 || us < best ? us : best;
}

/* Between two passes over the rows: the least times of what is alike. */
static void judge_times(struct verdict *verdict, const struct plan *plan, const struct rows *rows)
{
    static double least[LANES][WHERES][MPIXQ_N_CHANNELS][2];

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < rows->n; i++) {
            const struct row *row = &rows->list[i];
            struct pair pair = {.low = row->low, .high = row->high};
            double *best = least[row->lane][plan_where(plan, &pair, row->lane)][row->channel];

            if (row->state != SERVED) {
                continue;
            }
            if (pass == 1) {
                judge_time(verdict, plan, row, best);
            } else {
                best[0] = lesser(best[0], row->small_least_us);
                best[1] = lesser(best[1], row->large_least_us);
            }
        }
    }
}

void verdict_find(struct verdict *verdict, const struct plan *plan, const struct rows *rows)
{
    for (int i = 0, n; i < rows->n; i += n) {
        const struct row *first = &rows->list[i];

        for (n = 1; i + n < rows->n && first[n].low == first->low && first[n].high == first->high &&
                    first[n].lane == first->lane;
             n++) {
        }
        judge_lane(verdict, plan, first, n);
    }
    if (opts.slow > 0 && !verdict->is_crowded) {
        judge_times(verdict, plan, rows);
    }
}

void verdict_settle(struct verdict *verdict)
{
    verdict->rc = verdict->n_errors > 0 ? BAD : verdict->n_slow > 0 ? SLOW : SUCCESS;
}

void verdict_free(struct verdict *verdict)
{
    free(verdict->errors);
    free(verdict->slow);
    free(verdict->nics);
}
