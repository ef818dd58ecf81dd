/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Where an end stands: are its starts under way, or one of them the host's, or has it failed? All
 * under nic.lock. */
#include <stdio.h>
#include <utlist.h>

#include "check.h"
#include "libfabric.h"
#include "nic.h"
#include "util/progress.h"

void mpixq_cxi_set_live(struct cxi_end *end, bool live)
{
    struct cxi_nic *nic = end->nic;

    if (live == end->is_live) {
        return;
    }
    end->is_live = live;
    if (live) {
        DL_APPEND2(nic->live, end, prev_live, next_live);
        atomic_fetch_add(&mpixq_outstanding, 1);
    } else {
        DL_DELETE2(nic->live, end, prev_live, next_live);
        atomic_fetch_sub(&mpixq_outstanding, 1);
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
    if (end->failed) {
        return;
    }
    end->failed = true;
    mpixq_cxi_leave_over(end);
    (void)snprintf(end->text, sizeof end->text, "%s failed (rank %d of MPI_COMM_WORLD): %s", what,
                   end->pair->peer_world, mpixq_cxi_strerror(error));
    LL_APPEND2(end->nic->failed, end, next_failed);
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
