/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Where an end stands: are its starts under way, or one of them the host's, or has it failed? All
 * under nic.lock. */
#include <stdio.h>
#include <utlist.h>

#include "check.h"
#include "eager.h"
#include "libfabric.h"
#include "nic.h"
#include "util/backoff.h"
#include "util/progress.h"

enum { LOOK_NS = 10000000 }; /* for so long a failure is looked for in counters */

void mpixq_cxi_set_live(struct cxi_end *end, bool live)
{
    struct cxi_nic *nic = end->nic;

    if (live == end->is_live) {
        return;
    }
    end->is_live = live;
    if (live) {
        DL_APPEND2(nic->live, end, prev_live, next_live);
        atomic_fetch_add(&mpixq_progress.outstanding, 1);
    } else {
        DL_DELETE2(nic->live, end, prev_live, next_live);
        atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    }
    assert(mpixq_cxi_live_holds(end));
}

void mpixq_cxi_take_over(struct cxi_end *end, uint64_t epoch)
{
    struct cxi_nic *nic = end->nic;

    if (end->failed) {
        return;
    }
    assert(end->over == 0 && epoch == end->settled + 1);
    end->over = epoch;
    end->step = end->posted; /* those before it are the NIC's */
    end->posted = 0;
    end->settled = epoch;
    DL_APPEND2(nic->over, end, prev_over, next_over);
    nic->n_over++;
    nic->counts.taken_over++;
    if (end->queue != NULL && end->queue->queue != NULL) {
        atomic_fetch_add_explicit(&end->queue->queue->stalls, 1, memory_order_relaxed);
    }
    assert(mpixq_cxi_over_holds(end));
}

void mpixq_cxi_leave_over(struct cxi_end *end)
{
    assert(mpixq_cxi_over_holds(end));
    if (end->over != 0) {
        end->over = 0;
        DL_DELETE2(end->nic->over, end, prev_over, next_over);
        end->nic->n_over--;
    }
}

void mpixq_cxi_fail(struct cxi_end *end, const char *what, int error)
{
    if (end->failed || end->pair == NULL) {
        return;
    }
    end->failed = true;
    mpixq_cxi_leave_over(end);
    (void)snprintf(end->text, sizeof end->text, "%s failed (rank %d of MPI_COMM_WORLD): %s", what,
                   end->pair->peer_world, mpixq_cxi_strerror(error));
    LL_APPEND2(end->nic->failed, end, next_failed);
}

/* Failures without a name. Counters show their first one unasked, but when is not said. */

void mpixq_cxi_suspect(struct cxi_nic *nic)
{
    nic->unknown.read++;
    nic->unknown.is_over = false;
    mpixq_patience_begin(&nic->unknown.patience, mpixq_now_ns(), LOOK_NS);
}

/* How many it shows that it did not show before. That is read from the memory of the host. */
static uint64_t new_failures(struct cxi_counter *counter)
{
    uint64_t before = counter->failures, now = fi_cntr_readerr(counter->fid);

    counter->failures = now;
    return now > before ? now - before : 0;
}

/* Of pairs that are gone; nobody is to be told. */
static uint64_t failures_of_gone(const struct cxi_nic *nic)
{
    struct cxi_counter *const lists[] = {nic->aside, nic->doubtful};
    uint64_t n = 0;

    for (int i = 0; i < 2; i++) {
        struct cxi_counter *counter;

        LL_FOREACH(lists[i], counter)
        {
            n += new_failures(counter);
        }
    }
    return n;
}

static uint64_t failures_of_ends(const struct cxi_nic *nic)
{
    struct cxi_end *end;
    uint64_t all = 0;

    DL_FOREACH(nic->ends, end)
    {
        for (uint64_t i = 0; i < (mpixq_cxi_has_slots(end) ? CXI_SLOTS : 1); i++) {
            struct cxi_counter *counter = mpixq_cxi_counts_in(end, i + 1);
            uint64_t n = counter != NULL ? new_failures(counter) : 0;

            end->suspected = end->suspected || n > 0;
            all += n;
        }
    }
    return all;
}

bool mpixq_cxi_count_failures(struct cxi_nic *nic)
{
    uint64_t n = 0;

    if (nic->unknown.read > 0) {
        nic->unknown.is_over = !mpixq_patience_goes_on(&nic->unknown.patience, mpixq_now_ns());
        n = failures_of_ends(nic) + failures_of_gone(nic);
        nic->unknown.found += n;
    }
    return n > 0;
}

/* One that no counter shows is of something that is under way. */
static void fail_all_live(struct cxi_nic *nic)
{
    struct cxi_end *end;

    DL_FOREACH2(nic->live, end, next_live)
    {
        mpixq_cxi_fail(end, "operation", FI_EIO);
    }
}

void mpixq_cxi_find_failures(struct cxi_nic *nic)
{
    struct cxi_end *end;

    if (nic->unknown.read == 0) {
        return;
    }
    DL_FOREACH(nic->ends, end)
    {
        if (end->suspected && end->pair != NULL) {
            mpixq_cxi_fail(end, mpixq_cxi_nameless(end), FI_EIO);
        }
        end->suspected = false;
    }
    if (nic->unknown.is_over) {
        if (nic->unknown.found < nic->unknown.read) {
            fail_all_live(nic);
        }
        nic->unknown.read = nic->unknown.found = 0;
    }
}

void mpixq_cxi_drop(struct cxi_end *end)
{
    struct cxi_nic *nic = end->nic;
    struct cxi_end *other;

    mpixq_cxi_leave_over(end);
    mpixq_cxi_set_live(end, false);
    LL_FOREACH2(nic->failed, other, next_failed)
    {
        if (other == end) {
            LL_DELETE2(nic->failed, end, next_failed);
            break;
        }
    }
}
