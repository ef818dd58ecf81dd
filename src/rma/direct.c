/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "direct.h"

#include <stdio.h>
#include <utlist.h>

#include "core/channels.h"
#include "core/windows.h"
#include "message.h"
#include "shared.h"
#include "rights.h"
#include "signal_word.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

_Static_assert((int)MPIXQ_NIC_BLOB <= (int)MPIXQ_RMA_EAGER, "it fits into a message");

/* NICs that can be had. */
static void open_nics(struct mpixq_window *window, struct mpixq_rma_direct *direct)
{
    const struct mpixq_channel_windows *ops = mpixq_channels_windows();
    const struct mpixq_nic_memory memory = {
        .kind = window->gpu_kind,
        .base = window->base,
        .bytes = window->bytes,
        .words = window->words,
        .words_bytes = MPIXQ_RMA_PLACES * sizeof *window->words,
    };

    window->why_not_direct = "MPIXQ_CHANNELS has no channel of NICs, or this build";
    direct->ops = ops;
    direct->way = MPIXQ_WAY_NICS;
    direct->nics = ops != NULL ? ops->open(&memory, &window->why_not_direct) : NULL;
}

/* Memory that processes of the node share is better than their NICs, and NICs are, where others are
 * elsewhere: a window has one of the two. */
static void open_either(struct mpixq_window *window, struct mpixq_rma_direct *direct)
{
    if (window->shared == NULL || window->n_neighbours < window->size - 1) {
        open_nics(window, direct);
    }
    if (direct->nics == NULL && window->shared != NULL && window->n_neighbours > 0) {
        direct->ops = mpixq_rma_shared_windows();
        direct->way = MPIXQ_WAY_SHARED;
        direct->nics = mpixq_rma_shared_open(window->shared, window->rank);
    }
}

void mpixq_rma_direct_open(struct mpixq_window *window)
{
    struct mpixq_rma_direct *direct;

    window->why_not_direct = "it is alone";
    if (!mpixq_rma_has_peers(window)) {
        return;
    }
    direct = mpixq_alloc(sizeof *direct); /* freed in close, or here */
    if (direct == NULL) {
        window->why_not_direct = "no memory";
        return;
    }
    open_either(window, direct);
    if (direct->nics == NULL) {
        mpixq_debug("window %llu: no puts and gets by NICs: %s", (unsigned long long)window->number,
                    window->why_not_direct);
        mpixq_free(direct);
        return;
    }
    window->n_nics = direct->ops->nics(direct->nics);
    direct->has_ahead = direct->ops->hold != NULL && direct->ops->has_chains(direct->nics);
    direct->blob_bytes = direct->ops->tell(direct->nics, direct->blob);
    window->direct = direct;
}

static void free_list(struct mpixq_rma_op *list)
{
    struct mpixq_rma_op *op, *next;

    DL_FOREACH_SAFE(list, op, next)
    {
        mpixq_free(op);
    }
}

void mpixq_rma_direct_close(struct mpixq_window *window)
{
    struct mpixq_rma_direct *direct = window->direct;

    if (direct == NULL) {
        return;
    }
    window->in_use |= !direct->ops->close(direct->nics);
    free_list(direct->waiting);
    free_list(direct->flying);
    mpixq_rma_rights_close(window);
    mpixq_free(direct);
    window->direct = NULL;
}

/* Has this process the right to what the block names? */
static bool has_right(const struct mpixq_transfer *transfer, bool is_get,
                      const struct mpixq_rma_peer *peer, struct mpixq_rma_grant **grant_p)
{
    const struct mpixq_rma_direct *direct = transfer->window->direct;
    const struct mpixq_blk *remote = &transfer->remote;

    *grant_p = NULL;
    if (!mpixq_rma_direct_has(transfer->window, is_get) || peer->nics == NULL ||
        !mpixq_blk_fits(remote->offset, remote->bytes, direct->ops->bytes(peer->nics))) {
        return false;
    }
    if (remote->signal != 0) {
        *grant_p = mpixq_rma_grant_find(peer, remote->signal, remote->generation);
        return *grant_p != NULL && !(*grant_p)->is_revoked;
    }
    return true;
}

bool mpixq_rma_direct_may(const struct mpixq_transfer *transfer, bool is_get,
                          const struct mpixq_rma_peer *peer, struct mpixq_rma_way *way_p)
{
    const struct mpixq_rma_direct *direct = transfer->window->direct;
    uint64_t bytes = transfer->local.bytes;

    if (!has_right(transfer, is_get, peer, &way_p->grant) || (bytes == 0 && way_p->grant == NULL)) {
        return false;
    }
    way_p->parts = way_p->piece = 1;
    if (bytes > 0) {
        way_p->parts = direct->ops->parts(direct->nics, bytes, &way_p->piece);
    }
    return way_p->parts <= MPIXQ_SIGNAL_PARTS; /* messages say so */
}

struct mpixq_rma_op *mpixq_rma_direct_op(const struct mpixq_transfer *transfer, bool is_get,
                                         const struct mpixq_rma_peer *peer,
                                         const struct mpixq_rma_way *way, uint32_t part)
{
    struct mpixq_rma_op *op = mpixq_rma_part_new(transfer, is_get ? MPIXQ_RMA_GET : MPIXQ_RMA_PUT,
                                                 part, (uint32_t)way->parts, way->piece);

    if (op != NULL) {
        op->peer = peer->rank;
        op->grant = way->grant;
        if (way->grant != NULL) {
            way->grant->flying++;
        }
    }
    return op;
}

void mpixq_rma_direct_begun(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    struct mpixq_rma_direct *direct = window->direct;

    direct->n++;
    if (op->held != NULL) {
        DL_APPEND(direct->flying, op);
    } else {
        DL_APPEND(direct->waiting, op);
    }
}

void mpixq_rma_direct_let_go(struct mpixq_window *window, const struct mpixq_rma_op *op)
{
    struct mpixq_rma_grant *grant = op->grant;

    if (grant != NULL && --grant->flying == 0 && grant->is_revoked) {
        mpixq_rma_grant_give_back(window, mpixq_rma_peer(window, op->peer), grant);
    }
}

bool mpixq_rma_direct_has(const struct mpixq_window *window, bool is_get)
{
    return window->direct != NULL && (!is_get || window->direct->ops->has_gets);
}

bool mpixq_rma_direct_begin(const struct mpixq_transfer *transfer, bool is_get,
                            struct mpixq_rma_peer *peer)
{
    struct mpixq_window *window = transfer->window;
    struct mpixq_rma_way way;

    if (!mpixq_rma_direct_may(transfer, is_get, peer, &way)) {
        return false;
    }
    for (uint32_t part = 0; part < way.parts; part++) {
        struct mpixq_rma_op *op = mpixq_rma_direct_op(transfer, is_get, peer, &way, part);

        if (op == NULL) {
            break; /* no memory, and the window has failed */
        }
        mpixq_rma_direct_begun(window, op);
    }
    return true;
}

void mpixq_rma_direct_describe(struct mpixq_window *window, struct mpixq_rma_op *op,
                               struct mpixq_nic_part *part_p)
{
    const struct mpixq_rma_header *header = &op->header;

    *part_p = (struct mpixq_nic_part){
        .peer = mpixq_rma_peer(window, op->peer)->nics,
        .is_get = op->header.message == MPIXQ_RMA_GET,
        .data = op->data,
        .offset = header->offset,
        .bytes = header->bytes,
        .tells = op->grant != NULL,
        .word = op->grant == NULL ? 0
                                  : (header->signal - 1) * sizeof(struct mpixq_signal_words) +
                                        offsetof(struct mpixq_signal_words, nic),
        .addend = (uint64_t)mpixq_signal_addend(header->part, header->parts),
        .arg = op,
    };
}

static bool start(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    struct mpixq_nic_part part;

    mpixq_rma_direct_describe(window, op, &part);
    return window->direct->ops->start(&part);
}

/* Whoever waits for the signal of the peer is told by a message, which a flush waits for, too. */
void mpixq_rma_direct_fail(struct mpixq_window *window, const struct mpixq_rma_op *op,
                           const char *why)
{
    struct mpixq_rma_peer *peer = mpixq_rma_peer(window, op->peer);
    bool is_get = op->header.message == MPIXQ_RMA_GET || op->asks_get;
    struct mpixq_rma_op *message;
    char what[96], text[MPIXQ_ERROR_ROOM];
    int code;

    (void)snprintf(what, sizeof what, "%s rank %d of window %llu, offset %llu",
                   is_get ? "get from" : "put to", op->peer, (unsigned long long)window->number,
                   (unsigned long long)op->header.offset);
    (void)snprintf(text, sizeof text, "%s: %s", mpixq_error_text(MPIXQ_E_FABRIC), why);
    code = mpixq_error_cause(MPIXQ_E_FABRIC, what, text);
    mpixq_rma_give_up(window, op, code);
    message = mpixq_rma_message_new(window, MPIXQ_RMA_FAILED);
    if (message != NULL) {
        message->header.signal = op->header.signal;
        message->header.generation = op->header.generation;
        message->header.offset = op->header.offset;
        message->header.value = is_get;
        peer->started++;
        mpixq_rma_send(window, peer, MPIXQ_RMA_ANSWERS, message);
    }
}

/* Who waits for it waits for nothing. */
void mpixq_rma_direct_failed(struct mpixq_window *window, const struct mpixq_rma_header *header,
                             const struct mpixq_rma_peer *peer)
{
    struct mpixq_signal *signal;
    char what[96];

    (void)snprintf(what, sizeof what, "%s by rank %d of window %llu, offset %llu",
                   header->value != 0 ? "get" : "put", peer->rank,
                   (unsigned long long)window->number, (unsigned long long)header->offset);
    (void)mpixq_rma_signal_find(window, header->signal, header->generation, &signal);
    mpixq_rma_signal_fail(
        signal, mpixq_error_cause(MPIXQ_E_FABRIC, what, mpixq_error_text(MPIXQ_E_FABRIC)));
}

/* As who was put to would have done. */
static void refuse(struct mpixq_window *window, const struct mpixq_rma_op *op)
{
    char what[96];

    (void)snprintf(what, sizeof what, "put to rank %d of window %llu, offset %llu", op->peer,
                   (unsigned long long)window->number, (unsigned long long)op->header.offset);
    mpixq_rma_give_up(
        window, op,
        mpixq_error_cause(MPIXQ_E_BLK_STALE, what, mpixq_error_text(MPIXQ_E_BLK_STALE)));
}

static void finish(struct mpixq_window *window, struct mpixq_rma_op *op, const char *why)
{
    DL_DELETE(window->direct->flying, op);
    window->direct->n--;
    if (why != NULL) {
        mpixq_rma_direct_fail(window, op, why);
    } else if (op->is_late) {
        refuse(window, op);
    } else {
        mpixq_rma_tell(window, op, op->peer);
    }
    mpixq_rma_direct_let_go(window, op);
    mpixq_rma_end(window, op);
}

bool mpixq_rma_direct_is_shared(const struct mpixq_window *window)
{
    return window->direct != NULL && window->direct->way == MPIXQ_WAY_SHARED;
}

bool mpixq_rma_direct_copies(const struct mpixq_window *window)
{
    return mpixq_rma_direct_is_shared(window) && window->direct->waiting != NULL &&
           atomic_load(&window->failed) == MPI_SUCCESS;
}

void mpixq_rma_direct_go(struct mpixq_window *window)
{
    struct mpixq_rma_direct *direct = window->direct;
    struct mpixq_rma_op *op;
    const char *why;
    bool started;
    void *over;

    if (direct == NULL || (direct->n == 0 && direct->ahead == NULL)) {
        return;
    }
    do { /* what is copied is over at once */
        started = false;
        while (direct->ops->take(direct->nics, &over, &why)) {
            finish(window, over, why);
        }
        /* Of a window that has failed the program may use its blocks again. */
        while (atomic_load(&window->failed) == MPI_SUCCESS && (op = direct->waiting) != NULL &&
               start(window, op)) {
            DL_DELETE(direct->waiting, op);
            DL_APPEND(direct->flying, op);
            started = true;
        }
    } while (started && mpixq_rma_direct_is_shared(window));
}

bool mpixq_rma_direct_is_quiet(const struct mpixq_window *window)
{
    return window->direct == NULL || (window->direct->n == 0 && window->direct->n_awaited == 0);
}

bool mpixq_rma_direct_reaches(const struct mpixq_window *window)
{
    return window->direct != NULL && window->direct->n_peers > 0;
}

int mpixq_rma_direct_lost(struct mpixq_window *window)
{
    struct mpixq_rma_direct *direct = window->direct;
    struct mpixq_rma_peer *peer, *next;
    int lost = -1;

    HASH_ITER(hh, window->peers, peer, next)
    {
        if (peer->nics != NULL && direct->ops->has_lost(peer->nics)) {
            lost = peer->rank;
        }
    }
    return lost;
}
