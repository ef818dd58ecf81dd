/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues, and the arming of their starts: in the order of the log, by whoever comes first, which is
 * the progress thread, a thread that waits, or the one that executes the stream, just before it
 * rings. */
#include <stddef.h>
#include <utlist.h>

#include "ahead.h"
#include "chain.h"
#include "check.h"
#include "eager.h"
#include "nic.h"
#include "start_log.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/lock.h"

/* Under one hold of the lock as many starts are armed, of those not needed yet; and as many of each
 * queue are looked at, as those that lack their credit stay where they are. */
enum { AT_ONCE = 64, LOOKS = 256 };

/* Queues. */

bool mpixq_cxi_queue_open(struct cxi_queue *cxq, struct cxi_nic *nic, struct mpixq_queue *queue,
                          uint64_t log)
{
    cxq->queue = queue;
    cxq->nic = nic;
    if (log > 0) {
        cxq->mask = log - 1;
        cxq->log = mpixq_alloc(log * sizeof *cxq->log); /* freed in mpixq_cxi_queue_close */
        if (cxq->log == NULL) {
            return false;
        }
    }
    cxq->shared = mpixq_cxi_counter_take(nic);
    mpixq_lock_acquire(&nic->lock);
    DL_APPEND(nic->queues, cxq);
    mpixq_lock_release(&nic->lock);
    return true;
}

void mpixq_cxi_queue_close(struct cxi_queue *cxq)
{
    struct cxi_nic *nic = cxq->nic;
    struct cxi_end *end;

    mpixq_lock_acquire(&nic->lock);
    while (log_first(cxq) != NULL) {
        log_pop(cxq);
    }
    DL_FOREACH(nic->ends, end)
    {
        if (end->queue == cxq) {
            end->queue = NULL;
        }
    }
    assert(cxq->rung <= cxq->issued);
    /* If it was rung for all that it was posted for, nothing waits for it any more. */
    mpixq_cxi_counter_put(nic, cxq->shared, cxq->issued == cxq->rung, cxq->rung);
    DL_DELETE(nic->queues, cxq);
    mpixq_lock_release(&nic->lock);
    mpixq_free(cxq->log);
}

/* Arming. */

void mpixq_cxi_count_posts(const struct cxi_end *end, uint64_t n)
{
    if (end->queue != NULL && end->queue->queue != NULL) {
        atomic_fetch_add_explicit(&end->queue->queue->posts, n, memory_order_relaxed);
    }
}

static bool has_room(const struct cxi_end *end)
{
    uint32_t left = mpixq_cxi_n_ops(end) - end->posted;

    return left <= (uint32_t)mpixq_cxi_shares_room(&end->nic->shares);
}

static bool make_room(const struct cxi_end *end)
{
    struct cxi_end *other;

    if (!has_room(end)) {
        DL_FOREACH(end->nic->ends, other)
        {
            mpixq_cxi_entries_reap(other);
        }
    }
    if (!has_room(end)) {
        mpixq_cxi_shares_ask(&end->nic->shares, end->nic->in_use);
    }
    return has_room(end);
}

static const char no_room[] = "start, for which no counter has room,";

/* Would a counter of the provider wrap? */
static bool is_used_up(const struct cxi_end *end, uint64_t epoch, uint64_t ring)
{
    uint64_t max = end->nic->quirks->counter_max / 2; /* the other half is the base, at most */

    return ring > max || epoch > max / mpixq_cxi_rings_and_clears(end) ||
           epoch > max / mpixq_cxi_counted(end);
}

void mpixq_cxi_fail_if_used_up(struct cxi_end *end, uint64_t epoch, uint64_t ring)
{
    if (is_used_up(end, epoch, ring)) {
        mpixq_cxi_fail(end, no_room, FI_EOVERFLOW);
    }
}

bool mpixq_cxi_arm(struct cxi_queue *cxq, struct cxi_end *end, uint64_t ring)
{
    uint64_t epoch = end->settled + 1;
    uint32_t n = mpixq_cxi_n_ops(end);

    end->queue = cxq;
    mpixq_cxi_fail_if_used_up(end, epoch, ring);
    if (end->failed || mpixq_cxi_has_failed(cxq)) {
        return true; /* nothing is to be posted any more */
    }
    assert(mpixq_pair_executed(end->pair) >= epoch ? mpixq_cxi_is_to_slots(end) && ring == 0
           : mpixq_cxi_rings_queue(end, epoch)     ? ring > cxq->rung
                                                   : ring == mpixq_cxi_own_rings(end, epoch));
    assert(end->over == 0 || end->over < epoch);
    mpixq_cxi_entries_reap(end);
    if ((mpixq_cxi_rings_queue(end, epoch) && cxq->shared == NULL) ||
        (ring > 0 && mpixq_cxi_lacks_credit(end, epoch)) || !make_room(end)) {
        return false;
    }
    while (end->posted < n) {
        int rc = mpixq_cxi_post(end, end->posted, epoch, ring);

        if (rc == -FI_EAGAIN) {
            return false;
        }
        if (rc != 0) {
            mpixq_cxi_fail(end, "post", rc);
            return true;
        }
        end->posted++;
        mpixq_cxi_count_posts(end, 1);
    }
    end->posted = 0;
    end->settled = epoch;
    end->nic->counts.armed++;
    return true;
}

/* An eager send may come to have its credit by the time that the stream is there; those behind it
 * need not wait for that. */
bool mpixq_cxi_is_early(const struct cxi_logged *logged)
{
    const struct cxi_end *end = logged->end;

    return end != NULL && mpixq_cxi_is_to_slots(end) && logged->epoch > end->settled &&
           (logged->epoch > end->settled + 1 || mpixq_cxi_lacks_credit(end, logged->epoch));
}

/* False: there is no room for it. */
static bool arm_one(struct cxi_queue *cxq, const struct cxi_logged *logged)
{
    struct cxi_end *end = logged->end;

    /* Starts before it may have been left to be taken over; then so is this one. */
    return end == NULL || logged->epoch != end->settled + 1 ||
           mpixq_cxi_arm(cxq, end, end->shared ? logged->ring : 0);
}

bool mpixq_cxi_arm_first(struct cxi_queue *cxq, const struct cxi_logged *logged)
{
    if (!arm_one(cxq, logged)) {
        return false;
    }
    log_pop(cxq);
    return true;
}

/* False: there is no room for more. */
static bool arm_some(struct cxi_queue *cxq, int *left_p)
{
    uint64_t i = atomic_load_explicit(&cxq->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_acquire);
    bool is_first = true;

    for (int looks = LOOKS; *left_p > 0 && looks > 0 && i < tail; i++, looks--) {
        struct cxi_logged *logged = log_at(cxq, i);

        if (mpixq_cxi_is_early(logged)) {
            is_first = false;
            continue;
        }
        *left_p -= logged->end != NULL;
        if (!arm_one(cxq, logged)) {
            return false;
        }
        if (is_first) {
            log_pop(cxq);
        } else {
            logged->end = NULL;
        }
    }
    return true;
}

void mpixq_cxi_arm_logged(struct cxi_nic *nic)
{
    struct cxi_queue *cxq;
    int left = AT_ONCE;

    DL_FOREACH(nic->queues, cxq)
    {
        if (!arm_some(cxq, &left)) {
            return;
        }
    }
}

void mpixq_cxi_unlog(const struct cxi_end *end)
{
    struct cxi_queue *cxq;

    DL_FOREACH(end->nic->queues, cxq)
    {
        uint64_t tail = atomic_load_explicit(&cxq->tail, memory_order_acquire);

        for (uint64_t i = atomic_load(&cxq->head); i < tail; i++) {
            struct cxi_logged *logged = log_at(cxq, i);

            logged->end = logged->end == end ? NULL : logged->end;
        }
    }
}
