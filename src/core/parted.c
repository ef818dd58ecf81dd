/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "parted.h"

#include <stddef.h>
#include <utlist.h>

#include "channels.h"
#include "failure.h"
#include "queue.h"
#include "stream/op.h"
#include "tally.h"
#include "trace_pairs.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

/* Those that are started and not complete. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_parted *first;
    atomic_int n; /* written under the lock */
} listed = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_PARTITIONS)};

void mpixq_parted_free_parts(struct mpixq_parted *parted)
{
    for (int i = 0; i < parted->n_room; i++) {
        if (parted->parts[i] != NULL) {
            mpixq_request_destroy(parted->parts[i]);
        }
    }
    mpixq_free(parted->parts);
    parted->parts = NULL;
    parted->n_room = parted->n_used = 0;
}

bool mpixq_parted_make_room(struct mpixq_parted *parted, int n)
{
    mpixq_parted_free_parts(parted);
    /* Freed in free_parts. */
    parted->parts = mpixq_alloc(((size_t)n + 1) * sizeof(struct mpixq_request *));
    return parted->parts != NULL;
}

void mpixq_parted_list(struct mpixq_parted *parted)
{
    bool was_listed;

    mpixq_lock_acquire(&listed.lock);
    was_listed = parted->is_listed;
    if (!was_listed) {
        DL_APPEND(listed.first, parted);
        parted->is_listed = true;
        atomic_fetch_add(&listed.n, 1);
    }
    mpixq_lock_release(&listed.lock);
    if (!was_listed) {
        atomic_fetch_add(&mpixq_progress.outstanding, 1);
    }
}

/* The progress thread has the lock when it finds that they are complete. */
void mpixq_parted_unlist(struct mpixq_parted *parted, bool has_lock)
{
    bool was_listed;

    if (!has_lock) {
        mpixq_lock_acquire(&listed.lock);
    }
    was_listed = parted->is_listed;
    if (was_listed) {
        DL_DELETE(listed.first, parted);
        parted->is_listed = false;
        atomic_fetch_sub(&listed.n, 1);
    }
    if (!has_lock) {
        mpixq_lock_release(&listed.lock);
    }
    if (was_listed) {
        atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    }
}

void mpixq_parted_drive(void)
{
    struct mpixq_parted *parted, *next;

    if (atomic_load(&listed.n) == 0 || !mpixq_lock_try(&listed.lock)) {
        return;
    }
    DL_FOREACH_SAFE(listed.first, parted, next)
    {
        parted->go_on(parted->pair, true);
    }
    mpixq_lock_release(&listed.lock);
}

void mpixq_parted_start(struct mpixq_request *part)
{
    struct mpixq_op list[MPIXQ_PAIR_OPS];
    struct mpixq_pair *pair = &part->pair;
    int n;

    mpixq_pair_count_start(pair, true);
    n = pair->channel->start(NULL, &pair, 1, list);
    for (int i = 0; i < n; i++) {
        list[i].u.call(&list[i].arg, 1, false);
    }
}

void mpixq_parted_fail(struct mpixq_pair *pair, struct mpixq_pair *part)
{
    int code = atomic_load(&part->error);

    if (!mpixq_pair_has_failed(pair)) {
        mpixq_failure_of(pair->id, code != MPI_SUCCESS ? code : mpixq_pair_peer_failed(part),
                         pair->owner->is_collective ? "collective" : "partition");
    }
}

bool mpixq_parted_look_at(struct mpixq_pair *pair, struct mpixq_request *part, uint64_t start)
{
    if (mpixq_pair_done(&part->pair) >= start) {
        return true;
    }
    if (mpixq_pair_started(&part->pair) >= start) {
        mpixq_channel_progress_wait(&part->pair);
        (void)part->pair.channel->poll(&part->pair);
    }
    if (mpixq_pair_has_failed(&part->pair)) {
        mpixq_parted_fail(pair, &part->pair);
    }
    return mpixq_pair_done(&part->pair) >= start;
}

void mpixq_parted_complete(struct mpixq_parted *parted, uint64_t start, bool has_lock)
{
    for (int i = 0; i < parted->n_used; i++) {
        mpixq_channel_report_failures(parted->parts[i]->pair.channel);
        if (mpixq_pair_has_failed(&parted->parts[i]->pair)) {
            mpixq_parted_fail(parted->pair, &parted->parts[i]->pair);
            return;
        }
    }
    mpixq_parted_unlist(parted, has_lock);
    mpixq_trace_completed(parted->pair);
    mpixq_pair_raise_done(parted->pair, start);
}

/* The channels. */

void mpixq_parted_run(void *const args[], int n, mpixq_parted_start_fn *start)
{
    struct mpixq_queue *queue = atomic_load(&((struct mpixq_pair *)args[0])->queue);

    for (int i = 0; i < n; i++) {
        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(args[i]);
        } else {
            start(args[i], queue);
        }
    }
    if (atomic_load(&listed.n) > 0) {
        mpixq_progress_wake();
    }
}

void mpixq_parted_progress_wait(struct mpixq_pair *pair)
{
    ((struct mpixq_parted *)pair->end)->go_on(pair, false);
}

static void go_on_with(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        mpixq_parted_progress_wait(args[i]);
    }
}

int mpixq_parted_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    mpixq_tally_wait(queue, pair, go_on_with, op);
    return 1;
}

bool mpixq_parted_poll(struct mpixq_pair *pair)
{
    return mpixq_pair_is_complete(pair);
}

void mpixq_parted_recall(struct mpixq_pair *pair)
{
    struct mpixq_parted *parted = pair->end;

    mpixq_parted_unlist(parted, false);
    for (int i = 0; i < parted->n_used; i++) {
        if (parted->parts[i] != NULL) { /* not let go of */
            mpixq_channel_recall(&parted->parts[i]->pair);
        }
    }
}

bool mpixq_parted_has_lost(struct mpixq_pair *pair)
{
    const struct mpixq_parted *parted = pair->end;

    for (int i = 0; i < parted->n_used; i++) {
        if (mpixq_channel_has_lost(&parted->parts[i]->pair)) {
            return true;
        }
    }
    return false;
}
