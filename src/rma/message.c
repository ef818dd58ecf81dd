/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "message.h"

#include "util/log.h"

struct mpixq_rma_op *mpixq_rma_message_new(struct mpixq_window *window,
                                           enum mpixq_rma_message message)
{
    struct mpixq_rma_op *op = mpixq_rma_op_new(window);

    if (op == NULL) {
        return NULL;
    }
    op->header.message = message;
    op->header.key = ++window->last_key;
    op->request = MPI_REQUEST_NULL;
    return op;
}

struct mpixq_rma_op *mpixq_rma_part_new(const struct mpixq_transfer *transfer,
                                        enum mpixq_rma_message message, uint32_t part,
                                        uint32_t parts, uint64_t piece)
{
    const struct mpixq_blk *local = &transfer->local, *remote = &transfer->remote;
    uint64_t before = part * piece, left = local->bytes - before;
    struct mpixq_window *window = transfer->window;
    struct mpixq_rma_op *op = mpixq_rma_message_new(window, message);

    if (op == NULL) {
        return NULL;
    }
    op->header.part = part;
    op->header.parts = parts;
    op->header.signal = remote->signal;
    op->header.generation = remote->generation;
    op->header.offset = remote->offset + before;
    op->header.bytes = left < piece ? left : piece;
    op->data = window->base + local->offset + before;
    op->signal = local->signal;
    op->generation = local->generation;
    op->is_own = true;
    window->n_own++;
    return op;
}

void mpixq_rma_answer(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                      enum mpixq_rma_message message, uint64_t to, uint64_t offset, uint64_t value)
{
    struct mpixq_rma_op *op = mpixq_rma_message_new(window, message);

    if (op != NULL) {
        op->header.to = to;
        op->header.offset = offset;
        op->header.value = value;
        mpixq_rma_send(window, peer, MPIXQ_RMA_ANSWERS, op);
    }
}

void mpixq_rma_answer_signal(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                             enum mpixq_rma_message message, uint32_t signal, uint32_t generation)
{
    struct mpixq_rma_op *op = mpixq_rma_message_new(window, message);

    if (op != NULL) {
        op->header.signal = signal;
        op->header.generation = generation;
        mpixq_rma_send(window, peer, MPIXQ_RMA_ANSWERS, op);
    }
}

void mpixq_rma_tell(struct mpixq_window *window, const struct mpixq_rma_op *op, int peer)
{
    struct mpixq_signal *signal;

    (void)mpixq_rma_signal_find(window, op->signal, op->generation, &signal);
    mpixq_rma_signal_add(signal, op->header.part, op->header.parts, peer, op->header.offset);
}

void mpixq_rma_end(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    window->n_own -= op->is_own;
    mpixq_rma_op_free(window, op);
}

void mpixq_rma_give_up(struct mpixq_window *window, const struct mpixq_rma_op *op, int code)
{
    struct mpixq_signal *signal;

    window->refused = window->refused == MPI_SUCCESS ? code : window->refused;
    if (op != NULL) {
        (void)mpixq_rma_signal_find(window, op->signal, op->generation, &signal);
        mpixq_rma_signal_fail(signal, code);
    }
}

void mpixq_rma_answer_flush(struct mpixq_window *window, struct mpixq_rma_peer *peer)
{
    if (peer->to_answer != 0 && peer->arrived >= peer->to_answer) {
        mpixq_rma_answer(window, peer, MPIXQ_RMA_FLUSHED, 0, 0, peer->arrived);
        peer->to_answer = 0;
    }
}

void mpixq_rma_refuse(struct mpixq_window *window, const struct mpixq_rma_header *header,
                      struct mpixq_rma_peer *peer, enum mpixq_error error)
{
    mpixq_err("window %llu: rank %d wants %llu bytes at offset %llu: %s",
              (unsigned long long)window->number, peer->rank, (unsigned long long)header->bytes,
              (unsigned long long)header->offset, mpixq_error_text(error));
    mpixq_rma_answer(window, peer, MPIXQ_RMA_REFUSE, header->key, header->offset, (uint64_t)error);
    if (header->message == MPIXQ_RMA_PUT) {
        peer->arrived++;
        mpixq_rma_answer_flush(window, peer);
    }
}
