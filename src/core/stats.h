/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What this process has done, for tools (performance variables, src/pmpi/tool.c) and for
 * MPIXQ_STATS: what each rank and all together have done, as a table at MPI_Finalize.
 *
 * Nothing is counted for it where it can be derived. Queues have their counts, and a pair its
 * starts and the bytes of each; both are added up when they go, and looked at while they are there.
 * A partitioned request has the starts, and its parts have what goes by channels. A window counts
 * its puts and gets, with bytes; its memory is kept, and so are these (src/rma/counts.c).
 *
 * In MPI_Finalize every rank tells rank 0, by control messages, which prints a line for each and
 * one for all. Nobody has to be there for that: rank 0 prints what it has when it has heard of
 * nobody else for some seconds, and all again should the others come later; a rank that rank 0 does
 * not listen to prints its own line.
 */
#ifndef MPIXQ_STATS_H
#define MPIXQ_STATS_H

#include <stdint.h>

#include "util/channel_set.h"

struct mpixq_queue;
struct mpixq_pair;
struct mpixq_record;

/* How puts and gets went: by messages of MPI; the data of some of these was read out of the memory
 * of the other process; by copies into memory that both share; by NICs; by GPUs; within the
 * process. */
enum mpixq_stats_way {
    MPIXQ_WAY_MESSAGES,
    MPIXQ_WAY_READ,
    MPIXQ_WAY_SHARED,
    MPIXQ_WAY_NICS,
    MPIXQ_WAY_GPUS,
    MPIXQ_WAY_SELF,
    MPIXQ_N_WAYS
};

struct mpixq_stats_moved {
    uint64_t transfers, bytes;
};

/* Of windows. Without what graphs and kernels put, of which the host is not told. */
struct mpixq_stats_rma {
    uint64_t windows, puts, by_host; /* puts: all, those by the host included */
    uint64_t of_graphs;              /* of them: that a thread has made for graphs */
    uint64_t gets, bytes_put, bytes_got;
    uint64_t waits, resets; /* of signals */
    struct mpixq_stats_moved by[MPIXQ_N_WAYS];
};

/* Of one rank. Travels as it stands (wire.h). */
struct mpixq_stats {
    uint64_t queues, starts, by_host; /* starts: all, those by the host included */
    uint64_t waits, launches, posts, rings, stalls;
    struct mpixq_stats_channel {
        uint64_t pairs, starts;
        uint64_t sent, received; /* bytes of the messages of these starts */
    } of[MPIXQ_N_CHANNELS];
    struct mpixq_stats_rma rma;
};

/* Of this process, at any time: before MPI_Init, after MPI_Finalize, in any thread that holds
 * neither the matching lock nor the submission lock of a queue. Counts never decrease. */
void mpixq_stats_read(struct mpixq_stats *stats_p);

/* A queue is freed, under its submission lock. A pair is, under the matching lock. */
void mpixq_stats_queue(const struct mpixq_queue *queue);
void mpixq_stats_pair(const struct mpixq_pair *pair);
/* Add what a queue, and a matched pair, have done so far. */
void mpixq_stats_add_queue(struct mpixq_stats *stats, const struct mpixq_queue *queue);
void mpixq_stats_add_pair(struct mpixq_stats *stats, const struct mpixq_pair *pair);
/* What queues did that are gone, whose number changes with each, and what pairs did. In the
 * former starts are those by queues. */
void mpixq_stats_gone(struct mpixq_stats *queues_p, struct mpixq_stats *pairs_p);
/* In MPI_Finalize, when nothing is started any more: the records of requests are about to go. */
void mpixq_stats_settle(void);

/* What is known of ranks that may be ahead of this one in MPI_Finalize; NULL: of none. Kept by the
 * caller of these functions, which make and free it. */
struct mpixq_stats_table;
/* A rank has told what it did, or how often a better channel did not serve. Under the matching
 * lock. */
void mpixq_stats_record(struct mpixq_stats_table **table, const struct mpixq_record *record,
                        int source);
/* In MPI_Finalize, when no queue is left and before control messages end: tell, or be told, and
 * print. And when they have ended. */
void mpixq_stats_tell(struct mpixq_stats_table **table);
void mpixq_stats_close(struct mpixq_stats_table *table);

#endif
