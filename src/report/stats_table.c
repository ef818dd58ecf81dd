/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "stats_table.h"

#include <stddef.h>
#include <stdio.h>

#include "util/alloc.h"
#include "util/log.h"

enum { ROOM = 128 };

struct mpixq_stats_table *mpixq_stats_table_create(int size)
{
    struct mpixq_stats_table *table = mpixq_alloc(sizeof *table); /* freed in table_free */

    if (table == NULL) {
        return NULL;
    }
    table->size = size;
    table->rows = mpixq_alloc((size_t)size * sizeof *table->rows);
    if (table->rows == NULL) {
        mpixq_free(table);
        return NULL;
    }
    return table;
}

void mpixq_stats_table_free(struct mpixq_stats_table *table)
{
    if (table != NULL) {
        mpixq_free(table->rows);
        mpixq_free(table);
    }
}

void mpixq_stats_table_add(struct mpixq_stats_table *table, int rank,
                           const struct mpixq_stats *counts)
{
    struct mpixq_stats_row *row = &table->rows[rank];

    if (!row->is_known) {
        row->is_known = true;
        row->counts = *counts;
        table->known++;
        table->is_late = table->was_printed;
    }
}

void mpixq_stats_table_miss(struct mpixq_stats_table *table, int rank,
                            const struct mpixq_missed *missed)
{
    struct mpixq_stats_missed *m = &table->missed[missed->served][missed->better][missed->reason];

    if (table->rows[rank].is_known) {
        return;
    }
    m->first = m->ranks == 0 || rank < m->first ? rank : m->first;
    m->ranks++;
    m->all += missed->all;
    m->at_peer += missed->at_peer;
}

static void add_up_rma(struct mpixq_stats_rma *sum, const struct mpixq_stats_rma *counts)
{
    sum->windows += counts->windows;
    sum->puts += counts->puts;
    sum->by_host += counts->by_host;
    sum->of_graphs += counts->of_graphs;
    sum->gets += counts->gets;
    sum->bytes_put += counts->bytes_put;
    sum->bytes_got += counts->bytes_got;
    sum->waits += counts->waits;
    sum->resets += counts->resets;
    for (int way = 0; way < MPIXQ_N_WAYS; way++) {
        sum->by[way].transfers += counts->by[way].transfers;
        sum->by[way].bytes += counts->by[way].bytes;
    }
}

static void add_up(struct mpixq_stats *sum, const struct mpixq_stats *counts)
{
    sum->queues += counts->queues;
    sum->starts += counts->starts;
    sum->by_host += counts->by_host;
    sum->waits += counts->waits;
    sum->launches += counts->launches;
    sum->posts += counts->posts;
    sum->rings += counts->rings;
    sum->stalls += counts->stalls;
    for (int id = 0; id < MPIXQ_N_CHANNELS; id++) {
        sum->of[id].pairs += counts->of[id].pairs;
        sum->of[id].starts += counts->of[id].starts;
        sum->of[id].sent += counts->of[id].sent;
        sum->of[id].received += counts->of[id].received;
    }
    add_up_rma(&sum->rma, &counts->rma);
}

/* "2 fallback, 2 self": pairs by channel. */
static const char *pairs_text(const struct mpixq_stats *counts, char text[ROOM])
{
    size_t used = 0;

    (void)snprintf(text, ROOM, "none");
    for (uint32_t id = MPIXQ_N_CHANNELS; id-- > 0;) {
        if (counts->of[id].pairs > 0) {
            used +=
                (size_t)snprintf(text + used, ROOM - used, "%s%llu %s", used > 0 ? ", " : "",
                                 (unsigned long long)counts->of[id].pairs, mpixq_channel_name(id));
        }
    }
    return text;
}

typedef unsigned long long count;

static void print_row(const char *name, const struct mpixq_stats *c)
{
    count sent = 0, received = 0;
    char text[ROOM];

    for (int id = 0; id < MPIXQ_N_CHANNELS; id++) {
        sent += c->of[id].sent;
        received += c->of[id].received;
    }
    mpixq_print("stats: %7s %6llu %9llu %8llu %9llu %8llu %9llu %9llu %6llu %14llu %14llu  %s",
                name, (count)c->queues, (count)c->starts, (count)c->by_host, (count)c->waits,
                (count)c->launches, (count)c->posts, (count)c->rings, (count)c->stalls, sent,
                received, pairs_text(c, text));
}

static void print_channels(const struct mpixq_stats *sum)
{
    mpixq_print("stats: %8s %8s %9s %14s %14s", "channel", "pairs", "starts", "bytes sent",
                "received");
    for (uint32_t id = MPIXQ_N_CHANNELS; id-- > 0;) {
        const struct mpixq_stats_channel *of = &sum->of[id];

        if (of->pairs + of->starts > 0) {
            mpixq_print("stats: %8s %8llu %9llu %14llu %14llu", mpixq_channel_name(id),
                        (count)of->pairs, (count)of->starts, (count)of->sent, (count)of->received);
        }
    }
}

/* ---- Windows, where there were any ---- */

static const char *const ways[MPIXQ_N_WAYS] = {
    [MPIXQ_WAY_MESSAGES] = "messages", [MPIXQ_WAY_READ] = "read", [MPIXQ_WAY_SHARED] = "shared",
    [MPIXQ_WAY_NICS] = "NICs",         [MPIXQ_WAY_GPUS] = "GPUs", [MPIXQ_WAY_SELF] = "self",
};

/* "12 messages, 4 of them read, 2 self": puts and gets by the way they went. */
static const char *ways_text(const struct mpixq_stats_rma *counts, char text[ROOM])
{
    size_t used = 0;

    (void)snprintf(text, ROOM, "none");
    for (int way = 0; way < MPIXQ_N_WAYS; way++) {
        if (counts->by[way].transfers > 0) {
            used += (size_t)snprintf(text + used, ROOM - used, "%s%llu %s%s", used > 0 ? ", " : "",
                                     (count)counts->by[way].transfers,
                                     way == MPIXQ_WAY_READ ? "of them " : "", ways[way]);
        }
    }
    return text;
}

static void print_rma_row(const char *name, const struct mpixq_stats_rma *c)
{
    char text[ROOM];

    mpixq_print("stats: %7s %7llu %9llu %8llu %9llu %9llu %8llu %14llu %14llu  %s", name,
                (count)c->windows, (count)c->puts, (count)c->by_host, (count)c->gets,
                (count)c->waits, (count)c->resets, (count)c->bytes_put, (count)c->bytes_got,
                ways_text(c, text));
}

static void print_rma(const struct mpixq_stats_table *table, const struct mpixq_stats_rma *sum)
{
    char name[16];

    if (sum->windows == 0) {
        return;
    }
    mpixq_print("stats: %7s %7s %9s %8s %9s %9s %8s %14s %14s  %s", "rank", "windows", "puts",
                "by host", "gets", "waits", "resets", "bytes put", "got", "puts and gets by way");
    for (int i = 0; i < table->size; i++) {
        if (table->rows[i].is_known) {
            (void)snprintf(name, sizeof name, "%d", i);
            print_rma_row(name, &table->rows[i].counts.rma);
        }
    }
    if (table->known > 1) {
        print_rma_row("all", sum);
    }
    if (sum->of_graphs > 0) {
        mpixq_print("stats: %llu puts of graphs were made by threads, as no NIC had them",
                    (count)sum->of_graphs);
    }
    mpixq_print("stats: %8s %9s %14s", "way", "transfers", "bytes");
    for (int way = 0; way < MPIXQ_N_WAYS; way++) {
        if (sum->by[way].transfers > 0) {
            mpixq_print("stats: %8s %9llu %14llu%s", ways[way], (count)sum->by[way].transfers,
                        (count)sum->by[way].bytes,
                        way == MPIXQ_WAY_READ ? "  of those by messages" : "");
        }
    }
}

/* ---- The table ---- */

static void print_missed(uint32_t served, uint32_t better, uint8_t reason,
                         const struct mpixq_stats_missed *m)
{
    char peer[48] = "", ranks[64];

    if (m->at_peer > 0) {
        (void)snprintf(peer, sizeof peer, " (at the peer: %llu)", (count)m->at_peer);
    }
    (void)snprintf(ranks, sizeof ranks, m->ranks > 1 ? "%d ranks, the first %d" : "%d rank, %d",
                   m->ranks, m->first);
    mpixq_print("stats: %llu pairs by %s, not by %s: %s%s, on %s", (count)m->all,
                mpixq_channel_name(served), mpixq_channel_name(better), mpixq_reason_text(reason),
                peer, ranks);
}

static void print_all_missed(const struct mpixq_stats_table *table)
{
    for (uint32_t id = MPIXQ_N_CHANNELS; id-- > 0;) {
        for (uint32_t better = MPIXQ_N_CHANNELS; better-- > 0;) {
            for (int i = 0; i < MPIXQ_N_REASONS; i++) {
                if (table->missed[id][better][i].ranks > 0) {
                    print_missed(id, better, (uint8_t)i, &table->missed[id][better][i]);
                }
            }
        }
    }
}

void mpixq_stats_table_print(struct mpixq_stats_table *table, const char *title)
{
    struct mpixq_stats sum = {0};
    char name[16];

    mpixq_print("stats of %d of %d ranks%s", table->known, table->size, title);
    mpixq_print("stats: %7s %6s %9s %8s %9s %8s %9s %9s %6s %14s %14s  %s", "rank", "queues",
                "starts", "by host", "waits", "launches", "posts", "rings", "stalls", "bytes sent",
                "received", "pairs by channel");
    for (int i = 0; i < table->size; i++) {
        if (table->rows[i].is_known) {
            (void)snprintf(name, sizeof name, "%d", i);
            print_row(name, &table->rows[i].counts);
            add_up(&sum, &table->rows[i].counts);
        }
    }
    if (table->known > 1) {
        print_row("all", &sum);
    }
    print_channels(&sum);
    print_all_missed(table);
    print_rma(table, &sum.rma);
    table->was_printed = true;
    table->is_late = false;
}
