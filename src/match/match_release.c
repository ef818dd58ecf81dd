/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is done of one pair when this end of it is let go of, or fails: the peer is told, and the
 * record waits until nothing of it is left. Called by all that ends pairs, of which it knows
 * nothing. */
#include "match_internal.h"

#include <stddef.h>
#include <utlist.h>

#include "control.h"
#include "core/channels.h"
#include "core/graphs.h"
#include "util/log.h"

void mpixq_match_tell_peer(const struct mpixq_pair *pair)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_FAILURE, .u.failure.id = pair->peer_id};

    if (!mpixq_control_send(pair->peer_world, &record)) {
        mpixq_err("no memory to tell rank %d of a failure", pair->peer_world);
    }
}

/* What the GPU has counted last tells the channel which words may be used again, and from which
 * number on. */
void mpixq_match_forget_graphs(struct mpixq_pair *pair)
{
    mpixq_graphs_refresh(pair);
    mpixq_graphs_forget(pair);
}

void mpixq_match_retire(void)
{
    struct mpixq_request **link = &mpixq_matching.retiring;

    while (*link != NULL) {
        struct mpixq_request *req = *link, *next = req->next_released;

        if (mpixq_graphs_have(&req->pair) && !atomic_load(&mpixq_matching.has_stopped)) {
            link = &req->next_released;
            continue;
        }
        mpixq_match_forget_graphs(&req->pair); /* which looks at what retire gives up */
        if (mpixq_channel_retire(&req->pair)) {
            *link = next;
            mpixq_match_id_remove(&req->pair);
            LL_PREPEND2(mpixq_matching.retired, req, next_released);
        } else {
            link = &req->next_released;
        }
    }
}

struct mpixq_request *mpixq_match_take_retired(void)
{
    struct mpixq_request *list = mpixq_matching.retired;

    mpixq_matching.retired = NULL;
    return list;
}

void mpixq_match_destroy(struct mpixq_request *list)
{
    struct mpixq_request *next;

    for (; list != NULL; list = next) {
        next = list->next_released;
        mpixq_request_destroy(list);
    }
}

void mpixq_match_release_one(struct mpixq_request *req)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_RELEASE};
    bool is_send = mpixq_request_is_send(req), peer_is_gone = mpixq_pair_peer_is_gone(&req->pair);

    mpixq_request_release(req);
    mpixq_channel_release(&req->pair);
    /* A sender whose words the receiver's GPU or NIC writes stays until it hears of its end. */
    if (req->pair.peer_world != MPI_PROC_NULL &&
        (is_send || !peer_is_gone || req->pair.channel->of_gpus || req->pair.is_awaited)) {
        record.u.release = (struct mpixq_wire_release){
            .id = req->pair.peer_id,
            .started = is_send ? mpixq_pair_executed(&req->pair) : mpixq_pair_done(&req->pair)};
        if (!mpixq_control_send(req->pair.peer_world, &record)) {
            mpixq_err("no memory to release a pair with rank %d: its tag stays in use",
                      req->pair.peer_world);
        }
    }
    /* A receive waits for its sender, who may still start sends. */
    if (is_send || req->pair.peer_world == MPI_PROC_NULL || peer_is_gone) {
        LL_PREPEND2(mpixq_matching.retiring, req, next_released);
    }
}
