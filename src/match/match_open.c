/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs whose ends have to open something of each other before they count as matched, which takes
 * a call of a GPU's library. Under the matching lock such a call is not allowed, so the pair waits
 * in a list until a thread takes it from there: one of the program that is in a call of this
 * library, or the one that stands in for it (opener.h).
 *
 *     sender                                    receiver
 *                                               has chosen a channel; opens
 *     opens                               <---  ANSWER(channel's blob, awaits)
 *     matched            VERDICT(NONE)    --->  matched
 *     or     VERDICT(NO_CHANNEL, reason)  --->  chooses among the rest, and answers again
 *
 * What one of the two cannot open is a refusal of the channel: the receiver goes on with the next
 * one of its own order that was offered. The pair may be given up meanwhile, by either end: a
 * sender then withdraws its offer, or gives a verdict that says so, and a receiver answers with an
 * error, be it for the second time. So the other end hears of it, whoever looks at what that
 * sends. */
#include <pthread.h>
#include <utlist.h>

#include "core/channels.h"
#include "match_channels.h"
#include "match_internal.h"
#include "offer.h"
#include "opener.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/progress.h"

enum stage { TO_OPEN, OPENING, AWAITING };

struct mpixq_opening {
    struct mpixq_request *req;
    const struct mpixq_channel *channel;
    struct mpixq_offer *offer; /* at the receiver: that of its peer; NULL: this end is the sender */
    struct mpixq_record answer; /* of the receiver, once it has opened */
    enum stage stage;
    enum mpixq_error given_up; /* while it was OPENING: how the match ends then */
    bool is_open;
    char why[MPIXQ_REASON_BYTES + 1]; /* not */
    struct mpixq_opening *next;
};

static void set_any(void)
{
    atomic_store(&mpixq_matching.has_to_open, mpixq_matching.to_open != NULL);
}

static void opening_free(struct mpixq_opening *opening)
{
    mpixq_offer_free(opening->offer);
    mpixq_free(opening);
}

bool mpixq_match_open_later(struct mpixq_request *req, const struct mpixq_channel *channel,
                            const struct mpixq_record *offer, const struct mpixq_record *answer)
{
    struct mpixq_opening *opening = mpixq_alloc(sizeof *opening); /* freed in opening_free */

    if (opening == NULL) {
        return false;
    }
    *opening = (struct mpixq_opening){.req = req, .channel = channel, .stage = TO_OPEN};
    if (offer != NULL) {
        opening->answer = *answer;
        opening->offer = mpixq_offer_create(offer, req->pair.peer_world);
        if (opening->offer == NULL) {
            mpixq_free(opening);
            return false;
        }
    }
    req->opening = opening;
    LL_APPEND(mpixq_matching.to_open, opening);
    set_any();
    if (req->op->has_handle) {
        mpixq_opener_wake(mpixq_match_open); /* else a thread waits for the match */
    }
    return true;
}

static void send_verdict(const struct mpixq_request *req, enum mpixq_error error)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_VERDICT};
    struct mpixq_wire_verdict *wire = &record.u.verdict;

    wire->sender_id = req->pair.id;
    wire->receiver_id = req->pair.peer_id;
    wire->error = (uint8_t)error;
    mpixq_match_tell_channels(req, &wire->channels);
    if (!mpixq_match_send(req->pair.peer_world, &record, &wire->channels)) {
        mpixq_err("no memory to end a match of rank %d, which will wait for ever",
                  req->pair.peer_world);
    }
}

/* Sender: this channel is out, and the receiver will answer again. */
static void refuse_answer(struct mpixq_request *req, const struct mpixq_channel *channel,
                          const char *why)
{
    mpixq_match_refuse_channel(req, channel->id, why);
    req->marked &= ~(UINT32_C(1) << channel->id);
    mpixq_channel_withdraw(channel, &req->pair);
    send_verdict(req, MPIXQ_E_NO_CHANNEL);
}

/* Sender: the match ends with an error, of which the receiver has not heard. */
static void fail_answer(struct mpixq_request *req, enum mpixq_error error)
{
    send_verdict(req, error);
    mpixq_match_drop_offers(req, NULL);
    mpixq_match_finish(req, error);
}

void mpixq_match_take_awaiting(struct mpixq_request *req, const struct mpixq_record *answer)
{
    const struct mpixq_channel *channel = NULL;
    enum mpixq_error error = mpixq_match_accepted_channel(req, answer, &channel);

    if (error == MPIXQ_E_NONE && !mpixq_channel_must_open(channel, &req->pair)) {
        error = MPIXQ_E_PROTOCOL;
    }
    if (error != MPIXQ_E_NONE) {
        fail_answer(req, error);
    } else if (!mpixq_match_open_later(req, channel, NULL, NULL)) {
        mpixq_channel_undo(channel, &req->pair);
        refuse_answer(req, channel, "no memory");
    }
}

/* Receiver: not by this channel. */
static void next_channel(struct mpixq_opening *opening)
{
    struct mpixq_request *req = opening->req;
    struct mpixq_record offer;

    (void)mpixq_offer_read(opening->offer, &offer);
    mpixq_channel_undo(opening->channel, &req->pair);
    req->marked |= UINT32_C(1) << opening->channel->id;
    req->opening = NULL;
    opening_free(opening);
    mpixq_match_agree(req, &offer);
}

/* The match ends with an error. */
static void abandon(struct mpixq_opening *opening, enum mpixq_error error)
{
    struct mpixq_record nothing = {.n_blobs = 0};
    struct mpixq_request *req = opening->req;

    mpixq_channel_undo(opening->channel, &req->pair);
    req->opening = NULL;
    opening_free(opening);
    if (mpixq_request_is_send(req)) {
        fail_answer(req, error);
    } else {
        mpixq_match_answer(req->pair.peer_world, req->pair.peer_id, req, error, &nothing);
        mpixq_match_finish(req, error);
    }
}

static void confirm(struct mpixq_opening *opening)
{
    struct mpixq_request *req = opening->req;
    const struct mpixq_channel *channel = opening->channel;

    req->opening = NULL;
    opening_free(opening);
    if (mpixq_request_is_send(req)) {
        send_verdict(req, MPIXQ_E_NONE);
        mpixq_match_drop_offers(req, channel);
    }
    mpixq_match_matched(req, channel);
}

/* A thread has tried to open. */
static void conclude(struct mpixq_opening *opening)
{
    struct mpixq_request *req = opening->req;

    if (opening->given_up != MPIXQ_E_NONE) {
        abandon(opening, opening->given_up);
    } else if (opening->is_open && mpixq_request_is_send(req)) {
        confirm(opening);
    } else if (opening->is_open) {
        opening->stage = AWAITING;
        opening->answer.u.answer.awaits = 1;
        mpixq_match_answer(req->pair.peer_world, req->pair.peer_id, req, MPIXQ_E_NONE,
                           &opening->answer);
    } else if (mpixq_request_is_send(req)) {
        mpixq_channel_undo(opening->channel, &req->pair);
        req->opening = NULL;
        refuse_answer(req, opening->channel, opening->why);
        opening_free(opening);
    } else {
        mpixq_match_refuse_channel(req, opening->channel->id, opening->why);
        next_channel(opening);
    }
}

bool mpixq_match_open(void)
{
    struct mpixq_opening *list, *opening, *next;
    bool has_begun = mpixq_match_begin_splits();

    if (!atomic_load(&mpixq_matching.has_to_open)) {
        return has_begun;
    }
    mpixq_match_enter();
    list = mpixq_matching.to_open;
    mpixq_matching.to_open = NULL;
    set_any();
    LL_FOREACH(list, opening)
    {
        opening->stage = OPENING;
    }
    mpixq_match_leave();
    mpixq_progress_wake(); /* peers go on, and are heard, while this thread waits for a GPU */
    LL_FOREACH(list, opening)
    {
        opening->is_open = mpixq_channel_open_peer(opening->channel, &opening->req->pair,
                                                   opening->why, sizeof opening->why);
    }
    mpixq_match_enter();
    LL_FOREACH_SAFE(list, opening, next)
    {
        conclude(opening);
    }
    mpixq_match_leave();
    return has_begun || list != NULL;
}

void mpixq_match_open_in(bool is_for_match)
{
    if (is_for_match || !mpixq_progress_has_threads()) {
        (void)mpixq_match_open();
    }
}

void mpixq_match_record_verdict(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_verdict *wire = &record->u.verdict;
    struct mpixq_request *req = mpixq_match_request(wire->receiver_id);

    if (req == NULL && mpixq_match_id_was_given(wire->receiver_id)) {
        return; /* it was given up while this was under way, and the sender hears of that */
    }
    if (req == NULL || mpixq_request_state(req) != MPIXQ_MATCHING || req->opening == NULL ||
        req->opening->stage != AWAITING || req->pair.peer_world != source ||
        req->pair.peer_id != wire->sender_id) {
        mpixq_err("rank %d gave a verdict on a match that does not exist", source);
    } else if (wire->error == MPIXQ_E_NONE) {
        confirm(req->opening);
    } else if (wire->error == MPIXQ_E_NO_CHANNEL) {
        mpixq_match_hear_refusal(req, req->opening->channel->id, &wire->channels);
        next_channel(req->opening);
    } else {
        abandon(req->opening, (enum mpixq_error)wire->error);
    }
}

bool mpixq_match_give_up_opening(struct mpixq_request *req, enum mpixq_error error)
{
    struct mpixq_opening *opening = req->opening;

    if (opening == NULL) {
        return false;
    }
    if (opening->stage == OPENING) {
        /* A thread is at it, with no lock, and sees to the rest. */
        opening->given_up = opening->given_up != MPIXQ_E_NONE ? opening->given_up : error;
        return true;
    }
    if (opening->stage == TO_OPEN) {
        LL_DELETE(mpixq_matching.to_open, opening);
        set_any();
    }
    abandon(opening, error);
    return true;
}

const char *mpixq_match_opening_text(const struct mpixq_request *req)
{
    if (req->opening == NULL) {
        return NULL;
    }
    return req->opening->stage == AWAITING
               ? "it is paired, and the peer has not said that it can open the memory of this GPU"
               : "it is paired, and the memory of the peer's GPU is still to be opened, which may "
                 "wait for a GPU";
}

void mpixq_match_forget_opening(struct mpixq_request *req)
{
    if (mpixq_request_state(req) == MPIXQ_MATCHING && req->opening != NULL) {
        if (req->opening->stage == TO_OPEN) {
            LL_DELETE(mpixq_matching.to_open, req->opening);
            set_any();
        }
        opening_free(req->opening);
        req->opening = NULL;
    }
}
