/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What this process has done so far: those that are gone, and those that are there. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/parted.h"
#include "core/served.h"
#include "core/stats.h"
#include "match/match_internal.h"
#include "queue/queues.h"
#include "rma/rma.h"
#include "util/thread.h"

static struct {
    bool is_settled; /* under the matching lock, as is what requests came to then */
    struct mpixq_stats settled;
    struct mpixq_spin lock; /* of the most that was told so far of each count */
    uint64_t most[sizeof(struct mpixq_stats) / sizeof(uint64_t)];
} kept = {.lock = MPIXQ_SPIN_INITIALIZER};

static void add_request(struct mpixq_request *req, void *sum)
{
    const struct mpixq_parted *parted;

    if (mpixq_request_state(req) <= MPIXQ_MATCHING) {
        return;
    }
    mpixq_stats_add_pair(sum, &req->pair);
    parted = mpixq_parted_of(req);
    for (int i = 0; parted != NULL && i < parted->n_room; i++) {
        if (parted->parts[i] != NULL) { /* not gone */
            mpixq_stats_add_pair(sum, &parted->parts[i]->pair);
        }
    }
}

static void add_queue(struct mpixq_queue *queue, void *sum)
{
    mpixq_stats_add_queue(sum, queue);
}

/* Under the matching lock, under which requests are matched and released: none is found twice. */
static void read_requests(struct mpixq_stats *sum_p)
{
    struct mpixq_stats queues;

    if (kept.is_settled) {
        *sum_p = kept.settled;
        return;
    }
    mpixq_stats_gone(&queues, sum_p);
    mpixq_request_each(add_request, sum_p);
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        sum_p->of[id].pairs = mpixq_served_pairs(id);
    }
}

/* A queue that goes meanwhile would be found twice or never: look again. */
static void read_queues(struct mpixq_stats *sum_p)
{
    struct mpixq_stats now, requests;
    uint64_t gone;

    mpixq_stats_gone(sum_p, &requests);
    do {
        gone = sum_p->queues;
        mpixq_queues_each(add_queue, sum_p);
        mpixq_stats_gone(&now, &requests);
        if (now.queues != gone) {
            *sum_p = now;
        }
    } while (now.queues != gone);
}

/* A request that is being freed, or a start that is being made, is found or not. So the most that
 * was ever found of each count is right. */
static void keep_most(struct mpixq_stats *stats)
{
    uint64_t found[sizeof kept.most / sizeof kept.most[0]];

    memcpy(found, stats, sizeof found);
    mpixq_spin_lock(&kept.lock);
    for (size_t i = 0; i < sizeof kept.most / sizeof kept.most[0]; i++) {
        kept.most[i] = found[i] > kept.most[i] ? found[i] : kept.most[i];
    }
    memcpy(stats, kept.most, sizeof kept.most);
    mpixq_spin_unlock(&kept.lock);
}

void mpixq_stats_read(struct mpixq_stats *stats_p)
{
    struct mpixq_stats queues;

    mpixq_match_enter();
    read_requests(stats_p);
    mpixq_match_leave();
    read_queues(&queues);
    /* Requests count all starts, queues theirs, both under the submission lock. As requests were
     * looked at first, what is left for the host may be too little, and never too much. */
    stats_p->by_host = stats_p->starts > queues.starts ? stats_p->starts - queues.starts : 0;
    stats_p->queues = queues.queues;
    stats_p->waits = queues.waits;
    stats_p->launches = queues.launches;
    stats_p->posts = queues.posts;
    stats_p->rings = queues.rings;
    stats_p->stalls = queues.stalls;
    mpixq_rma_stats(&stats_p->rma);
    keep_most(stats_p);
}

void mpixq_stats_settle(void)
{
    mpixq_match_enter();
    read_requests(&kept.settled);
    kept.is_settled = true;
    mpixq_match_leave();
}
