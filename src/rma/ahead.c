/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ahead.h"

#include <utlist.h>

#include "message.h"
#include "rights.h"
#include "util/progress.h"

enum {
    LOOKS = 16,     /* at what is not held, at a time: rights may be lacking for some of them */
    MOST_PARTS = 32 /* of what one call has enqueued: for more there is never room at once */
};

bool mpixq_rma_ahead_may(const struct mpixq_window *window)
{
    return window->direct != NULL && window->direct->has_ahead;
}

void mpixq_rma_ahead_log(struct mpixq_rma_ahead *ahead, const struct mpixq_transfer transfers[],
                         int n)
{
    struct mpixq_rma_direct *direct = ahead->window->direct;

    ahead->transfers = transfers;
    ahead->n = n;
    atomic_store_explicit(&ahead->state, MPIXQ_AHEAD_NONE, memory_order_relaxed);
    ahead->is_listed = false;
    ahead->ops = NULL;
    ahead->next = atomic_load_explicit(&direct->logged, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&direct->logged, &ahead->next, ahead,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    atomic_store_explicit(&mpixq_progress.hurries, true, memory_order_relaxed);
    mpixq_progress_wake();
}

/* What was logged last comes out first. */
static void list_logged(struct mpixq_rma_direct *direct)
{
    struct mpixq_rma_ahead *all, *ahead, *turned = NULL;

    if (atomic_load_explicit(&direct->logged, memory_order_relaxed) == NULL) {
        return;
    }
    all = atomic_exchange_explicit(&direct->logged, NULL, memory_order_acquire);
    while (all != NULL) {
        ahead = all;
        all = all->next;
        ahead->next = turned;
        turned = ahead;
    }
    while (turned != NULL) {
        ahead = turned;
        turned = turned->next;
        ahead->is_listed = true;
        DL_APPEND(direct->ahead, ahead);
    }
}

static void unlist(struct mpixq_rma_ahead *ahead)
{
    ahead->window->direct->n_ahead -= ahead->ops != NULL;
    if (ahead->is_listed) {
        ahead->is_listed = false;
        DL_DELETE(ahead->window->direct->ahead, ahead);
    }
}

/* ---- Holding ---- */

/* How many parts it is, all of which NICs may put; 0: they may not, or there is nothing to put, or
 * too much. */
static uint64_t count_parts(const struct mpixq_rma_ahead *ahead)
{
    struct mpixq_rma_peer *peer;
    struct mpixq_rma_way way;
    uint64_t parts = 0;

    for (int i = 0; i < ahead->n; i++) {
        const struct mpixq_transfer *transfer = &ahead->transfers[i];

        if (transfer->window == NULL) {
            continue;
        }
        peer = transfer->remote.rank == ahead->window->rank
                   ? NULL
                   : mpixq_rma_peer(ahead->window, transfer->remote.rank);
        if (peer == NULL || !mpixq_rma_direct_may(transfer, false, peer, &way)) {
            return 0;
        }
        parts += way.parts;
    }
    return parts <= MOST_PARTS ? parts : 0;
}

/* It counts for nobody as started until it is rung for. What finds no room after all is started
 * then. False: no memory, and the window has failed. */
static bool hold_part(struct mpixq_rma_ahead *ahead, const struct mpixq_transfer *transfer,
                      struct mpixq_rma_peer *peer, const struct mpixq_rma_way *way, uint32_t part)
{
    struct mpixq_window *window = ahead->window;
    struct mpixq_rma_op *op = mpixq_rma_direct_op(transfer, false, peer, way, part);
    struct mpixq_nic_part what;

    if (op == NULL) {
        return false;
    }
    window->n_own--;
    mpixq_rma_direct_describe(window, op, &what);
    op->held = window->direct->ops->hold(&what);
    window->direct->n_ahead += ahead->ops == NULL;
    DL_APPEND(ahead->ops, op);
    return true;
}

static void hold_all(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_rma_way way;

    ahead->bytes = 0;
    ahead->transferred = 0;
    for (int i = 0; i < ahead->n; i++) {
        const struct mpixq_transfer *transfer = &ahead->transfers[i];
        struct mpixq_rma_peer *peer =
            transfer->window != NULL ? mpixq_rma_peer(ahead->window, transfer->remote.rank) : NULL;

        if (peer == NULL || !mpixq_rma_direct_may(transfer, false, peer, &way)) {
            continue; /* to MPI_PROC_NULL */
        }
        for (uint32_t part = 0; part < way.parts; part++) {
            if (!hold_part(ahead, transfer, peer, &way, part)) {
                return;
            }
        }
        ahead->bytes += transfer->local.bytes;
        ahead->transferred++;
    }
    atomic_store_explicit(&ahead->state, MPIXQ_AHEAD_HELD, memory_order_release);
}

static void drop_ops(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_window *window = ahead->window;
    struct mpixq_rma_op *op, *next;

    DL_FOREACH_SAFE(ahead->ops, op, next)
    {
        DL_DELETE(ahead->ops, op);
        if (op->held != NULL) {
            window->direct->ops->drop(op->held);
        }
        mpixq_rma_direct_let_go(window, op);
        mpixq_rma_op_free(window, op);
    }
}

static bool are_rights_left(const struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_rma_op *op;

    DL_FOREACH(ahead->ops, op)
    {
        if (op->grant != NULL && op->grant->is_revoked) {
            return false;
        }
    }
    return true;
}

/* What was rung for is from here on as other puts are. */
static void open_ops(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_window *window = ahead->window;
    struct mpixq_rma_op *op, *next;

    DL_FOREACH_SAFE(ahead->ops, op, next)
    {
        DL_DELETE(ahead->ops, op);
        window->n_own++;
        mpixq_rma_direct_begun(window, op);
        if (op->held != NULL) {
            window->direct->ops->open_held(op->held);
        }
    }
    for (int i = 0; i < ahead->transferred; i++) {
        mpixq_rma_count(window, MPIXQ_WAY_NICS, MPIXQ_CALL_QUEUED, i == 0 ? ahead->bytes : 0);
    }
}

/* The stream does not get it any more. */
static bool take_back(struct mpixq_rma_ahead *ahead)
{
    int held = MPIXQ_AHEAD_HELD;

    return atomic_compare_exchange_strong(&ahead->state, &held, MPIXQ_AHEAD_NONE);
}

/* ---- Who drives ---- */

void mpixq_rma_ahead_look(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead, *next;
    int left;

    if (window->direct == NULL) {
        return;
    }
    list_logged(window->direct);
    left = window->direct->n_ahead; /* behind these there may be any number of others */
    DL_FOREACH_SAFE(window->direct->ahead, ahead, next)
    {
        if (left == 0) {
            return;
        }
        left -= ahead->ops != NULL;
        if (atomic_load(&ahead->state) == MPIXQ_AHEAD_MADE) {
            unlist(ahead);
            open_ops(ahead);
            ahead->forget(ahead);
        } else if (ahead->ops != NULL && !are_rights_left(ahead) && take_back(ahead)) {
            drop_ops(ahead); /* the peer refuses it, as it does any that comes too late */
            window->direct->n_ahead--;
        }
    }
}

/* False: there is no room. */
static bool try_to_hold(struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_rma_direct *direct = ahead->window->direct;
    uint64_t parts = count_parts(ahead);

    if (parts > 0 && !direct->ops->has_room(direct->nics, parts)) {
        return false;
    }
    if (parts > 0) {
        hold_all(ahead);
    }
    return true;
}

void mpixq_rma_ahead_go(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead;
    int looks = LOOKS;

    mpixq_rma_ahead_look(window);
    mpixq_rma_direct_go(window);
    if (window->direct == NULL) {
        return;
    }
    DL_FOREACH(window->direct->ahead, ahead)
    {
        if (ahead->ops != NULL) {
            continue;
        }
        /* Those behind one that has no room do not overtake it. */
        if (looks-- == 0 || atomic_load(&window->failed) != MPI_SUCCESS || !try_to_hold(ahead)) {
            return;
        }
    }
}

void mpixq_rma_ahead_close(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead, *next;

    if (window->direct == NULL) {
        return;
    }
    mpixq_rma_ahead_look(window);
    DL_FOREACH_SAFE(window->direct->ahead, ahead, next)
    {
        mpixq_rma_ahead_settle(ahead);
    }
}

/* ---- Streams ---- */

bool mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, uint64_t *rings_p)
{
    const struct mpixq_window *window = ahead->window;
    int held = MPIXQ_AHEAD_HELD;
    const struct mpixq_rma_op *op;

    *rings_p = 0;
    if (atomic_load(&window->failed) != MPI_SUCCESS ||
        !atomic_compare_exchange_strong(&ahead->state, &held, MPIXQ_AHEAD_RINGING)) {
        return false;
    }
    DL_FOREACH(ahead->ops, op)
    {
        if (op->held != NULL) {
            window->direct->ops->ring(op->held);
            ++*rings_p;
        }
    }
    atomic_store(&ahead->state, MPIXQ_AHEAD_MADE);
    atomic_store_explicit(&mpixq_progress.hurries, true, memory_order_relaxed);
    return true;
}

void mpixq_rma_ahead_settle(struct mpixq_rma_ahead *ahead)
{
    list_logged(ahead->window->direct);
    unlist(ahead);
    (void)take_back(ahead);
    drop_ops(ahead);
}
