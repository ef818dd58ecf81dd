/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ahead.h"

#include <utlist.h>

#include "bells.h"
#include "core/queue.h"
#include "message.h"
#include "rights.h"
#include "util/backoff.h"
#include "util/progress.h"

enum {
    LOOKS = 16,    /* at what is not held, at a time, but of graphs: rights may be lacking */
    DOUBT_MS = 100 /* a kernel that has found no failure rings at once, but for others' turns */
};

bool mpixq_rma_ahead_may(const struct mpixq_window *window)
{
    return window->direct != NULL && window->direct->has_ahead;
}

static void clear(struct mpixq_rma_ahead *ahead)
{
    atomic_store_explicit(&ahead->state, MPIXQ_AHEAD_NONE, memory_order_relaxed);
    ahead->is_listed = false;
    ahead->ops = NULL;
    ahead->revoked_ns = 0;
    ahead->is_late = false;
}

void mpixq_rma_ahead_log(struct mpixq_rma_ahead *ahead, const struct mpixq_transfer transfers[],
                         int n)
{
    struct mpixq_rma_direct *direct = ahead->window->direct;

    ahead->transfers = transfers;
    ahead->n = n;
    clear(ahead);
    ahead->ring = 0;
    mpixq_rma_bells_take(ahead, ahead->queue->stream);
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

void mpixq_rma_ahead_list(struct mpixq_rma_ahead *ahead)
{
    clear(ahead);
    ahead->is_listed = true;
    DL_APPEND(ahead->window->direct->ahead, ahead);
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
    return parts <= MPIXQ_AHEAD_PARTS ? parts : 0;
}

/* It counts for nobody as started until it is rung for. What finds no room after all is started
 * then. False: no memory, and the window has failed. */
static bool hold_part(struct mpixq_rma_ahead *ahead, const struct mpixq_transfer *transfer,
                      struct mpixq_rma_peer *peer, const struct mpixq_rma_way *way, uint32_t part,
                      struct mpixq_nic_bell *bell)
{
    struct mpixq_window *window = ahead->window;
    struct mpixq_rma_op *op = mpixq_rma_direct_op(transfer, false, peer, way, part);
    struct mpixq_nic_part what;

    if (op == NULL) {
        return false;
    }
    window->n_own--;
    mpixq_rma_direct_describe(window, op, &what);
    what.bell = bell;
    what.ring = ahead->ring;
    op->held = window->direct->ops->hold(&what);
    window->direct->n_ahead += ahead->ops == NULL;
    DL_APPEND(ahead->ops, op);
    return true;
}

/* Without memory for all, what is held may be rung for by a GPU nevertheless. */
static void hold_all(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_nic_bell *bell = ahead->bells;
    struct mpixq_rma_way way;
    bool all = true;

    ahead->bytes = 0;
    ahead->transferred = 0;
    for (int i = 0; all && i < ahead->n; i++) {
        const struct mpixq_transfer *transfer = &ahead->transfers[i];
        struct mpixq_rma_peer *peer =
            transfer->window != NULL ? mpixq_rma_peer(ahead->window, transfer->remote.rank) : NULL;

        if (peer == NULL || !mpixq_rma_direct_may(transfer, false, peer, &way)) {
            continue; /* to MPI_PROC_NULL */
        }
        for (uint32_t part = 0; all && part < way.parts; part++) {
            all = hold_part(ahead, transfer, peer, &way, part, bell);
            bell = mpixq_rma_bells_next(ahead, bell);
        }
        ahead->bytes += transfer->local.bytes;
        ahead->transferred++;
    }
    if (all || (ahead->bells != NULL && ahead->ops != NULL)) {
        atomic_store_explicit(&ahead->state, MPIXQ_AHEAD_HELD, memory_order_release);
    }
}

static void drop_op(struct mpixq_rma_ahead *ahead, struct mpixq_rma_op *op)
{
    struct mpixq_window *window = ahead->window;

    DL_DELETE(ahead->ops, op);
    if (op->held != NULL) {
        window->direct->ops->drop(op->held);
    }
    mpixq_rma_direct_let_go(window, op);
    mpixq_rma_op_free(window, op);
}

static void drop_ops(struct mpixq_rma_ahead *ahead)
{
    while (ahead->ops != NULL) {
        drop_op(ahead, ahead->ops);
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

/* What was rung for is from here on as other puts are. A GPU rings also when the right was revoked
 * before: the put counts for nobody, and a flush tells. */
static void open_op(struct mpixq_rma_ahead *ahead, struct mpixq_rma_op *op)
{
    struct mpixq_window *window = ahead->window;

    DL_DELETE(ahead->ops, op);
    window->n_own++;
    op->is_late = ahead->is_late && op->grant != NULL && op->grant->is_revoked;
    mpixq_rma_direct_begun(window, op);
    if (op->held != NULL) {
        window->direct->ops->open_held(op->held);
    }
}

static void open_ops(struct mpixq_rma_ahead *ahead)
{
    mpixq_rma_bells_give(ahead, true);
    while (ahead->ops != NULL) {
        open_op(ahead, ahead->ops);
    }
    for (int i = 0; i < ahead->transferred; i++) {
        mpixq_rma_count(ahead->window, MPIXQ_WAY_NICS, MPIXQ_CALL_QUEUED,
                        i == 0 ? ahead->bytes : 0);
    }
}

void mpixq_rma_ahead_open(struct mpixq_rma_ahead *ahead)
{
    unlist(ahead);
    open_ops(ahead);
}

/* Its queue has failed, and a GPU may have rung for it before, or does just now: what the NIC has
 * seen a ring of is made, and what it sees none of for a while is dropped. False: that is not over.
 */
static bool end_doubt(struct mpixq_rma_ahead *ahead, bool is_over)
{
    struct mpixq_rma_op *op, *next;

    mpixq_rma_bells_give(ahead, false);
    DL_FOREACH_SAFE(ahead->ops, op, next)
    {
        if (op->held != NULL && ahead->window->direct->ops->has_rung(op->held)) {
            open_op(ahead, op);
        } else if (is_over) {
            drop_op(ahead, op);
        }
    }
    return ahead->ops == NULL;
}

/* The stream does not get it any more. */
static bool take_back(struct mpixq_rma_ahead *ahead)
{
    int held = MPIXQ_AHEAD_HELD;

    return atomic_compare_exchange_strong(&ahead->state, &held, MPIXQ_AHEAD_NONE);
}

/* ---- Who drives ---- */

/* Their queue must not have its GPU ring for what is held: it fails now, and not when the stream
 * gets there. The stream does not get past it meanwhile, so the queue is there. */
static void fail_queue(struct mpixq_rma_ahead *ahead)
{
    int held = MPIXQ_AHEAD_HELD;

    if (!mpixq_queue_has_failed(ahead->queue) &&
        atomic_compare_exchange_strong(&ahead->state, &held, MPIXQ_AHEAD_RINGING)) {
        mpixq_queue_fail_alone(ahead->queue, atomic_load(&ahead->window->failed));
        atomic_store(&ahead->state, MPIXQ_AHEAD_HELD);
    }
}

/* What happened before then is known by now. */
static bool is_long_ago(uint64_t then_ns)
{
    return mpixq_now_ns() - then_ns > (uint64_t)DOUBT_MS * 1000000;
}

static bool any_rung(const struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_rma_op *op;

    DL_FOREACH(ahead->ops, op)
    {
        if (op->held != NULL && ahead->window->direct->ops->has_rung(op->held)) {
            return true;
        }
    }
    return false;
}

/* Its right is gone, perhaps as it was made before, which is seen later. */
static void find_late(struct mpixq_rma_ahead *ahead)
{
    if (any_rung(ahead)) {
        ahead->revoked_ns = UINT64_MAX; /* and so it stays */
    } else if (ahead->revoked_ns == 0) {
        ahead->revoked_ns = mpixq_now_ns();
    } else {
        ahead->is_late = is_long_ago(ahead->revoked_ns);
    }
}

/* What has something held, and whose GPU rings by itself. */
static void look_at_rung(struct mpixq_rma_ahead *ahead)
{
    struct mpixq_rma_direct *direct = ahead->window->direct;

    if (atomic_load(&ahead->state) != MPIXQ_AHEAD_DOUBT) {
        if (atomic_load(&ahead->window->failed) != MPI_SUCCESS) {
            (ahead->queue != NULL ? fail_queue : ahead->stop)(ahead);
        }
        if (!ahead->is_late && ahead->revoked_ns != UINT64_MAX && !are_rights_left(ahead)) {
            find_late(ahead);
        }
        direct->has_doubts =
            direct->has_doubts || (ahead->queue != NULL && mpixq_queue_has_failed(ahead->queue));
    } else if (end_doubt(ahead, is_long_ago(ahead->since_ns))) {
        direct->n_ahead--;
        unlist(ahead);
        ahead->forget(ahead);
    } else {
        direct->has_doubts = true;
    }
}

static void look_at(struct mpixq_rma_ahead *ahead)
{
    if (atomic_load(&ahead->state) == MPIXQ_AHEAD_MADE) {
        mpixq_rma_ahead_open(ahead);
        ahead->forget(ahead);
    } else if (ahead->bells != NULL || atomic_load(&ahead->state) == MPIXQ_AHEAD_DOUBT) {
        look_at_rung(ahead);
    } else if (!are_rights_left(ahead) && take_back(ahead)) {
        drop_ops(ahead); /* the peer refuses it, as it does any that comes too late */
        ahead->window->direct->n_ahead--;
    }
}

void mpixq_rma_ahead_look(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead, *next;
    int left;

    if (window->direct == NULL) {
        return;
    }
    list_logged(window->direct);
    window->direct->has_doubts = false;
    left = window->direct->n_ahead; /* behind these there may be any number of others */
    DL_FOREACH_SAFE(window->direct->ahead, ahead, next)
    {
        if (left == 0) {
            return;
        }
        if (ahead->ops != NULL) {
            left--;
            look_at(ahead);
        }
    }
}

bool mpixq_rma_ahead_doubts(const struct mpixq_window *window)
{
    return window->direct != NULL && window->direct->has_doubts;
}

/* False: there is no room. */
static bool try_to_hold(struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_rma_direct *direct = ahead->window->direct;
    uint64_t parts = count_parts(ahead);

    if (parts > 0 && !direct->ops->has_room(direct->nics, parts, ahead->bells, ahead->ring > 0)) {
        return false;
    }
    if (parts > 0) {
        hold_all(ahead);
    }
    return true;
}

/* Those behind one that has no room do not overtake it; but for those with doorbells, which have
 * the rarest of it, and of graphs, which may have none for long. */
void mpixq_rma_ahead_go(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead;
    bool is_full = false;
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
        looks -= ahead->ring == 0;
        if (looks < 0 || atomic_load(&window->failed) != MPI_SUCCESS) {
            return;
        }
        if (ahead->bells != NULL || !is_full) {
            is_full = (!try_to_hold(ahead) && ahead->ring == 0) || is_full;
        }
    }
}

/* What was rung for is under way still, and ends with the NICs' part of the window. */
void mpixq_rma_ahead_close(struct mpixq_window *window)
{
    struct mpixq_rma_ahead *ahead, *next;

    if (window->direct == NULL) {
        return;
    }
    mpixq_rma_ahead_look(window);
    DL_FOREACH_SAFE(window->direct->ahead, ahead, next)
    {
        if (atomic_load(&ahead->state) == MPIXQ_AHEAD_DOUBT) {
            unlist(ahead);
            (void)end_doubt(ahead, true);
            ahead->forget(ahead);
        } else {
            mpixq_rma_ahead_settle(ahead, true);
        }
    }
}

/* ---- Streams ---- */

/* Who has its queue fail lets go of it at once. */
static bool take_held(struct mpixq_rma_ahead *ahead)
{
    int state = MPIXQ_AHEAD_HELD;

    while (!atomic_compare_exchange_weak(&ahead->state, &state, MPIXQ_AHEAD_RINGING)) {
        if (state != MPIXQ_AHEAD_HELD && state != MPIXQ_AHEAD_RINGING) {
            return false;
        }
        state = MPIXQ_AHEAD_HELD;
    }
    return true;
}

/* So many are, here or before. */
static uint64_t ring_all(const struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_nic_bell *bell = ahead->bells;
    const struct mpixq_rma_op *op;
    uint64_t rings = 0;

    DL_FOREACH(ahead->ops, op)
    {
        if (op->held != NULL && (bell == NULL || bell->by_host)) {
            ahead->window->direct->ops->ring(op->held);
        }
        rings += op->held != NULL;
        bell = bell != NULL ? bell->next : NULL;
    }
    return rings;
}

bool mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, bool has_failed, uint64_t *rings_p)
{
    const struct mpixq_window *window = ahead->window;
    bool by_gpu = ahead->bells != NULL;

    *rings_p = 0;
    if ((!by_gpu && (has_failed || atomic_load(&window->failed) != MPI_SUCCESS)) ||
        !take_held(ahead)) {
        return false;
    }
    if (has_failed) {
        ahead->since_ns = mpixq_now_ns();
        atomic_store(&ahead->state, MPIXQ_AHEAD_DOUBT);
        return true;
    }
    *rings_p = ring_all(ahead);
    if (by_gpu) {
        mpixq_queue_fail_alone(ahead->queue, atomic_load(&window->failed));
    }
    atomic_store(&ahead->state, MPIXQ_AHEAD_MADE);
    atomic_store_explicit(&mpixq_progress.hurries, true, memory_order_relaxed);
    return true;
}

void mpixq_rma_ahead_settle(struct mpixq_rma_ahead *ahead, bool has_failed)
{
    list_logged(ahead->window->direct);
    unlist(ahead);
    (void)take_back(ahead);
    mpixq_rma_bells_give(ahead, !has_failed);
    drop_ops(ahead);
}
