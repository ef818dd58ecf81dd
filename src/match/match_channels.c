/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which channel serves a pair. The sender offers those that it may and can use; the receiver takes
 * the first, in its own order, that both may use and that can serve its end. Either says why it
 * refuses the others, so that both can tell their users. Under the matching lock. */
#include "match_channels.h"

#include <string.h>

#include "comm/comm.h"
#include "core/channels.h"
#include "core/served.h"
#include "core/stage.h"
#include "util/log.h"

static const char left_out[] = "left out by MPIXQ_CHANNELS or mpixq_channels";

void mpixq_match_refuse_channel(struct mpixq_request *req, uint32_t id, const char *why)
{
    char text[64];

    mpixq_debug("%s not by channel %s: %s", mpixq_pair_describe(&req->pair, text, sizeof text),
                mpixq_channel_name(id), why);
    req->why_not[id] = mpixq_reason(why, strlen(why));
}

/* That one in another process cannot go by self is plain, and what this end may not use at all is
 * told by that. */
void mpixq_match_tell_channels(const struct mpixq_request *req, struct mpixq_wire_channels *mine)
{
    mine->may = (uint8_t)mpixq_channel_set_bits(&req->channels);
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        bool is_ours = (mine->may & 1u << id) != 0 && req->why_not[id] < MPIXQ_REASON_OF_PEER;

        mine->why_not[id] = is_ours ? req->why_not[id] : 0;
    }
}

/* What the peer refuses: by its own words, or since it may not use it at all. */
static void hear(struct mpixq_request *req, const struct mpixq_wire_channels *theirs)
{
    for (int i = 0; i < req->channels.n; i++) {
        uint32_t id = req->channels.ids[i];
        uint8_t why = mpixq_match_reason_of(req->pair.peer_world, theirs->why_not[id]);

        if (id != MPIXQ_CHANNEL_SELF && (theirs->may & 1u << id) == 0) {
            why = mpixq_reason(left_out, sizeof left_out - 1);
        }
        if (why != 0) {
            req->why_not[id] = (uint8_t)(why + MPIXQ_REASON_OF_PEER);
        }
    }
}

void mpixq_match_hear_refusal(struct mpixq_request *req, uint32_t id,
                              const struct mpixq_wire_channels *theirs)
{
    uint8_t why = mpixq_match_reason_of(req->pair.peer_world, theirs->why_not[id]);
    char text[64];

    req->why_not[id] = why != 0 ? (uint8_t)(why + MPIXQ_REASON_OF_PEER) : 0;
    mpixq_debug("%s not by channel %s: the peer: %s",
                mpixq_pair_describe(&req->pair, text, sizeof text), mpixq_channel_name(id),
                mpixq_reason_text(why));
}

/* Those that this end may not use. */
static void refuse_left_out(struct mpixq_request *req)
{
    memset(req->why_not, 0, sizeof req->why_not);
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (!mpixq_channel_set_has(&req->channels, mpixq_channels[i]->id)) {
            mpixq_match_refuse_channel(req, mpixq_channels[i]->id, left_out);
        }
    }
}

/* Is the channel in this build, and can it reach the buffer, or its staging buffer? */
static bool reaches(const struct mpixq_channel *channel, const struct mpixq_request *req,
                    const char **why_p)
{
    if (channel == NULL) {
        *why_p = "the library was built without libfabric";
        return false;
    }
    *why_p = req->pair.moves ? "the buffer is in managed memory, whose pages move"
                             : "the buffer is in memory of a GPU, and MPI takes it there "
                               "(MPIXQ_GPU_AWARE)";
    return channel->through_mpi || channel->of_gpus || req->pair.staging != NULL ||
           (req->pair.reached != NULL && req->pair.in_place &&
            req->pair.reached_by == channel->id) ||
           (!req->pair.in_gpu && !req->pair.moves);
}

void mpixq_match_offer_channels(struct mpixq_request *req, struct mpixq_record *record)
{
    const char *why;

    req->marked = 0;
    refuse_left_out(req);
    for (int i = 0; i < req->channels.n; i++) {
        uint32_t id = req->channels.ids[i];
        const struct mpixq_channel *channel = mpixq_channel_by_id(id);
        struct mpixq_blob *blob = &record->blobs[record->n_blobs];

        if (reaches(channel, req, &why) && channel->offer(&req->pair, blob, &why)) {
            blob->channel = id;
            req->marked |= UINT32_C(1) << id;
            record->n_blobs++;
        } else {
            mpixq_match_refuse_channel(req, id, why);
        }
    }
    mpixq_match_tell_channels(req, &record->u.offer.channels);
}

void mpixq_match_drop_offers(struct mpixq_request *req, const struct mpixq_channel *except)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];

        if (channel != except && (req->marked & (UINT32_C(1) << channel->id)) != 0) {
            mpixq_channel_withdraw(channel, &req->pair);
        }
    }
    req->marked = 0;
}

/* What a peer says for a channel that it offers, or accepts; or NULL. */
static const struct mpixq_blob *blob_of(const struct mpixq_record *record, uint32_t id)
{
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        if (record->blobs[i].channel == id) {
            return &record->blobs[i];
        }
    }
    return NULL;
}

/* Take the first in its order that serves. */
static enum mpixq_error accept_first(struct mpixq_request *req, const struct mpixq_record *offer,
                                     struct mpixq_record *answer,
                                     const struct mpixq_channel **channel_p)
{
    enum mpixq_error error = MPIXQ_E_NO_CHANNEL;
    struct mpixq_blob *mine = &answer->blobs[0];
    const char *why;

    for (int i = 0; i < req->channels.n; i++) {
        uint32_t id = req->channels.ids[i];
        const struct mpixq_channel *channel = mpixq_channel_by_id(id);
        const struct mpixq_blob *theirs = blob_of(offer, id);

        if (theirs == NULL || (req->marked & UINT32_C(1) << id) != 0) {
            continue;
        }
        mine->channel = id;
        mine->length = 0;
        error = reaches(channel, req, &why) ? channel->accept(&req->pair, theirs, mine, &why)
                                            : MPIXQ_E_NO_CHANNEL;
        if (error == MPIXQ_E_NONE) {
            answer->n_blobs = 1;
            *channel_p = channel;
            return MPIXQ_E_NONE;
        }
        mpixq_match_refuse_channel(req, id, why);
    }
    return error;
}

enum mpixq_error mpixq_match_choose_channel(struct mpixq_request *req,
                                            const struct mpixq_record *offer,
                                            struct mpixq_record *answer,
                                            const struct mpixq_channel **channel_p)
{
    struct mpixq_wire_channels *mine = &answer->u.answer.channels;
    enum mpixq_error error;

    if (req->marked == 0) {
        refuse_left_out(req);
        hear(req, &offer->u.offer.channels);
    }
    error = accept_first(req, offer, answer, channel_p);
    mpixq_match_tell_channels(req, mine);
    return error != MPIXQ_E_NONE && (mine->may & offer->u.offer.channels.may) == 0
               ? MPIXQ_E_CHANNELS
               : error;
}

enum mpixq_error mpixq_match_accepted_channel(struct mpixq_request *req,
                                              const struct mpixq_record *answer,
                                              const struct mpixq_channel **channel_p)
{
    const struct mpixq_channel *channel;

    hear(req, &answer->u.answer.channels);
    if (answer->u.answer.error != MPIXQ_E_NONE) {
        return (enum mpixq_error)answer->u.answer.error;
    }
    channel = answer->n_blobs == 1 ? mpixq_channel_by_id(answer->blobs[0].channel) : NULL;
    if (channel == NULL || (req->marked & (UINT32_C(1) << channel->id)) == 0) {
        return MPIXQ_E_PROTOCOL;
    }
    *channel_p = channel;
    return channel->connect(&req->pair, &answer->blobs[0]);
}

void mpixq_match_tell_choice(const struct mpixq_request *req, uint32_t theirs,
                             struct mpixq_channel_choice *choice_p)
{
    *choice_p = (struct mpixq_channel_choice){.here = mpixq_channel_set_bits(&req->channels),
                                              .there = theirs};
    /* Why one is not used that an end may not use is said by that. */
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        bool both = (choice_p->here & theirs & UINT32_C(1) << id) != 0;

        choice_p->why_not[id] = both ? req->why_not[id] : 0;
    }
}

enum mpixq_error mpixq_match_check_pair(const struct mpixq_request *req,
                                        const struct mpixq_wire_offer *offer)
{
    struct mpixq_comm_view view;

    mpixq_comm_view(req->comm, &view);
    if (offer->dest != view.rank || offer->size != view.own_size || offer->own_size != view.size) {
        return MPIXQ_E_VIEW;
    }
    if ((req->is_partitioned || req->is_collective) && offer->bytes != req->pair.bytes) {
        return req->is_partitioned ? MPIXQ_E_PARTITION_BYTES : MPIXQ_E_COLLECTIVE_BYTES;
    }
    if (offer->bytes > req->pair.bytes) {
        return MPIXQ_E_TRUNCATE;
    }
    return offer->bytes < req->pair.bytes ? mpixq_stage_short(&req->pair) : MPIXQ_E_NONE;
}
