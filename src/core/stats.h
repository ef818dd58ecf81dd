/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_STATS: what each rank and all together have done, as a table at MPI_Finalize.
 *
 * Nothing is counted for it. Queues have their counts, and a pair its starts and the bytes of
 * each; both are added up when they go.
 *
 * In MPI_Finalize every rank tells rank 0, by control messages, which prints a line for each and
 * one for all. Nobody has to be there for that: rank 0 prints what it has when it has heard of
 * nobody else for some seconds, and all again should the others come later; a rank that rank 0 does
 * not listen to prints its own line.
 */
#ifndef MPIXQ_STATS_H
#define MPIXQ_STATS_H

#include <stdint.h>

#include "channel_set.h"

struct mpixq_queue;
struct mpixq_pair;
struct mpixq_record;

/* Of one rank. Travels as it stands (wire.h). */
struct mpixq_stats {
    uint64_t queues, starts, by_host; /* starts: all, those by the host included */
    uint64_t waits, launches, posts, rings, stalls;
    struct mpixq_stats_channel {
        uint64_t pairs, starts;
        uint64_t sent, received; /* bytes of the messages of these starts */
    } of[MPIXQ_N_CHANNELS];
};

/* Of this process: of queues and pairs that are gone, until mpixq_stats_tell adds the others. */
extern struct mpixq_stats mpixq_stats_own;

/* A queue is freed; in its turn. A pair is, under the matching lock. */
void mpixq_stats_queue(const struct mpixq_queue *queue);
void mpixq_stats_pair(const struct mpixq_pair *pair);

/* A rank has told what it did, or how often a better channel did not serve. Under the matching
 * lock. */
void mpixq_stats_record(const struct mpixq_record *record, int source);

/* In MPI_Finalize, when no queue is left and before control messages end: tell, or be told, and
 * print. And when they have ended. */
void mpixq_stats_tell(void);
void mpixq_stats_close(void);

#endif
