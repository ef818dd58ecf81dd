/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What queues and pairs did that are gone. */
#include "stats.h"

#include <stddef.h>

#include "channel.h"
#include "parted.h"
#include "queue.h"
#include "request.h"
#include "util/thread.h"

static struct {
    struct mpixq_spin lock;
    struct mpixq_stats queues, pairs;
} gone = {.lock = MPIXQ_SPIN_INITIALIZER};

void mpixq_stats_add_queue(struct mpixq_stats *stats, const struct mpixq_queue *queue)
{
    stats->queues++;
    stats->starts += queue->starts;
    stats->waits += queue->waits;
    stats->launches += queue->launches;
    stats->posts += atomic_load(&queue->posts);
    stats->rings += atomic_load(&queue->rings);
    stats->stalls += atomic_load(&queue->stalls);
}

void mpixq_stats_add_pair(struct mpixq_stats *stats, const struct mpixq_pair *pair)
{
    uint64_t starts = mpixq_pair_started(pair);
    struct mpixq_stats_channel *of;

    if (pair->channel == NULL) {
        return;
    }
    if (pair->owner == NULL || !pair->owner->is_part) {
        stats->starts += starts;
    }
    if (pair->owner != NULL && mpixq_request_is_parted(pair->owner) &&
        pair->channel != &mpixq_channel_null) { /* what goes by channels are its parts */
        return;
    }
    of = &stats->of[pair->channel->id];
    of->starts += starts;
    *(mpixq_pair_is_send(pair) ? &of->sent : &of->received) += starts * pair->bytes;
}

void mpixq_stats_queue(const struct mpixq_queue *queue)
{
    mpixq_spin_lock(&gone.lock);
    mpixq_stats_add_queue(&gone.queues, queue);
    mpixq_spin_unlock(&gone.lock);
}

void mpixq_stats_pair(const struct mpixq_pair *pair)
{
    mpixq_spin_lock(&gone.lock);
    mpixq_stats_add_pair(&gone.pairs, pair);
    mpixq_spin_unlock(&gone.lock);
}

void mpixq_stats_gone(struct mpixq_stats *queues_p, struct mpixq_stats *pairs_p)
{
    mpixq_spin_lock(&gone.lock);
    *queues_p = gone.queues;
    *pairs_p = gone.pairs;
    mpixq_spin_unlock(&gone.lock);
}
