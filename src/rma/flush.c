/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "message.h"
#include "protocol.h"

void mpixq_rma_came_flush(struct mpixq_window *window, const struct mpixq_rma_header *header,
                          struct mpixq_rma_peer *peer)
{
    peer->to_answer = header->value > peer->to_answer ? header->value : peer->to_answer;
    mpixq_rma_answer_flush(window, peer);
}

bool mpixq_rma_is_flushed(struct mpixq_window *window)
{
    struct mpixq_rma_peer *peer, *next;
    bool is_flushed = window->n_own == 0;

    HASH_ITER(hh, window->peers, peer, next)
    {
        if (peer->asked < peer->started) {
            peer->asked = peer->started;
            mpixq_rma_answer(window, peer, MPIXQ_RMA_FLUSH, 0, 0, peer->started);
        }
        is_flushed = is_flushed && peer->flushed >= peer->started;
    }
    return is_flushed;
}
