/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A match that is given up before it has ended.
 *
 * A receive is just taken out of the pairing: no peer knows of it. A send has been offered. It is
 * over here at once, and its offer is withdrawn: the receiver drops it if it has not paired it. If
 * it has, its answer comes for a number that is not used any more and never again; then the
 * receiver, which takes the pair for matched, is told that it has failed. */
#include "match_internal.h"

#include "comm/comm.h"
#include "control.h"
#include "match_channels.h"
#include "offer.h"
#include "util/log.h"

static void withdraw_offer(struct mpixq_request *req)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_WITHDRAW};
    struct mpixq_comm_view view;
    int tag;

    mpixq_match_envelope(req, &view, &tag);
    record.u.withdraw = (struct mpixq_wire_withdraw){
        .sender_id = req->pair.id, .ident = view.ident, .source = view.rank, .tag = tag};
    if (!mpixq_control_send(req->pair.peer_world, &record)) {
        mpixq_err("no memory to withdraw an offer to rank %d, which may still pair it",
                  req->pair.peer_world);
    }
    mpixq_match_drop_offers(req, NULL);
}

void mpixq_match_give_up_one(struct mpixq_request *req, enum mpixq_error error)
{
    if (mpixq_match_give_up_opening(req, error) || mpixq_match_give_up_split(req, error)) {
        return;
    }
    if (mpixq_request_is_send(req)) {
        withdraw_offer(req);
    } else {
        mpixq_pairing_drop_posted(&mpixq_matching.pairing, &req->posted);
    }
    mpixq_match_finish(req, error);
}

static void give_up_with_op(struct mpixq_request *req, void *arg)
{
    (void)arg;
    if (mpixq_request_state(req) == MPIXQ_MATCHING && req->op->given_up != MPIXQ_E_NONE) {
        mpixq_match_give_up_one(req, req->op->given_up);
    }
}

void mpixq_match_give_up(void)
{
    mpixq_match_each(give_up_with_op, NULL);
}

struct withdrawn {
    int source;
    uint64_t sender_id;
};

static void give_up_withdrawn(struct mpixq_request *req, void *arg)
{
    const struct withdrawn *gone = arg;

    if (mpixq_request_state(req) == MPIXQ_MATCHING && !mpixq_request_is_send(req) &&
        req->opening != NULL && req->pair.peer_world == gone->source &&
        req->pair.peer_id == gone->sender_id) {
        (void)mpixq_match_give_up_opening(req, MPIXQ_E_GAVE_UP);
    }
}

void mpixq_match_record_withdraw(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_withdraw *wire = &record->u.withdraw;
    struct mpixq_offered *offered =
        mpixq_pairing_find_offered(&mpixq_matching.pairing, wire->ident, wire->source, wire->tag);

    for (; offered != NULL; offered = mpixq_pairing_next_offered(offered)) {
        struct mpixq_offer *offer = mpixq_offer_of(offered);
        struct mpixq_record theirs;

        if (mpixq_offer_read(offer, &theirs) == source &&
            theirs.u.offer.sender_id == wire->sender_id) {
            mpixq_pairing_drop_offered(&mpixq_matching.pairing, offered);
            mpixq_offer_free(offer);
            return;
        }
    }
    /* It was paired before: the answer is under way, or memory is being opened. */
    mpixq_match_each(give_up_withdrawn, &(struct withdrawn){source, wire->sender_id});
}

void mpixq_match_cut_off(int world, uint64_t receiver_id)
{
    struct mpixq_record failure = {.kind = MPIXQ_WIRE_FAILURE, .u.failure.id = receiver_id};
    struct mpixq_record release = {.kind = MPIXQ_WIRE_RELEASE, .u.release.id = receiver_id};

    if (!mpixq_control_send(world, &failure) || !mpixq_control_send(world, &release)) {
        mpixq_err("no memory to tell rank %d that a match failed", world);
    }
}

/* Of a receive from anywhere no peer is known until it is paired: others may send. */
int mpixq_match_peer(const struct mpixq_request *req)
{
    if (req->opening != NULL) {
        return req->pair.peer_world;
    }
    return req->peer == MPI_ANY_SOURCE || req->peer == MPI_PROC_NULL /* of a collective */
               ? -1
               : mpixq_comm_world_rank(req->comm, req->peer);
}

bool mpixq_match_is_strange(const struct mpixq_request *req)
{
    return req->peer != MPI_ANY_SOURCE &&
           mpixq_control_is_strange(mpixq_comm_world_rank(req->comm, req->peer));
}

static void end_if_strange(struct mpixq_request *req, void *arg)
{
    if (mpixq_request_state(req) == MPIXQ_MATCHING && mpixq_match_peer(req) == *(const int *)arg) {
        mpixq_match_give_up_one(req, MPIXQ_E_VERSION);
    }
}

void mpixq_match_end_strange(int world_rank)
{
    mpixq_match_each(end_if_strange, &world_rank);
}
