/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPI_Request_free of what the library has a part in. A request that the host has started may be
 * freed while it is active, as MPI allows: the record then waits here, without a handle, until the
 * communication has completed or failed, and only then is the pair released: by calls of the
 * program that come by, or by a thread of the library where there are none, since the peer may wait
 * for word of it. */
#include <stddef.h>
#include <utlist.h>

#include "core/channels.h"
#include "core/graphs.h"
#include "host.h"
#include "match/opener.h"
#include "queue/queues.h"
#include "util/progress.h"

static enum mpixq_error check_one_free(struct mpixq_request *req)
{
    mpixq_queue_settle(req);
    switch (mpixq_request_state(req)) {
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_STARTED:
    case MPIXQ_WAITING:
        return MPIXQ_E_OWNED;
    case MPIXQ_MATCHED: /* also if its graphs are gone, what their GPU tells may still come */
        return mpixq_graphs_keep_started(&req->pair) && mpixq_graphs_have(&req->pair)
                   ? MPIXQ_E_REPLAY_ACTIVE
                   : MPIXQ_E_NONE;
    default:
        return MPIXQ_E_NONE;
    }
}

int mpixq_host_free(const struct mpixq_call *call, MPI_Request handle, struct mpixq_request *req)
{
    struct mpixq_match_op *op;
    struct mpixq_fault fault;
    enum mpixq_error error;

    if (req != NULL) {
        error = check_one_free(req);
        if (error != MPIXQ_E_NONE) {
            mpixq_fault_at(&fault, 0, req);
            return mpixq_fault_raise(call, &fault, error);
        }
        mpixq_request_forget(req);
        return MPI_SUCCESS;
    }
    op = mpixq_match_op_find(handle);
    if (op != NULL) {
        mpixq_match_op_forget(op);
        mpixq_match_op_put(op);
    }
    return MPI_SUCCESS;
}

static void put_in(struct mpixq_request *req)
{
    mpixq_lock_acquire(&mpixq_host.freed_lock);
    LL_PREPEND2(mpixq_host.freed, req, next_freed);
    mpixq_lock_release(&mpixq_host.freed_lock);
}

void mpixq_host_freed(struct mpixq_request *req)
{
    if (req == NULL) {
        return;
    }
    if (mpixq_request_state(req) != MPIXQ_HOST_STARTED) {
        mpixq_graphs_stop(&req->pair);
        if (req->pair.channel != NULL) {
            mpixq_channel_recall(&req->pair);
        }
        mpixq_match_release(req);
        return;
    }
    atomic_fetch_add(&mpixq_host.n_freed, 1);
    put_in(req);
    mpixq_host_reap();
    if (mpixq_host_has_freed()) {
        mpixq_progress_wake();
    }
}

static struct mpixq_request *take_all(void)
{
    struct mpixq_request *taken;

    mpixq_lock_acquire(&mpixq_host.freed_lock);
    taken = mpixq_host.freed;
    mpixq_host.freed = NULL;
    mpixq_lock_release(&mpixq_host.freed_lock);
    return taken;
}

static void release(struct mpixq_request *req)
{
    (void)mpixq_host_complete(req, mpixq_host_result(req), MPI_STATUS_IGNORE);
    mpixq_graphs_stop(&req->pair);
    mpixq_channel_recall(&req->pair); /* in MPI_Finalize it may be under way */
    mpixq_match_release(req);
    atomic_fetch_sub(&mpixq_host.n_freed, 1);
}

void mpixq_host_reap(void)
{
    struct mpixq_request *req = mpixq_host_has_freed() ? take_all() : NULL, *next;

    for (; req != NULL; req = next) {
        next = req->next_freed;
        if (mpixq_host_is_done(req)) {
            release(req);
        } else {
            put_in(req);
        }
    }
}

static bool reap_for_others(void)
{
    mpixq_host_reap();
    return mpixq_host_has_freed();
}

/* A channel may call a GPU's library for it, which the progress thread must not. */
void mpixq_host_reap_later(void)
{
    if (mpixq_host_has_freed()) {
        mpixq_opener_wake(reap_for_others);
    }
}

void mpixq_host_close(void)
{
    struct mpixq_request *req = take_all(), *next;
    MPI_Request inactive = atomic_exchange(&mpixq_host.inactive, MPI_REQUEST_NULL);

    if (inactive != MPI_REQUEST_NULL) {
        (void)PMPI_Request_free(&inactive);
    }

    for (; req != NULL; req = next) {
        next = req->next_freed;
        release(req);
    }
}
