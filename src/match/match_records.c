/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Records that arrive: who hears of each. An answer is looked at here, as what it ends may be a
 * match, one that is being opened, or a pair. */
#include "match_internal.h"

#include <stddef.h>

#include "control.h"
#include "core/channels.h"
#include "match_channels.h"
#include "util/log.h"

/* A receiver has given up what the sender has opened for, or is about to. */
static void end_answered(struct mpixq_request *req, enum mpixq_error error, int source)
{
    struct mpixq_record failure = {.kind = MPIXQ_WIRE_FAILURE, .u.failure.id = req->pair.id};
    struct mpixq_record release = {.kind = MPIXQ_WIRE_RELEASE, .u.release.id = req->pair.id};

    if (mpixq_request_state(req) == MPIXQ_MATCHING) {
        (void)mpixq_match_give_up_opening(req, error);
    } else {
        /* Its verdict was too late: the peer starts nothing, and is as good as freed. */
        mpixq_match_record_failure(&failure, source);
        mpixq_match_record_release(&release, source);
    }
}

/* Is it an answer that this end waits for? It may also take back one that this end has taken. */
static bool is_known(struct mpixq_request *req, const struct mpixq_wire_answer *wire, int source)
{
    bool is_ours = req != NULL && mpixq_request_is_send(req) && req->pair.peer_world == source;
    bool waits = is_ours && mpixq_request_state(req) == MPIXQ_MATCHING && req->opening == NULL &&
                 !mpixq_match_is_split_answered(req);

    if (is_ours && !waits && wire->error != MPIXQ_E_NONE &&
        req->pair.peer_id == wire->receiver_id) {
        end_answered(req, (enum mpixq_error)wire->error, source);
    } else if (!waits) {
        mpixq_err("rank %d answered a match that does not exist", source);
    }
    return waits;
}

static void record_answer(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_answer *wire = &record->u.answer;
    struct mpixq_request *req = mpixq_match_request(wire->sender_id);
    const struct mpixq_channel *channel = NULL;
    enum mpixq_error error;

    if (req == NULL && mpixq_match_id_was_given(wire->sender_id)) {
        /* The offer was withdrawn while the answer was under way, of which who awaits a verdict
         * hears. */
        if (wire->error == MPIXQ_E_NONE && !wire->awaits) {
            mpixq_match_cut_off(source, wire->receiver_id);
        }
        return;
    }
    if (!is_known(req, wire, source)) {
        return;
    }
    req->pair.peer_id = wire->receiver_id;
    if (req->is_partitioned) {
        mpixq_match_split_answered(req, record);
        return;
    }
    if (wire->awaits && wire->error == MPIXQ_E_NONE) {
        mpixq_match_take_awaiting(req, record);
        return;
    }
    error = mpixq_match_accepted_channel(req, record, &channel);
    error = error == MPIXQ_E_NONE && mpixq_channel_must_open(channel, &req->pair) ? MPIXQ_E_PROTOCOL
                                                                                  : error;
    if (error != MPIXQ_E_NONE && wire->error == MPIXQ_E_NONE) {
        mpixq_match_cut_off(source, wire->receiver_id);
    }
    mpixq_match_drop_offers(req, error == MPIXQ_E_NONE ? channel : NULL);
    if (error == MPIXQ_E_NONE) {
        mpixq_match_matched(req, channel);
    } else {
        mpixq_match_finish_told(req, error, wire->bytes, wire->channels.may);
    }
}

void mpixq_match_record(const struct mpixq_record *record, int source)
{
    switch (record->kind) {
    case MPIXQ_WIRE_OFFER:
        mpixq_match_record_offer(record, source);
        break;
    case MPIXQ_WIRE_ANSWER:
        record_answer(record, source);
        break;
    case MPIXQ_WIRE_RELEASE:
        mpixq_match_record_release(record, source);
        break;
    case MPIXQ_WIRE_FAILURE:
        mpixq_match_record_failure(record, source);
        break;
    case MPIXQ_WIRE_WITHDRAW:
        mpixq_match_record_withdraw(record, source);
        break;
    case MPIXQ_WIRE_HELLO:
        mpixq_control_meet(source, &record->u.hello.process);
        break;
    case MPIXQ_WIRE_REASON:
        mpixq_match_record_reason(record, source);
        break;
    case MPIXQ_WIRE_VERDICT:
        mpixq_match_record_verdict(record, source);
        break;
    case MPIXQ_WIRE_STATS: /* these go past the matching (lib.c) */
    case MPIXQ_WIRE_MISSED:
    case MPIXQ_WIRE_TRACE:
        break;
    }
}
