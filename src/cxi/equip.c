/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What an end has whose starts a GPU counts: a doorbell that kernels ring, and a word that the NIC
 * writes for them. */
#include "ahead.h"

#include <utlist.h>

#include "check.h"
#include "eager.h"
#include "expose.h"
#include "nic.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"

enum { LIMIT_NS = 100000000 }; /* for the NIC to complete what nobody has started, at the end */

/* The beginning. */

/* Where kernels see the doorbell; NULL: they do not. To show it may wait for the GPU's library. */
static char *show(const struct cxi_counter *counter, struct cxi_nic *nic,
                  const struct mpixq_stream_kind *kind)
{
    char *bell = mpixq_exposed_to(&counter->exposed, kind);

    if (bell == NULL && counter->bell != NULL) {
        mpixq_cxi_expose(nic, kind);
        bell = mpixq_exposed_to(&counter->exposed, kind);
    }
    return bell;
}

/* R, or NULL. */
static struct cxi_counter *take_own_ring(struct cxi_nic *nic)
{
    struct cxi_counter *counter = NULL;

    if (atomic_fetch_add(&nic->n_own_rings, 1) < mpixq_cxi_counter_share()) {
        counter = mpixq_cxi_counter_take(nic);
    }
    if (counter == NULL) {
        atomic_fetch_sub(&nic->n_own_rings, 1);
    }
    return counter;
}

/* A doorbell for its starts. What rings that of its queue gets its own, if kernels see it. */
static void find_bell(struct cxi_end *end, struct cxi_ahead *ahead, struct mpixq_tally *tally,
                      const struct mpixq_stream_kind *kind)
{
    struct cxi_nic *nic = end->nic;
    struct cxi_counter *counter = end->shared ? take_own_ring(nic) : end->trigger;

    tally->bell = counter != NULL ? show(counter, nic, kind) : NULL;
    tally->is_rung = tally->bell != NULL || (counter == NULL && !end->shared);
    if (end->shared && tally->is_rung) {
        ahead->ring = counter;
        ahead->has_own_ring = true;
    } else if (end->shared && counter != NULL) {
        mpixq_lock_acquire(&nic->lock);
        mpixq_cxi_counter_put(nic, counter, true, 0);
        atomic_fetch_sub(&nic->n_own_rings, 1);
        mpixq_lock_release(&nic->lock);
    }
    if (!tally->is_rung) {
        mpixq_debug("fabric: a thread rings for starts by kernels: %s",
                    counter == NULL ? "no counter is left for it" : "GPUs do not see its doorbell");
    }
}

/* What comes to slots has to be copied before kernels may know of it. */
static void find_word(struct cxi_end *end, struct cxi_ahead *ahead, struct mpixq_tally *tally)
{
    _Atomic uint64_t *done;

    if (mpixq_cxi_has_slots(end)) {
        return;
    }
    done = mpixq_tally_done_word(tally);
    atomic_store(done, ahead->floor);
    ahead->region = mpixq_cxi_region(end->nic, done, sizeof *done, NULL);
    if (ahead->region != NULL) {
        ahead->done = done;
        ahead->words = tally->words;
        tally->is_done_by_nic = true;
    }
}

void mpixq_cxi_equip(struct mpixq_pair *pair, struct mpixq_queue *queue, struct mpixq_tally *tally)
{
    struct cxi_end *end = pair->end;
    struct cxi_ahead *ahead = NULL;

    if (end->next_share == NULL) {
        ahead = mpixq_alloc(sizeof *ahead); /* freed in mpixq_cxi_ahead_free */
    }
    if (ahead == NULL) {
        mpixq_debug("fabric: a thread rings for starts by kernels: %s",
                    end->next_share != NULL ? "the message goes in shares" : "no memory");
        return;
    }
    ahead->floor = tally->gpu.floor;
    mpixq_submission_lend(&queue->submission);
    find_bell(end, ahead, tally, queue->stream->kind);
    find_word(end, ahead, tally);
    mpixq_submission_reclaim(&queue->submission);
    mpixq_lock_acquire(&end->nic->lock);
    atomic_store_explicit(&end->ahead, ahead, memory_order_release);
    if (tally->is_rung) {
        ahead->is_listed = true;
        end->nic->counts.rung_by_gpus++;
        DL_APPEND2(end->nic->ahead, end, prev_ahead, next_ahead);
    }
    mpixq_lock_release(&end->nic->lock);
}

/* The end. No entry can be taken back from a NIC. But those that wait for a counter are cancelled
 * when that is closed: so writes and clear-to-sends are, which go to the peer. (What the provider
 * keeps for a write stays until the endpoint is closed.) Completions are executed, in a word here
 * that nobody looks at any more. */

/* What rings the first operations of the starts, if that is its own. NULL: nothing waits for it. */
static struct cxi_counter *take_ring(struct cxi_end *end, struct cxi_ahead *ahead)
{
    struct cxi_counter *counter = ahead->ring != NULL ? ahead->ring : end->trigger;

    if (ahead->ring != NULL) {
        ahead->ring = NULL;
    } else {
        end->trigger = NULL;
    }
    return counter;
}

/* Have W, or D, show what the completions of the starts wait for, and count what these add: each
 * its own end, where ends are counted. */
static void let_complete(const struct cxi_end *end, struct cxi_ahead *ahead, uint64_t starts)
{
    uint64_t n = mpixq_cxi_counted(end);

    for (uint64_t epoch = starts + 1; epoch <= end->newest->epoch; epoch++) {
        (void)fi_cntr_add(mpixq_cxi_counts_in(end, epoch)->fid, n);
        ahead->extra[mpixq_cxi_has_slots(end) ? epoch % CXI_SLOTS : 1] +=
            n + (epoch <= end->settled && end->own > 0);
    }
}

/* Notices of delivery would go to the peer, and fail if that has closed what they go to, without a
 * name: nobody could tell this failure from one of another pair. They are left where they are. */
static bool tells(const struct cxi_end *end)
{
    return end->is_send && end->delivered;
}

/* For which the provider keeps something. */
static unsigned count_writes(const struct cxi_end *end)
{
    const struct cxi_entry *entry;
    unsigned n = 0;

    LL_FOREACH(end->entries, entry)
    {
        n += entry->is_write && entry->u.write.local.iov_len > 0;
    }
    return n;
}

static int count_left(const struct cxi_end *end)
{
    const struct cxi_entry *entry;
    int n = 0;

    LL_FOREACH(end->entries, entry)
    {
        n += entry->work.triggering_cntr == end->written->fid;
    }
    return n;
}

static bool await_completion(struct cxi_end *end)
{
    uint64_t until_ns = mpixq_now_ns() + LIMIT_NS;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (mpixq_cxi_done(end) < end->settled && mpixq_now_ns() < until_ns) {
        if (end->nic->quirks->software) {
            mpixq_cxi_read(end->nic); /* nothing moves else */
        }
        mpixq_backoff_pause(&backoff);
    }
    return mpixq_cxi_done(end) >= end->settled;
}

bool mpixq_cxi_disarm(struct cxi_end *end, uint64_t starts)
{
    struct cxi_ahead *ahead = atomic_load(&end->ahead);
    struct cxi_nic *nic = end->nic;
    struct cxi_counter *counter = NULL;
    bool is_armed, is_over;

    mpixq_lock_acquire(&nic->lock);
    mpixq_cxi_entries_reap(end);
    is_armed = ahead != NULL && end->entries != NULL; /* of starts that nobody has made */
    if (is_armed) {
        counter = take_ring(end, ahead);
        nic->counts.cancelled += count_writes(end);
        nic->counts.left += tells(end) ? count_left(end) : 0;
    }
    mpixq_lock_release(&nic->lock);
    if (!is_armed || !mpixq_cxi_counter_close(nic, counter) || tells(end)) {
        return false;
    }
    mpixq_lock_acquire(&nic->lock);
    let_complete(end, ahead, starts);
    mpixq_lock_release(&nic->lock);
    is_over = await_completion(end);
    if (is_over) {
        mpixq_lock_acquire(&nic->lock);
        mpixq_cxi_entries_over(end);
        mpixq_lock_release(&nic->lock);
    }
    return is_over;
}

void mpixq_cxi_ahead_put(struct cxi_end *end, bool clean, uint64_t starts)
{
    struct cxi_ahead *ahead = atomic_load(&end->ahead);

    if (ahead != NULL) {
        atomic_fetch_sub(&end->nic->n_own_rings, ahead->has_own_ring);
        mpixq_cxi_counter_put(end->nic, ahead->ring, clean, starts - ahead->floor);
    }
}

/* What failed there would have no name. */
void mpixq_cxi_ahead_free(struct cxi_end *end, bool left)
{
    struct cxi_ahead *ahead = atomic_load(&end->ahead);
    struct cxi_nic *nic = end->nic;

    if (ahead != NULL && ahead->words != NULL && left) {
        mpixq_lock_acquire(&nic->lock);
        LL_PREPEND2(nic->ahead_left, ahead, next_left);
        mpixq_lock_release(&nic->lock);
        return;
    }
    if (ahead != NULL && ahead->words != NULL) {
        mpixq_cxi_region_close(&ahead->region);
        mpixq_tally_return(ahead->words);
    }
    mpixq_free(ahead);
}

void mpixq_cxi_ahead_close(struct cxi_nic *nic)
{
    struct cxi_ahead *ahead;

    while ((ahead = nic->ahead_left) != NULL) {
        LL_DELETE2(nic->ahead_left, ahead, next_left);
        mpixq_cxi_region_close(&ahead->region);
        mpixq_free(ahead);
    }
}
