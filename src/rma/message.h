/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages of a window (transport.h), and what becomes of a put or a get. Under the lock.
 */
#ifndef MPIXQ_RMA_MESSAGE_H
#define MPIXQ_RMA_MESSAGE_H

#include "put.h"
#include "transport.h"
#include "window.h"

/* A new one; NULL without memory, and the window has failed. */
struct mpixq_rma_op *mpixq_rma_message_new(struct mpixq_window *window,
                                           enum mpixq_rma_message message);
/* One of so many parts of a put or a get of this process, each but the last of piece bytes: what it
 * says is about the remote block, and what it has here about the local one. NULL likewise. */
struct mpixq_rma_op *mpixq_rma_part_new(const struct mpixq_transfer *transfer,
                                        enum mpixq_rma_message message, uint32_t part,
                                        uint32_t parts, uint64_t piece);
/* Sent before all but other answers. */
void mpixq_rma_answer(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                      enum mpixq_rma_message message, uint64_t to, uint64_t offset, uint64_t value);
/* The same about a signal. */
void mpixq_rma_answer_signal(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                             enum mpixq_rma_message message, uint32_t signal, uint32_t generation);
/* Data has moved: the signal of this end is told, if it is still there. */
void mpixq_rma_tell(struct mpixq_window *window, const struct mpixq_rma_op *op, int peer);
void mpixq_rma_end(struct mpixq_window *window, struct mpixq_rma_op *op);
/* Its data, if it has any, went by being read out of memory, which is counted where it was started;
 * returns it. NULL: there is none. */
struct mpixq_rma_op *mpixq_rma_was_read(struct mpixq_window *window, struct mpixq_rma_op *op);
/* It never will: the next flush says why, and the signal of this end fails. */
void mpixq_rma_give_up(struct mpixq_window *window, const struct mpixq_rma_op *op, int code);

/* What a peer wants is not to be: it is told, and a put counts as arrived. */
void mpixq_rma_refuse(struct mpixq_window *window, const struct mpixq_rma_header *header,
                      struct mpixq_rma_peer *peer, enum mpixq_error error);
/* A peer's flush is answered if all that it waits for has come; and (flush.c) what it waits for. */
void mpixq_rma_answer_flush(struct mpixq_window *window, struct mpixq_rma_peer *peer);
void mpixq_rma_came_flush(struct mpixq_window *window, const struct mpixq_rma_header *header,
                          struct mpixq_rma_peer *peer);

#endif
