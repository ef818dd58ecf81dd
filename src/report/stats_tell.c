/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * In MPI_Finalize: what each rank did is told to rank 0, which prints it. */
#include "core/stats.h"

#include <mpi.h>
#include <stddef.h>

#include "core/channels.h"
#include "core/queue.h"
#include "match/control.h"
#include "match/match_channels.h"
#include "stats_table.h"
#include "util/backoff.h"
#include "util/log.h"

#define PATIENCE_S 5 /* as mpix_queue(7) says */

static bool has_table(struct mpixq_stats_table **table)
{
    int size;

    if (*table == NULL && PMPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS) {
        *table = mpixq_stats_table_create(size); /* freed in mpixq_stats_close */
    }
    return *table != NULL;
}

void mpixq_stats_record(struct mpixq_stats_table **table, const struct mpixq_record *record,
                        int source)
{
    struct mpixq_missed missed = record->u.missed.missed;

    if (!mpixq_env.stats || mpixq_log_rank != 0 || !has_table(table)) {
        return;
    }
    if (record->kind == MPIXQ_WIRE_STATS) {
        mpixq_stats_table_add(*table, source, &record->u.stats);
        return;
    }
    missed.reason = mpixq_match_reason_of(source, missed.reason);
    missed.reason = missed.reason != 0 ? missed.reason : MPIXQ_N_REASONS - 1;
    mpixq_stats_table_miss(*table, source, &missed);
}

static void add_missed(const struct mpixq_missed *missed, void *table)
{
    mpixq_stats_table_miss(table, mpixq_log_rank, missed);
}

static void send_missed(const struct mpixq_missed *missed, void *arg)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_MISSED, .u.missed.missed = *missed};
    struct mpixq_wire_channels reason = {.why_not = {missed->reason}};

    /* The text of the reason goes first. Without memory rank 0 hears of one less. */
    *(bool *)arg = mpixq_match_send(0, &record, &reason) && *(bool *)arg;
}

/* As in the end of control messages, peers may still wait for data to leave or arrive here. */
static void go_on(struct mpixq_backoff *backoff)
{
    mpixq_control_progress();
    mpixq_channels_drive();
    mpixq_backoff_pause(backoff);
}

/* Rank 0: until all have told, or nobody has for so long. */
static void await_others(const struct mpixq_stats_table *table)
{
    uint64_t since = mpixq_now_ns();
    struct mpixq_backoff backoff;
    int known = table->known;

    mpixq_backoff_begin(&backoff);
    while (table->known < table->size &&
           mpixq_now_ns() - since < PATIENCE_S * UINT64_C(1000000000)) {
        go_on(&backoff);
        since = table->known > known ? mpixq_now_ns() : since;
        known = table->known;
    }
}

/* Tell rank 0. False: it does not listen. */
static bool tell_first(const struct mpixq_stats *own)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_STATS, .u.stats = *own};
    struct mpixq_backoff backoff;
    uint64_t since, now;
    bool done = true;

    mpixq_served_each_missed(send_missed, &done);
    done = mpixq_control_send(0, &record) && done && !mpixq_control_is_strange(0);
    mpixq_backoff_begin(&backoff);
    since = now = mpixq_now_ns();
    while (done && !mpixq_control_has_taken(0)) {
        go_on(&backoff);
        now = mpixq_now_ns();
        done = now - since < PATIENCE_S * UINT64_C(1000000000) && !mpixq_control_has_lost(0, now) &&
               !mpixq_control_is_strange(0);
    }
    return done;
}

static void print(struct mpixq_stats_table *table, const struct mpixq_stats *own, const char *title)
{
    mpixq_served_each_missed(add_missed, table);
    mpixq_stats_table_add(table, mpixq_log_rank, own);
    if (mpixq_log_rank == 0) {
        await_others(table);
    }
    mpixq_stats_table_print(table, title);
}

void mpixq_stats_tell(struct mpixq_stats_table **table)
{
    struct mpixq_stats own;

    mpixq_stats_settle();
    if (!mpixq_env.stats) {
        return;
    }
    mpixq_stats_read(&own);
    if (mpixq_log_rank != 0 && tell_first(&own)) {
        return;
    }
    if (!has_table(table)) {
        mpixq_warn("no memory for the table of MPIXQ_STATS");
        return;
    }
    print(*table, &own, mpixq_log_rank == 0 ? "" : ", as rank 0 does not take them");
}

void mpixq_stats_close(struct mpixq_stats_table *table)
{
    if (table != NULL && table->is_late) {
        mpixq_stats_table_print(table, ", with those that came late");
    }
    mpixq_stats_table_free(table);
}
