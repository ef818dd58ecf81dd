/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the host does while NICs work: read completion queues, go on with starts that were taken
 * over, arm what waits for entries, and tell of failures. One thread does so at a time; others go
 * on. */
#include <string.h>
#include <utlist.h>

#include "ahead.h"
#include "chain.h"
#include "check.h"
#include "core/failure.h"
#include "core/trace_pairs.h"
#include "eager.h"
#include "nic.h"
#include "peers.h"
#include "puts.h"
#include "supply.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/progress.h"

enum { KICK_EVERY = 16 }; /* scans */

/* Completions. */

static void completed(struct cxi_nic *nic, struct cxi_entry *entry)
{
    if (entry != NULL && entry->probe != NULL) {
        mpixq_cxi_probed(nic, entry->probe, false);
        return;
    }
    if (entry != NULL && entry->put != NULL) {
        mpixq_cxi_put_ended(entry, 0);
        return;
    }
    if (entry == NULL || !entry->plain) {
        return; /* deferred work that was to be named if it failed */
    }
    assert(entry->end->flying > 0 && nic->flying > 0);
    entry->end->flying--;
    nic->flying--;
    if (entry->counts) {
        /* As the entry that is replaced would have done. */
        (void)fi_cntr_add(mpixq_cxi_counts_in(entry->end, entry->epoch)->fid, 1);
    }
}

static void completed_badly(struct cxi_nic *nic, const struct fi_cq_err_entry *error)
{
    struct cxi_entry *entry = error->op_context;

    if (entry == NULL) {
        mpixq_cxi_suspect(nic);
        return;
    }
    if (entry->probe != NULL) {
        mpixq_cxi_probed(nic, entry->probe, true);
        return;
    }
    if (entry->put != NULL) {
        mpixq_cxi_put_ended(entry, error->err);
        return;
    }
    if (entry->plain) {
        assert(entry->end->flying > 0 && nic->flying > 0);
        entry->end->flying--;
        nic->flying--;
    }
    if (entry->end != NULL) {
        mpixq_cxi_fail(entry->end, entry->what, error->err);
    }
}

/* Returns how many there were. */
static int read_errors(struct cxi_nic *nic)
{
    struct fi_cq_err_entry error = {.err = 0};
    int n = 0;

    for (; fi_cq_readerr(nic->cq, &error, 0) == 1; n++) {
        mpixq_lock_acquire(&nic->lock);
        completed_badly(nic, &error);
        mpixq_lock_release(&nic->lock);
        error = (struct fi_cq_err_entry){.err = 0};
    }
    return n;
}

static void read_completions(struct cxi_nic *nic)
{
    enum { ROOM = 32 };
    struct fi_cq_entry entries[ROOM];
    ssize_t n;

    do {
        n = fi_cq_read(nic->cq, entries, ROOM);
        if (n == -FI_EAVAIL) {
            n = read_errors(nic);
            continue;
        }
        mpixq_lock_acquire(&nic->lock);
        if (n > 0) {
            nic->posts.retry_ns = nic->issues.retry_ns = 0;
        }
        for (ssize_t i = 0; i < n; i++) {
            completed(nic, entries[i].op_context);
        }
        mpixq_lock_release(&nic->lock);
    } while (n > 0);
}

/* Under drive_lock. */
static void read_queue(struct cxi_nic *nic)
{
    mpixq_lock_acquire(&nic->lock);
    nic->reads++;
    mpixq_lock_release(&nic->lock);
    read_completions(nic);
    mpixq_lock_acquire(&nic->lock);
    if (mpixq_cxi_count_failures(nic)) {
        mpixq_lock_release(&nic->lock);
        read_completions(nic);
        mpixq_lock_acquire(&nic->lock);
    }
    nic->reads_done = nic->reads;
    mpixq_cxi_find_failures(nic);
    mpixq_lock_release(&nic->lock);
}

void mpixq_cxi_read(struct cxi_nic *nic)
{
    if (mpixq_lock_try(&nic->drive_lock)) {
        read_queue(nic);
        mpixq_lock_release(&nic->drive_lock);
    }
}

/* Starts taken over. */

/* An operation that is not due yet may as well wait in the NIC, if that has room. What rings Q has
 * been rung, so that any threshold that was reached does. */
static int issue_or_post(struct cxi_end *end)
{
    int rc = mpixq_cxi_issue(end, end->step, end->over);

    if (rc == 0 && end->queue != NULL && end->queue->shared != NULL) {
        rc = mpixq_cxi_post(end, end->step, end->over, 0);
        return rc == 0 ? 1 : rc == -FI_EAGAIN ? 0 : rc;
    }
    return rc;
}

static void go_on(struct cxi_end *end)
{
    while (end->step < mpixq_cxi_n_ops(end)) {
        int rc = issue_or_post(end);

        if (rc == 0) {
            return;
        }
        if (rc < 0) {
            mpixq_cxi_fail(end, "operation", rc);
            return;
        }
        end->step++;
        mpixq_cxi_count_posts(end, 1);
    }
    mpixq_cxi_leave_over(end);
}

/* What is under way. */

/* The first share is under way until all of them are over; it is the first to be freed, too. */
static bool are_done(const struct cxi_end *end, uint64_t started)
{
    bool is_first = end->own_pair == NULL;

    while (end != NULL && mpixq_cxi_done(end) >= started) {
        end = is_first ? end->next_share : NULL;
    }
    return end == NULL;
}

static void look_at(struct cxi_end *end)
{
    uint64_t started = mpixq_pair_executed(end->pair);

    if (are_done(end, started)) {
        mpixq_cxi_entries_reap(end);
        /* If the NIC counts failures like successes, this one may have failed: that is known when
         * the completion queue was read once more. */
        if (end->seen == started) {
            mpixq_cxi_set_live(end, false);
        }
        if (end->seen != started && end->own_pair == NULL) {
            mpixq_trace_completed(end->pair);
        }
        end->seen = started;
    } else if (end->cts != NULL && mpixq_cxi_cts(end) > mpixq_cxi_clears(end) * started + 1 &&
               mpixq_cxi_done(end) < started) { /* a GPU may have rung for the next meanwhile */
        mpixq_cxi_fail(end, "clear-to-send, which came twice,", FI_EOTHER);
    }
}

static void kick(const struct cxi_end *end)
{
    const struct cxi_counter *counters[] = {end->trigger,
                                            end->written,
                                            end->arrived,
                                            end->slots != NULL ? end->slots->second : NULL,
                                            mpixq_cxi_ring_of(end, UINT64_MAX),
                                            end->queue != NULL ? end->queue->shared : NULL};

    for (size_t i = 0; end->entries != NULL && i < sizeof counters / sizeof counters[0]; i++) {
        if (counters[i] != NULL) {
            (void)fi_cntr_add(counters[i]->fid, 0);
        }
    }
}

static void scan_live(struct cxi_nic *nic)
{
    struct cxi_end *end, *next;
    bool kicks = nic->quirks->kicks && ++nic->scans % KICK_EVERY == 0;

    DL_FOREACH_SAFE2(nic->live, end, next, next_live)
    {
        if (kicks) {
            kick(end);
        }
        look_at(end);
    }
}

/* Tell of failures, outside of nic.lock: the matching lock comes before it. */
static void deliver(struct cxi_nic *nic)
{
    struct cxi_end *end;
    char which[64], text[sizeof end->text];
    uint64_t id = 0;

    for (;;) {
        mpixq_lock_acquire(&nic->lock);
        end = nic->failed;
        if (end != NULL) {
            LL_DELETE2(nic->failed, end, next_failed);
            id = mpixq_cxi_whole(end->pair)->id;
            (void)mpixq_pair_describe(mpixq_cxi_whole(end->pair), which, sizeof which);
            memcpy(text, end->text, sizeof text);
        }
        mpixq_lock_release(&nic->lock);
        if (end == NULL) {
            return;
        }
        mpixq_failure_of(id, mpixq_error_cause(MPIXQ_E_FABRIC, which, text), "transfer");
    }
}

/* Under drive_lock. */
static void read_and_deliver(struct cxi_nic *nic)
{
    bool has_failures;

    read_queue(nic);
    mpixq_lock_acquire(&nic->lock);
    has_failures = nic->failed != NULL;
    mpixq_lock_release(&nic->lock);
    if (has_failures) {
        deliver(nic);
    }
}

void mpixq_cxi_report_failures(struct cxi_nic *nic)
{
    mpixq_lock_acquire(&nic->drive_lock);
    read_and_deliver(nic);
    mpixq_lock_release(&nic->drive_lock);
}

void mpixq_cxi_drive(struct cxi_nic *nic, bool scan)
{
    struct cxi_end *end, *next;
    bool has_failures;

    if (!mpixq_lock_try(&nic->drive_lock)) {
        mpixq_backoff_busy();
        return;
    }
    read_queue(nic);
    mpixq_lock_acquire(&nic->lock);
    DL_FOREACH_SAFE2(nic->over, end, next, next_over)
    {
        go_on(end);
    }
    mpixq_cxi_arm_logged(nic);
    mpixq_cxi_arm_ahead(nic);
    if (scan) {
        scan_live(nic);
    }
    has_failures = nic->failed != NULL;
    mpixq_lock_release(&nic->lock);
    if (has_failures) {
        deliver(nic);
    }
    mpixq_lock_release(&nic->drive_lock);
}
