/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "put.h"

#include <string.h>

#include "direct.h"
#include "mapped.h"
#include "message.h"
#include "protocol.h"
#include "rma.h"
#include "util/alloc.h"
#include "util/progress.h"

/* Within the process: the signals as they are when the data is there, if they still are. */
static void copy_within(const struct mpixq_transfer *transfer, enum mpixq_rma_call call)
{
    const struct mpixq_blk *local = &transfer->local, *remote = &transfer->remote;
    struct mpixq_window *window = transfer->window;
    bool is_get = call == MPIXQ_CALL_GET;
    struct mpixq_signal *here, *there;
    char *from, *to;

    if (local->bytes > 0) {
        from = window->base + (is_get ? remote : local)->offset;
        to = window->base + (is_get ? local : remote)->offset;
        memmove(to, from, local->bytes);
    }
    mpixq_lock_acquire(&window->lock);
    (void)mpixq_rma_signal_find(window, local->signal, local->generation, &here);
    (void)mpixq_rma_signal_find(window, remote->signal, remote->generation, &there);
    mpixq_rma_signal_add(here, 0, 1, window->rank, remote->offset);
    mpixq_rma_signal_add(there, 0, 1, window->rank, remote->offset);
    mpixq_rma_count(window, MPIXQ_WAY_SELF, call, local->bytes);
    mpixq_lock_release(&window->lock);
}

/* The next flush tells of it, as when the other process refuses. */
static void refuse(const struct mpixq_transfer *transfer, int code)
{
    const struct mpixq_rma_op op = {.signal = transfer->local.signal,
                                    .generation = transfer->local.generation};
    struct mpixq_window *window = transfer->window;

    mpixq_lock_acquire(&window->lock);
    mpixq_rma_give_up(window, &op, code);
    mpixq_lock_release(&window->lock);
}

/* Under the lock, which others get between pieces that are copied: these end here. */
static void go(struct mpixq_window *window)
{
    mpixq_rma_protocol_go(window);
    while (mpixq_rma_direct_copies(window)) {
        mpixq_lock_release(&window->lock);
        mpixq_lock_acquire(&window->lock);
        mpixq_rma_protocol_go(window);
    }
}

/* What the host copies. */
static bool is_within(const struct mpixq_transfer *transfer)
{
    return transfer->remote.rank == transfer->window->rank && transfer->window->gpu_kind == NULL;
}

int mpixq_rma_start(const struct mpixq_transfer transfers[], int n, enum mpixq_rma_call call)
{
    struct mpixq_window *window = NULL;
    int rc = MPI_SUCCESS, n_sent = 0;

    for (int i = 0; i < n; i++) {
        window = transfers[i].window != NULL ? transfers[i].window : window;
    }
    if (window == NULL) {
        return MPI_SUCCESS;
    }
    if (window->mapped != NULL) {
        return mpixq_rma_mapped_start(transfers, n, call, refuse);
    }
    /* To others first: they travel while data within the process is copied. */
    mpixq_lock_acquire(&window->lock);
    if (window->direct != NULL) {
        mpixq_rma_protocol_go(window); /* what was revoked is known then */
    }
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (transfers[i].window != NULL && !is_within(&transfers[i])) {
            rc = mpixq_rma_begin(&transfers[i], call);
            n_sent++;
        }
    }
    if (n_sent > 0) {
        go(window);
    }
    mpixq_lock_release(&window->lock);
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (transfers[i].window != NULL && is_within(&transfers[i])) {
            copy_within(&transfers[i], call);
        }
    }
    return rc;
}

static int start_one(const MPIXQ_Blk *local, const MPIXQ_Blk *remote, enum mpixq_rma_call call)
{
    struct mpixq_transfer transfer;
    int rc = mpixq_transfer_check(local, remote, &transfer);

    return rc ? rc : mpixq_rma_start(&transfer, 1, call);
}

int mpixq_rma_put(const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    return start_one(local, remote, MPIXQ_CALL_PUT);
}

int mpixq_rma_get(const MPIXQ_Blk *local, const MPIXQ_Blk *remote)
{
    return start_one(local, remote, MPIXQ_CALL_GET);
}

/* ---- Plans ---- */

static int fill(struct mpixq_plan *plan, const MPIXQ_Blk local[], const MPIXQ_Blk remote[])
{
    for (int i = 0; i < plan->n; i++) {
        struct mpixq_transfer *transfer = &plan->transfers[i];
        int rc = mpixq_transfer_check(&local[i], &remote[i], transfer);

        if (rc != MPI_SUCCESS) {
            return rc;
        }
        if (transfer->window != NULL) {
            if (plan->window != NULL && plan->window != transfer->window) {
                return mpixq_error_code(MPIXQ_E_PLAN_WINDOWS);
            }
            plan->window = transfer->window;
            plan->window_id = transfer->local.window;
        }
    }
    return MPI_SUCCESS;
}

int mpixq_rma_plan_create(int count, const MPIXQ_Blk local[], const MPIXQ_Blk remote[],
                          struct mpixq_plan **plan_p)
{
    struct mpixq_plan *plan = mpixq_rma_object_new(MPIXQ_RMA_PLAN, sizeof *plan);
    int rc;

    if (plan == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    plan->window = NULL;
    plan->n = count;
    atomic_store(&plan->enqueued, 0);
    plan->transfers = mpixq_alloc((size_t)(count > 0 ? count : 1) * sizeof *plan->transfers);
    rc = plan->transfers != NULL ? fill(plan, local, remote) : mpixq_error_code(MPIXQ_E_NO_MEMORY);
    if (rc != MPI_SUCCESS) {
        mpixq_free(plan->transfers);
        mpixq_rma_object_free(plan);
        return rc;
    }
    mpixq_rma_object_live(plan, MPIXQ_RMA_PLAN);
    *plan_p = plan;
    return MPI_SUCCESS;
}

int mpixq_rma_plan_check(const struct mpixq_plan *plan)
{
    if (plan->window == NULL) {
        return MPI_SUCCESS;
    }
    return mpixq_rma_window_of(plan->window_id) != plan->window
               ? mpixq_error_code(MPIXQ_E_PLAN_FREED)
               : atomic_load(&plan->window->failed);
}

int mpixq_rma_plan_start(struct mpixq_plan *plan)
{
    int rc = mpixq_rma_plan_check(plan);

    return rc ? rc : mpixq_rma_start(plan->transfers, plan->n, MPIXQ_CALL_PUT);
}

enum mpixq_error mpixq_rma_plan_destroy(struct mpixq_plan *plan)
{
    if (atomic_load(&plan->enqueued) > 0) {
        return MPIXQ_E_PLAN_BUSY;
    }
    mpixq_free(plan->transfers);
    plan->transfers = NULL;
    mpixq_rma_object_free(plan);
    return MPIXQ_E_NONE;
}

bool mpixq_rma_plan_is_live(const struct mpixq_plan *plan)
{
    return mpixq_rma_object_is_live(plan, MPIXQ_RMA_PLAN);
}
