/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "protocol.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "ahead.h"
#include "direct.h"
#include "message.h"
#include "nics.h"
#include "pull.h"
#include "rights.h"
#include "signal_word.h"
#include "transport.h"
#include "util/alloc.h"
#include "util/log.h"
#include "window.h"

/* Receives for data of a peer are posted in the order in which it is told to send, and that is the
 * order in which it sends: so all data can have one tag. */
enum { PART = 4 << 20, DATA_TAG = 1 };

/* ---- At the end that starts ---- */

static void ask(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    HASH_ADD(hh, window->asked, header.key, sizeof op->header.key, op);
    if (!mpixq_in_table(op->hh)) {
        mpixq_rma_window_fail(window, mpixq_error_code(MPIXQ_E_NO_MEMORY));
        mpixq_rma_op_free(window, op);
    }
}

static void sent(struct mpixq_window *window, struct mpixq_rma_peer *peer, struct mpixq_rma_op *op)
{
    switch (op->header.message) {
    case MPIXQ_RMA_PUT:
    case MPIXQ_RMA_REPLY:
        if (op->header.is_eager) {
            mpixq_rma_tell(window, op, peer->rank);
            mpixq_rma_end(window, op);
        } else {
            peer->waiting++;
            ask(window, op);
        }
        break;
    case MPIXQ_RMA_GET:
        peer->gets++;
        ask(window, op);
        break;
    case MPIXQ_RMA_ASK:
        ask(window, op);
        break;
    default:
        mpixq_rma_op_free(window, op);
        break;
    }
}

/* What an answer is about, taken out of the table; NULL: an answer that makes no sense. */
static struct mpixq_rma_op *take_asked(struct mpixq_window *window, uint64_t key, int peer)
{
    struct mpixq_rma_op *op;

    HASH_FIND(hh, window->asked, &key, sizeof key, op);
    if (op == NULL || op->peer != peer) {
        return NULL;
    }
    HASH_DEL(window->asked, op);
    return op;
}

/* ---- Data by rendezvous ---- */

/* The data of an op has moved: to this process, or away. */
static void has_come(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                     struct mpixq_rma_op *op)
{
    mpixq_rma_tell(window, op, peer->rank);
    if (op->is_own) {
        peer->gets--;
    } else {
        peer->arrived++;
        mpixq_rma_answer_flush(window, peer);
    }
    mpixq_rma_end(window, op);
}

static void has_left(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                     struct mpixq_rma_op *op)
{
    if (op != NULL) {
        mpixq_rma_tell(window, op, peer->rank);
        peer->waiting--;
        mpixq_rma_end(window, op);
    }
}

/* Read data into the op's memory; or receive it from the peer, and tell that to send. */
static void receive_data(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                         struct mpixq_rma_op *op, const struct mpixq_rma_header *header)
{
    int rc;

    if (mpixq_rma_pull(peer->neighbour, op->data, header->from, op->header.bytes)) {
        mpixq_rma_answer(window, peer, MPIXQ_RMA_TAKEN, header->key, op->header.offset, 0);
        has_come(window, peer, mpixq_rma_was_read(window, op));
        return;
    }
    op->comes = true;
    op->peer = peer->rank;
    rc = PMPI_Irecv(op->data, (int)op->header.bytes, MPI_BYTE, peer->rank, DATA_TAG, window->comm,
                    &op->request);
    if (rc != MPI_SUCCESS) {
        mpixq_rma_mpi_failed(window, rc, "receive data");
        mpixq_rma_op_free(window, op);
        return;
    }
    DL_APPEND(window->moving, op);
    mpixq_rma_answer(window, peer, MPIXQ_RMA_GO, header->key, op->header.offset, 0);
}

/* The data of which op the answer is about. NULL: the window has failed. */
static struct mpixq_rma_op *take_leaving(struct mpixq_window *window,
                                         const struct mpixq_rma_header *header, int from)
{
    struct mpixq_rma_op *op = take_asked(window, header->to, from);

    if (op != NULL && op->header.message != MPIXQ_RMA_GET) {
        return op;
    }
    mpixq_rma_mpi_failed(window, MPI_ERR_OTHER, "understand an answer");
    mpixq_rma_op_free(window, op);
    return NULL;
}

static void send_data(struct mpixq_window *window, const struct mpixq_rma_header *header, int from)
{
    struct mpixq_rma_op *op = take_leaving(window, header, from);
    int rc;

    if (op == NULL || atomic_load(&window->failed) != MPI_SUCCESS) {
        mpixq_rma_op_free(window, op); /* the program may have used the block again */
        return;
    }
    if (op->header.message == MPIXQ_RMA_ASK) {
        mpixq_rma_nics_go(window, op);
        return;
    }
    rc = PMPI_Isend(op->data, (int)op->header.bytes, MPI_BYTE, from, DATA_TAG, window->comm,
                    &op->request);
    if (rc != MPI_SUCCESS) {
        mpixq_rma_mpi_failed(window, rc, "send data");
        mpixq_rma_op_free(window, op);
        return;
    }
    DL_APPEND(window->moving, op);
}

/* MPI has moved the data of an op. */
static void moved(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    struct mpixq_rma_peer *peer = mpixq_rma_peer(window, op->peer);

    if (op->comes) {
        has_come(window, peer, op);
    } else {
        has_left(window, peer, op);
    }
}

static void look_at_data(struct mpixq_window *window)
{
    struct mpixq_rma_op *op, *next;

    DL_FOREACH_SAFE(window->moving, op, next)
    {
        int done = 0, rc = PMPI_Test(&op->request, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS) {
            mpixq_rma_mpi_failed(window, rc, "move data");
            return;
        }
        if (done) {
            DL_DELETE(window->moving, op);
            moved(window, op);
        }
    }
}

/* ---- At the end that a put or get goes to ---- */

/* What a message says of this window holds; data that it is about goes in parts. */
static enum mpixq_error check(const struct mpixq_window *window,
                              const struct mpixq_rma_header *header, struct mpixq_signal **signal_p)
{
    if (window->mapped != NULL) {
        return MPIXQ_E_BLK; /* nobody sends what GPUs move */
    }
    if (!mpixq_blk_fits(header->offset, header->bytes, window->bytes)) {
        return MPIXQ_E_BLK_RANGE;
    }
    if ((header->bytes > PART && header->message != MPIXQ_RMA_ASK) || header->parts == 0 ||
        header->parts > MPIXQ_SIGNAL_PARTS || header->part >= header->parts) {
        return MPIXQ_E_BLK;
    }
    return mpixq_rma_signal_find(window, header->signal, header->generation, signal_p);
}

/* An op of this process about the block that the message names. */
static struct mpixq_rma_op *op_about(struct mpixq_window *window,
                                     const struct mpixq_rma_header *header,
                                     enum mpixq_rma_message message)
{
    struct mpixq_rma_op *op = mpixq_rma_message_new(window, message);

    if (op != NULL) {
        op->header.part = header->part;
        op->header.parts = header->parts;
        op->header.offset = header->offset;
        op->header.bytes = header->bytes;
        op->data = window->base + header->offset;
        op->signal = header->signal;
        op->generation = header->generation;
    }
    return op;
}

/* Who asks is told its rights before the answer. */
static void came_ask(struct mpixq_window *window, const struct mpixq_rma_header *header,
                     struct mpixq_rma_peer *peer)
{
    struct mpixq_signal *signal;
    enum mpixq_error error = check(window, header, &signal);

    if (error != MPIXQ_E_NONE) {
        mpixq_rma_refuse(window, header, peer, error);
        return;
    }
    mpixq_rma_rights_grant(window, peer, header);
    mpixq_rma_answer(window, peer, MPIXQ_RMA_GO, header->key, header->offset, 0);
}

static void came_put(struct mpixq_window *window, const struct mpixq_rma_header *header,
                     const void *data, struct mpixq_rma_peer *peer)
{
    struct mpixq_signal *signal;
    enum mpixq_error error = check(window, header, &signal);
    struct mpixq_rma_op *op;

    if (error != MPIXQ_E_NONE) {
        mpixq_rma_refuse(window, header, peer, error);
        return;
    }
    mpixq_rma_rights_grant(window, peer, header);
    if (header->is_eager) {
        if (header->bytes > 0) {
            memcpy(window->base + header->offset, data, header->bytes);
        }
        mpixq_rma_signal_add(signal, header->part, header->parts, peer->rank, header->offset);
        peer->arrived++;
        mpixq_rma_answer_flush(window, peer);
        return;
    }
    op = op_about(window, header, MPIXQ_RMA_PUT);
    if (op != NULL) {
        receive_data(window, peer, op, header);
    }
}

static void came_get(struct mpixq_window *window, const struct mpixq_rma_header *header,
                     struct mpixq_rma_peer *peer)
{
    struct mpixq_signal *signal;
    enum mpixq_error error = check(window, header, &signal);
    struct mpixq_rma_op *op;

    if (error != MPIXQ_E_NONE) {
        mpixq_rma_refuse(window, header, peer, error);
        return;
    }
    mpixq_rma_rights_grant(window, peer, header);
    op = op_about(window, header, MPIXQ_RMA_REPLY);
    if (op != NULL) {
        op->header.to = header->key;
        op->header.is_eager = header->bytes <= MPIXQ_RMA_EAGER;
        op->header.from = (uint64_t)(uintptr_t)op->data;
        mpixq_rma_send(window, peer, MPIXQ_RMA_DATA, op);
    }
}

static void came_reply(struct mpixq_window *window, const struct mpixq_rma_header *header,
                       const void *data, struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_op *op = take_asked(window, header->to, peer->rank);

    if (op == NULL || op->header.message != MPIXQ_RMA_GET || op->header.bytes != header->bytes) {
        mpixq_rma_mpi_failed(window, MPI_ERR_OTHER, "understand the reply to a get");
        mpixq_rma_op_free(window, op);
        return;
    }
    if (!header->is_eager) {
        receive_data(window, peer, op, header);
        return;
    }
    if (header->bytes > 0) {
        memcpy(op->data, data, header->bytes);
    }
    mpixq_rma_tell(window, op, peer->rank);
    peer->gets--;
    mpixq_rma_end(window, op);
}

/* The code of a refusal, kept for the next flush. Data that was sent along has left its block, and
 * its signal was told; what was to follow never will be, so its signal fails. */
static void came_refusal(struct mpixq_window *window, const struct mpixq_rma_header *header,
                         struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_op *op = take_asked(window, header->to, peer->rank);
    enum mpixq_error error =
        header->value < MPIXQ_E_COUNT ? (enum mpixq_error)header->value : MPIXQ_E_BLK;
    char what[96];

    (void)snprintf(what, sizeof what, "refused by rank %d of window %llu, offset %llu", peer->rank,
                   (unsigned long long)window->number, (unsigned long long)header->offset);
    mpixq_rma_give_up(window, op, mpixq_error_cause(error, what, mpixq_error_text(error)));
    if (op != NULL) {
        peer->gets -= op->header.message == MPIXQ_RMA_GET;
        peer->waiting -= op->header.message == MPIXQ_RMA_PUT;
        mpixq_rma_end(window, op);
    }
}

/* Of what NICs were to move. A flush waits for the message, too. */
static void came_failure(struct mpixq_window *window, const struct mpixq_rma_header *header,
                         struct mpixq_rma_peer *peer)
{
    mpixq_rma_direct_failed(window, header, peer);
    peer->arrived++;
    mpixq_rma_answer_flush(window, peer);
}

static void came_answer(struct mpixq_window *window, const struct mpixq_rma_header *header,
                        const void *data, struct mpixq_rma_peer *peer)
{
    switch (header->message) {
    case MPIXQ_RMA_GO:
        send_data(window, header, peer->rank);
        break;
    case MPIXQ_RMA_TAKEN:
        has_left(window, peer,
                 mpixq_rma_was_read(window, take_leaving(window, header, peer->rank)));
        break;
    case MPIXQ_RMA_REFUSE:
        came_refusal(window, header, peer);
        break;
    case MPIXQ_RMA_FLUSHED:
        peer->flushed = header->value > peer->flushed ? header->value : peer->flushed;
        break;
    default:
        mpixq_rma_rights_came(window, header, data, peer);
        break;
    }
}

static void came(struct mpixq_window *window, const struct mpixq_rma_header *header,
                 const void *data, struct mpixq_rma_peer *peer)
{
    switch (header->message) {
    case MPIXQ_RMA_PUT:
        came_put(window, header, data, peer);
        break;
    case MPIXQ_RMA_GET:
        came_get(window, header, peer);
        break;
    case MPIXQ_RMA_ASK:
        came_ask(window, header, peer);
        break;
    case MPIXQ_RMA_REPLY:
        came_reply(window, header, data, peer);
        break;
    case MPIXQ_RMA_FLUSH:
        mpixq_rma_came_flush(window, header, peer);
        break;
    case MPIXQ_RMA_CREDIT:
        break;
    case MPIXQ_RMA_FAILED:
        came_failure(window, header, peer);
        break;
    default:
        came_answer(window, header, data, peer);
        break;
    }
}

/* ---- What others call ---- */

void mpixq_rma_protocol_go(struct mpixq_window *window)
{
    static const struct mpixq_rma_protocol protocol = {.sent = sent, .came = came};

    mpixq_rma_transport_go(window, &protocol);
    mpixq_rma_ahead_go(window);
    if (window->moving != NULL && atomic_load(&window->failed) == MPI_SUCCESS) {
        look_at_data(window);
    }
}

static bool begin_part(const struct mpixq_transfer *transfer, bool is_get,
                       struct mpixq_rma_peer *peer, uint32_t part, uint32_t parts)
{
    struct mpixq_window *window = transfer->window;
    struct mpixq_rma_op *op =
        mpixq_rma_part_new(transfer, is_get ? MPIXQ_RMA_GET : MPIXQ_RMA_PUT, part, parts, PART);

    if (op == NULL) {
        return false;
    }
    op->header.value = mpixq_rma_direct_has(window, is_get);
    op->header.is_eager = !is_get && op->header.bytes <= MPIXQ_RMA_EAGER;
    op->header.from = is_get ? 0 : (uint64_t)(uintptr_t)op->data;
    peer->started += !is_get;
    mpixq_rma_send(window, peer, is_get ? MPIXQ_RMA_GETS : MPIXQ_RMA_DATA, op);
    return true;
}

/* By messages, as nobody has moved it otherwise. */
static void begin_parts(const struct mpixq_transfer *transfer, bool is_get,
                        struct mpixq_rma_peer *peer)
{
    uint64_t bytes = transfer->local.bytes, parts = bytes == 0 ? 1 : (bytes - 1) / PART + 1;

    for (uint32_t part = 0; part < parts; part++) {
        if (!begin_part(transfer, is_get, peer, part, (uint32_t)parts)) {
            break;
        }
    }
}

int mpixq_rma_begin(const struct mpixq_transfer *transfer, enum mpixq_rma_call call)
{
    struct mpixq_window *window = transfer->window;
    struct mpixq_rma_peer *peer = mpixq_rma_peer(window, transfer->remote.rank);
    enum mpixq_stats_way way = MPIXQ_WAY_MESSAGES;
    bool is_get = call == MPIXQ_CALL_GET;

    if (transfer->local.bytes > (uint64_t)MPIXQ_SIGNAL_PARTS * PART) {
        return mpixq_error_code(MPIXQ_E_BLK_PARTS);
    }
    if (peer != NULL && mpixq_rma_direct_begin(transfer, is_get, peer)) {
        way = window->direct->way;
    } else if (peer != NULL && window->gpu_kind != NULL) {
        way = window->direct->way;
        mpixq_rma_nics_ask(transfer, is_get, peer);
    } else if (peer != NULL) {
        begin_parts(transfer, is_get, peer);
    }
    mpixq_rma_count(window, way, call, transfer->local.bytes);
    return atomic_load(&window->failed);
}

/* What MPI has begun to receive cannot be cancelled. */
static void end_data(struct mpixq_window *window)
{
    uint64_t until_ns = mpixq_rma_patience();
    struct mpixq_rma_op *op, *next;

    DL_FOREACH(window->moving, op)
    {
        if (op->comes && op->request != MPI_REQUEST_NULL) {
            (void)PMPI_Cancel(&op->request);
        }
    }
    DL_FOREACH_SAFE(window->moving, op, next)
    {
        window->in_use |= !mpixq_rma_request_end(&op->request, until_ns);
        DL_DELETE(window->moving, op);
        mpixq_free(op);
    }
}

void mpixq_rma_protocol_close(struct mpixq_window *window)
{
    struct mpixq_rma_op *op, *next;

    HASH_ITER(hh, window->asked, op, next)
    {
        HASH_DEL(window->asked, op);
        mpixq_free(op);
    }
    end_data(window);
    mpixq_rma_transport_close(window);
}
