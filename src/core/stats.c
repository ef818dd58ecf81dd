/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What queues and pairs did that are gone. */
#include <stddef.h>

#include "channel.h"
#include "queue.h"
#include "stats.h"
#include "thread.h"

struct mpixq_stats mpixq_stats_own;
static struct mpixq_spin lock = MPIXQ_SPIN_INITIALIZER;

void mpixq_stats_queue(const struct mpixq_queue *queue)
{
    mpixq_spin_lock(&lock);
    mpixq_stats_own.queues++;
    mpixq_stats_own.by_host -= queue->starts; /* of all starts, which pairs tell */
    mpixq_stats_own.waits += queue->waits;
    mpixq_stats_own.launches += queue->launches;
    mpixq_stats_own.posts += atomic_load(&queue->posts);
    mpixq_stats_own.rings += atomic_load(&queue->rings);
    mpixq_stats_own.stalls += atomic_load(&queue->stalls);
    mpixq_spin_unlock(&lock);
}

void mpixq_stats_pair(const struct mpixq_pair *pair)
{
    uint64_t starts = mpixq_pair_started(pair);
    struct mpixq_stats_channel *of;

    if (pair->channel == NULL) {
        return;
    }
    mpixq_spin_lock(&lock);
    of = &mpixq_stats_own.of[pair->channel->id];
    mpixq_stats_own.starts += starts;
    mpixq_stats_own.by_host += starts;
    of->starts += starts;
    *(mpixq_pair_is_send(pair) ? &of->sent : &of->received) += starts * pair->bytes;
    mpixq_spin_unlock(&lock);
}
